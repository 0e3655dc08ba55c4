"""The branches of a table without a key, for both edges."""

from __future__ import annotations

from arctic.iceberg.commits.refs.commit_branch import (
    Branch,
    branches_of,
    create_branch,
    drop_branch,
    fast_forward,
)
from arctic.job.past_state import PastState
from arctic.job.reference import TableReference


def list_branches(reference: TableReference) -> tuple[Branch, ...]:
    """Return the branches of a table by name, ``main`` among them."""
    return branches_of(reference.open())


def branch_table(reference: TableReference, name: str, moment: PastState) -> Branch:
    """Let a branch of a table begin at a state of it.

    Args:
        reference: the table.
        name: of the branch.
        moment: the state; the newest one if it says nothing.

    Raises:
        UnsupportedError: the table has a key.
        ArcticError: as ``create_branch``.
    """
    opened = reference.open()
    state = moment.pinned(opened, is_fresh=True)
    return create_branch(opened, name, state.base_snapshot_id)


def drop_table_branch(reference: TableReference, name: str) -> None:
    """Forget a branch of a table; raises as ``drop_branch``."""
    drop_branch(reference.open(), name)


def forward_branch(reference: TableReference, name: str, to: str) -> tuple[int, int]:
    """Move a branch to the head of another one; arguments and errors are ``fast_forward``'s."""
    return fast_forward(reference.open(), name, to)

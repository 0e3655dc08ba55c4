"""The versions, tags and branches of a table, for both edges."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from arctic.iceberg.commits.refs.commit_branch import (
    Branch,
    branches_of,
    create_branch,
    drop_branch,
    fast_forward,
)
from arctic.iceberg.commits.refs.commit_tag import drop_tag, make_tag
from arctic.iceberg.snapshots.tags import TagState, tags_of
from arctic.iceberg.snapshots.versions import table_versions
from arctic.job.past_state import PastState
from arctic.job.reference import TableReference

VERSIONS_SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("committed_at", pa.timestamp("us", tz="UTC")),
        ("store", pa.string()),
        ("operation", pa.string()),
        ("base_snapshot_id", pa.int64()),
        ("change_snapshot_id", pa.int64()),
        ("tags", pa.list_(pa.string())),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A name for a state of a table."""

    name: str
    base_snapshot_id: int | None
    change_snapshot_id: int | None


def list_versions(reference: TableReference) -> pa.Table:
    """Return the versions of a table, oldest first.

    Args:
        reference: the table.
    """
    opened = reference.open()
    tags = tags_of(opened.base.properties)
    rows = []
    for each in table_versions(opened):
        state = TagState(
            base_snapshot_id=each.base_snapshot_id, change_snapshot_id=each.change_snapshot_id
        )
        rows.append(
            {
                "version": each.number,
                "committed_at": each.committed_ms * 1000,
                "store": each.store,
                "operation": each.operation,
                "base_snapshot_id": each.base_snapshot_id,
                "change_snapshot_id": each.change_snapshot_id,
                "tags": [name for name, tagged in tags.items() if tagged == state],
            }
        )
    return pa.Table.from_pylist(rows, schema=VERSIONS_SCHEMA)


def list_tags(reference: TableReference) -> tuple[Tag, ...]:
    """Return the tags of a table that Arctic made, by name."""
    found = tags_of(reference.open().base.properties)
    return tuple(_tag(name, state) for name, state in found.items())


def tag_table(reference: TableReference, name: str, moment: PastState) -> Tag:
    """Name a state of a table, so that expiry leaves what it needs.

    Args:
        reference: the table.
        name: of the tag.
        moment: the state; the newest one if it says nothing.

    Raises:
        InvalidInputError: a name that no tag can have.
        AlreadyExistsError: the name says something else.
        NotFoundError: no such table or state.
        ConflictError: other commits won every retry.
    """
    opened = reference.open()
    state = TagState.of(moment.pinned(opened))
    make_tag(opened, name, state)
    return _tag(name, state)


def drop_table_tag(reference: TableReference, name: str) -> None:
    """Forget a tag of a table; raises as ``drop_tag``."""
    drop_tag(reference.open(), name)


def _tag(name: str, state: TagState) -> Tag:
    return Tag(
        name=name,
        base_snapshot_id=state.base_snapshot_id,
        change_snapshot_id=state.change_snapshot_id,
    )


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
    state = moment.pinned(opened)
    return create_branch(opened, name, state.base_snapshot_id)


def drop_table_branch(reference: TableReference, name: str) -> None:
    """Forget a branch of a table; raises as ``drop_branch``."""
    drop_branch(reference.open(), name)


def forward_branch(reference: TableReference, name: str, to: str) -> tuple[int, int]:
    """Move a branch to the head of another one; arguments and errors are ``fast_forward``'s."""
    return fast_forward(reference.open(), name, to)

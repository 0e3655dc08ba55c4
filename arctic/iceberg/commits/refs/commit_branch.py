"""Making, dropping and fast-forwarding a branch of a table without a key.

Rules:
    - A branch is a ref of Iceberg's and nothing else: any engine may have made it.
    - A fast-forward loses no commit: the branch that moves must have none that the other lacks.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import RemoveSnapshotRefUpdate, SetSnapshotRefUpdate, TableUpdate

from arctic.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
)
from arctic.iceberg.branching.branch_store import kept_of, no_branch
from arctic.iceberg.branching.named_branch import check_branch_name, check_keyless
from arctic.iceberg.commits.refs.commit_ref import commit_ref
from arctic.iceberg.metadata.history import lineage
from arctic.iceberg.tables.open_table import OpenTable

_KIND = SnapshotRefType.BRANCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch of a table, and the snapshot at its head."""

    name: str
    snapshot_id: int


def branches_of(opened: OpenTable) -> tuple[Branch, ...]:
    """Return the branches of a table by name, ``main`` among them; nothing for one with a key."""
    if opened.table.is_keyed:
        return ()
    return tuple(
        Branch(name=name, snapshot_id=ref.snapshot_id)
        for name, ref in sorted(opened.base.metadata.refs.items())
        if ref.snapshot_ref_type == _KIND
    )


def create_branch(opened: OpenTable, name: str, snapshot_id: int | None) -> Branch:
    """Let a branch begin at a snapshot; nothing is done where it stands there already.

    Raises:
        InvalidInputError: a name that no branch can have, or a table without a snapshot.
        UnsupportedError: the table has a key.
        AlreadyExistsError: the name is another branch's, or a tag's.
        NotFoundError: the snapshot has expired.
        ConflictError: other commits won every retry.
        StorageError: the catalog cannot be reached.
    """
    subject = f"table {opened.table.name!r}"
    check_branch_name(name)
    check_keyless(opened.base, subject)
    if snapshot_id is None:
        raise InvalidInputError(
            f"{subject} has no snapshot at which branch {name!r} could begin; write its first rows"
        )

    def plan(head: Table) -> list[TableUpdate]:
        there = head.metadata.refs.get(name)
        if there is not None:
            if there.snapshot_ref_type == _KIND and there.snapshot_id == snapshot_id:
                return []
            raise AlreadyExistsError(
                f"{subject} has a tag or branch {name!r} already; drop it first"
            )
        if head.metadata.snapshot_by_id(snapshot_id) is None:
            raise NotFoundError(
                f"{subject}: snapshot {snapshot_id} has expired, so branch {name!r} cannot begin "
                "there"
            )
        said = {"ref-name": name, "type": _KIND.value, "snapshot-id": snapshot_id}
        return [SetSnapshotRefUpdate.model_validate(said)]

    commit_ref(opened.base, "branch", name, plan)
    return Branch(name=name, snapshot_id=snapshot_id)


def drop_branch(opened: OpenTable, name: str) -> None:
    """Forget a branch; what only it holds goes with the next expiry.

    Raises:
        InvalidInputError: ``main``.
        UnsupportedError: the table has a key.
        NotFoundError: there is no such branch.
        ConflictError: other commits won every retry.
        StorageError: the catalog cannot be reached.
    """
    check_branch_name(name)
    check_keyless(opened.base, f"table {opened.table.name!r}")

    def plan(head: Table) -> list[TableUpdate]:
        _head_of(head, name)
        return [RemoveSnapshotRefUpdate.model_validate({"ref-name": name})]

    commit_ref(opened.base, "branch", name, plan)


def fast_forward(opened: OpenTable, name: str, to: str) -> tuple[int, int]:
    """Move a branch to the head of another one that goes on from it.

    Args:
        opened: the table.
        name: of the branch that moves; ``main`` is the table.
        to: the branch that it is moved to.

    Returns:
        The snapshot at the head of the branch before, and after.

    Raises:
        UnsupportedError: the table has a key.
        NotFoundError: there is no such branch.
        InvalidInputError: the branch has commits that the other one lacks.
        ConflictError: other commits won every retry.
        StorageError: the catalog cannot be reached.
    """
    subject = f"table {opened.table.name!r}"
    check_keyless(opened.base, subject)
    moved: list[tuple[int, int]] = []

    def plan(head: Table) -> list[TableUpdate]:
        before, after = _head_of(head, name), _head_of(head, to)
        moved[:] = [(before, after)]
        if before == after:
            return []
        behind = lineage(head.metadata, head.metadata.snapshot_by_id(after))
        if before not in {each.snapshot_id for each in behind}:
            raise InvalidInputError(
                f"{subject}: branch {name!r} has commits that {to!r} lacks, or what came before "
                "has expired, so it cannot be moved there without losing them; write the rows of "
                f"{to!r} into it"
            )
        kept = kept_of(head.metadata.refs.get(name))
        said = {"ref-name": name, "type": _KIND.value, "snapshot-id": after}
        return [SetSnapshotRefUpdate.model_validate({**said, **kept})]

    commit_ref(opened.base, "branch", name, plan)
    return moved[0]


def _head_of(store: Table, name: str) -> int:
    ref = store.metadata.refs.get(name)
    if ref is None or ref.snapshot_ref_type != _KIND:
        raise no_branch(store.metadata, ".".join(store.name()), name)
    return int(ref.snapshot_id)

"""A store as its branch sees it: the branch's head is the current snapshot, and commits move it.

Strategy: what reads and commits goes by the current snapshot of a store and moves ``main``. Here
that is the branch's in both directions, so nothing else need know that there are branches.

Rules:
    - A branch takes rows. Columns, properties and everything else are the table's, and a commit
      that would change more than snapshots is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import SnapshotLogEntry
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from arctic.errors import NotFoundError, UnsupportedError
from arctic.iceberg.metadata.history import lineage


class BranchStore(Table):
    """A base store, at the head of one of its branches."""

    def __init__(self, store: Table, branch: str, *, may_begin: bool) -> None:
        """Take a store, and look at it from a branch.

        Args:
            store: as it was loaded.
            branch: the name.
            may_begin: where there is no such branch, it is as the table is, and the first commit
                makes it.

        Raises:
            NotFoundError: there is no such branch.
        """
        self.__dict__.update(store.__dict__)
        self.branch = branch
        self._may_begin = may_begin
        self.metadata = self._seen(store.metadata)

    def refresh(self) -> Table:
        """Load what the catalog says now; raises as ``__init__``, and as of any store."""
        super().refresh()
        self.metadata = self._seen(self.metadata)
        return self

    def _do_commit(
        self, updates: tuple[TableUpdate, ...], requirements: tuple[TableRequirement, ...]
    ) -> None:
        ref, own = self.metadata.refs.get(self.branch), tuple(self._moves(updates))
        super()._do_commit(own, tuple(_required(self.branch, ref, requirements)))
        self.metadata = self._seen(self.metadata)

    def _seen(self, metadata: TableMetadata) -> TableMetadata:
        """Return metadata whose newest state is the branch's."""
        ref = metadata.refs.get(self.branch)
        if ref is None and self._may_begin:
            return metadata
        if ref is None or ref.snapshot_ref_type != SnapshotRefType.BRANCH:
            raise no_branch(metadata, ".".join(self.name()), self.branch)
        head = metadata.snapshot_by_id(ref.snapshot_id)
        log = [
            SnapshotLogEntry.model_validate(
                {"snapshot-id": each.snapshot_id, "timestamp-ms": each.timestamp_ms}
            )
            for each in reversed(lineage(metadata, head))
        ]
        return metadata.model_copy(
            update={
                "current_snapshot_id": ref.snapshot_id,
                "refs": {**metadata.refs, MAIN_BRANCH: ref},
                "snapshot_log": log,
            }
        )

    def _moves(self, updates: Iterable[TableUpdate]) -> Iterable[TableUpdate]:
        kept = kept_of(self.metadata.refs.get(self.branch))
        for each in updates:
            if isinstance(each, SetSnapshotRefUpdate) and each.ref_name == MAIN_BRANCH:
                moved = {"ref-name": self.branch, "type": "branch", **kept}
                yield SetSnapshotRefUpdate.model_validate(
                    {**moved, "snapshot-id": each.snapshot_id}
                )
            elif isinstance(each, AddSnapshotUpdate):
                yield each
            else:
                raise UnsupportedError(
                    f"branch {self.branch!r} of table {'.'.join(self.name())!r} takes rows and "
                    f"nothing else, and this commit has {each.action!r}; change the table itself"
                )


def no_branch(metadata: TableMetadata, table: str, name: str) -> NotFoundError:
    """Return what to say of a branch that is not there."""
    kind = SnapshotRefType.BRANCH
    known = [each for each, ref in metadata.refs.items() if ref.snapshot_ref_type == kind]
    return NotFoundError(
        f"table {table!r} has no branch {name!r}; there are "
        f"{', '.join(map(repr, sorted(known))) or 'none'}"
    )


def kept_of(ref: SnapshotRef | None) -> dict[str, Any]:
    """Return what a branch says of its own snapshots, which every move of it says again."""
    if ref is None:
        return {}
    said = ref.model_dump(by_alias=True, exclude_none=True)
    return {name: value for name, value in said.items() if name not in ("snapshot-id", "type")}


def _required(
    branch: str, ref: SnapshotRef | None, requirements: Iterable[TableRequirement]
) -> Iterable[TableRequirement]:
    snapshot_id = None if ref is None else ref.snapshot_id
    for each in requirements:
        if isinstance(each, AssertRefSnapshotId) and each.ref == MAIN_BRANCH:
            yield AssertRefSnapshotId.model_validate({"ref": branch, "snapshot-id": snapshot_id})
        else:
            yield each

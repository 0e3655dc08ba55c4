"""A commit that has looked at the other store of its table, where a catalog compares one alone.

Strategy: the attempt first marks the other store, by a commit that lands only while that store is
as it was looked at. It then lands only if nobody has marked its own store since it was loaded. Of
two that commit to one store each and have looked at both, one has marked before the other was
loaded, or finds its own store marked and begins anew; so none lands unseen by both.

Rules:
    - The head of an attempt is loaded before the attempt marks.
    - No two marks are alike: one that is made again is another one.
    - A mark without a commit after it, as of a writer that was killed, is in nobody's way.
    - Who replaces rows of base without a look at the change store marks that one all the same,
      whatever it is by then: somebody who is about to commit to it may have looked at those rows.

For catalogs whose commits PyIceberg validates itself, as those to Glue and Hive.
"""

from __future__ import annotations

import secrets
from typing import Literal, cast

from pydantic import Field
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    SetPropertiesUpdate,
    TableRequirement,
    ValidatableTableRequirement,
)

from arctic.iceberg.catalogs.staged_metadata import TableCommit
from arctic.iceberg.commits.asking.staged_snapshot import (
    OtherStore,
    StagedSnapshot,
    commit_metadata,
)
from arctic.table.property_names import COMMITTED_BESIDE


def mark_of(seen: OtherStore, attempt: StagedSnapshot) -> TableCommit:
    """Return the commit that marks a store, while it is as it was looked at for an attempt."""
    store = seen.store
    requirements: list[TableRequirement] = [AssertTableUUID(uuid=store.metadata.table_uuid)]
    if not seen.may_move:
        here = {"ref": "main", "snapshot-id": store.metadata.current_snapshot_id}
        requirements.append(AssertRefSnapshotId.model_validate(here))
    mark = f"{attempt.snapshot_id}-{secrets.token_hex(4)}"
    return TableCommit(
        table=store,
        requirements=tuple(requirements),
        updates=(SetPropertiesUpdate(updates={COMMITTED_BESIDE: mark}),),
    )


def send_marked(attempt: StagedSnapshot, seen: OtherStore) -> None:
    """Ask the catalog for an attempt that holds only while another store is as it was looked at.

    Raises:
        CommitFailedException: it did not land.
        Exception: it may have landed.
    """
    head = attempt.table
    unmarked = _AssertMark(mark=head.metadata.properties.get(COMMITTED_BESIDE))
    mark = mark_of(seen, attempt)
    mark.table.catalog.commit_table(mark.table, mark.requirements, mark.updates)
    requirements = (*attempt.requirements, cast(TableRequirement, unmarked))
    commit_metadata(head, updates=attempt.updates, requirements=requirements)


class _AssertMark(ValidatableTableRequirement):
    """Nobody has marked the store since it was loaded; never sent to a server."""

    type: Literal["assert-arctic-mark"] = Field(default="assert-arctic-mark")
    mark: str | None

    def validate(  # type: ignore[override]  # of PyIceberg's requirements, not of pydantic's models
        self, base_metadata: TableMetadata | None
    ) -> None:
        """Refuse metadata with another mark."""
        now = None if base_metadata is None else base_metadata.properties.get(COMMITTED_BESIDE)
        if now != self.mark:
            raise CommitFailedException(
                f"Requirement failed: a commit that looked at this store ({now}) came meanwhile"
            )

"""Forgetting how far a writer had come, in both stores of a table.

Rules:
    - Each store is one metadata commit, planned anew on every attempt; retiring again is harmless.
    - What base holds is no more complete for it, so with a change store its watermark stays until
      the next run of optimizing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePropertiesUpdate,
    SetPropertiesUpdate,
    TableUpdate,
)

from arctic.errors import ConflictError, NotFoundError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.commit_loop import commit_policy
from arctic.iceberg.commits.commit_notes import watermarks
from arctic.iceberg.commits.snapshot_producer import commit_metadata
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.translate import catalog_errors
from arctic.table.property_names import WATERMARK, WRITER_PREFIX
from arctic.table.streams.watermark import Watermarks


def retire_writer(opened: OpenTable, writer: str) -> None:
    """Let a table's watermark no longer wait for a writer.

    Raises:
        NotFoundError: the table has no watermark of this writer.
        ConflictError: other commits won every retry; retire it again.
        StorageError: the catalog cannot be reached.
    """
    known = watermarks(opened).writers
    if writer not in known:
        raise NotFoundError(
            f"writer {writer!r} of table {opened.table.name!r}: no watermark of it is known; there "
            f"are those of {', '.join(sorted(known)) or 'no writers'}"
        )
    base, change = opened.base, opened.change
    if change is None:
        _retire(base, writer, other={}, moves=True)
        return
    _retire(change, writer, other=Watermarks.of(base.properties).writers, moves=True)
    _retire(base, writer, other={}, moves=False)


def _retire(store: Table, writer: str, *, other: Mapping[str, int], moves: bool) -> None:
    head = copy(store)
    policy = commit_policy(head.properties)
    for _ in policy.tries():
        refresh(head)
        updates = tuple(_updates(head.properties, writer, other=other, moves=moves))
        if not updates or _committed(head, updates):
            return
    raise ConflictError(
        f"table {'.'.join(store.name())!r}: other commits won every attempt to retire writer "
        f"{writer!r}; retire it again"
    )


def _updates(
    properties: Mapping[str, str], writer: str, *, other: Mapping[str, int], moves: bool
) -> Iterable[TableUpdate]:
    left = Watermarks.of(properties).without(writer, other=other)
    name = f"{WRITER_PREFIX}{writer}"
    if name in properties:
        yield RemovePropertiesUpdate(removals=[name])
    if moves and left.table_ms is not None and str(left.table_ms) != properties.get(WATERMARK):
        yield SetPropertiesUpdate(updates={WATERMARK: str(left.table_ms)})


def _committed(head: Table, updates: tuple[TableUpdate, ...]) -> bool:
    """Commit once, unless somebody has written since: then the watermarks are others."""
    requirements: tuple[Any, ...] = (
        AssertTableUUID(uuid=head.metadata.table_uuid),
        AssertRefSnapshotId.model_validate(
            {"ref": MAIN_BRANCH, "snapshot-id": head.metadata.current_snapshot_id}
        ),
    )
    with catalog_errors(f"retire a writer of {'.'.join(head.name())!r}"):
        try:
            commit_metadata(head, updates=updates, requirements=requirements)
        except CommitFailedException:
            return False
    return True

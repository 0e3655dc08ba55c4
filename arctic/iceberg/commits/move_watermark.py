"""Watermarks that move without rows: of a writer that had none to write, or that is retired.

Rules:
    - Each store is one metadata commit, planned anew on every attempt; the same again is harmless.
    - A writer without rows moves the store that its rows would go to.
    - What base holds is no more complete for it, so with a change store its watermark stays until
      the next run of optimizing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import partial
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
from arctic.iceberg.commits.asking.staged_snapshot import commit_metadata
from arctic.iceberg.commits.commit_loop import commit_policy
from arctic.iceberg.commits.commit_notes import told_watermarks, watermarks
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.translate import catalog_errors
from arctic.table.property_names import WATERMARK, WRITER_PREFIX
from arctic.table.streams.watermark import Watermark, Watermarks

_Updates = Callable[[Mapping[str, str]], Iterable[TableUpdate]]
"""What the properties of a store become."""


def advance_watermark(opened: OpenTable, watermark: Watermark) -> None:
    """Say how far event time has come without a row.

    Raises:
        InvalidInputError: too many writers have a watermark.
        ConflictError: other commits won every retry; save again.
        StorageError: the catalog cannot be reached.
    """
    store, other = opened.base, opened.change
    if opened.change is not None:
        store, other = opened.change, opened.base
    others = {} if other is None else Watermarks.of(other.properties).writers
    _settle(
        store, partial(_advanced, watermark=watermark, other=others), "say how far its writer is"
    )


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
    subject = f"retire writer {writer!r}"
    base, change = opened.base, opened.change
    if change is None:
        _settle(base, partial(_retired, writer=writer, other={}, moves=True), subject)
        return
    others = Watermarks.of(base.properties).writers
    _settle(change, partial(_retired, writer=writer, other=others, moves=True), subject)
    _settle(base, partial(_retired, writer=writer, other={}, moves=False), subject)


def _settle(store: Table, updates_of: _Updates, subject: str) -> None:
    head = copy(store)
    policy = commit_policy(head.properties)
    for _ in policy.tries():
        refresh(head)
        updates = tuple(updates_of(head.properties))
        if not updates or _committed(head, updates, subject):
            return
    raise ConflictError(
        f"table {'.'.join(store.name())!r}: other commits won every attempt to {subject}; try again"
    )


def _advanced(
    properties: Mapping[str, str], *, watermark: Watermark, other: Mapping[str, int]
) -> Iterable[TableUpdate]:
    told = told_watermarks(properties, watermark, merged_ms=None, other=other)
    new = {name: text for name, text in told.items() if properties.get(name) != text}
    if new:
        yield SetPropertiesUpdate(updates=new)


def _retired(
    properties: Mapping[str, str], *, writer: str, other: Mapping[str, int], moves: bool
) -> Iterable[TableUpdate]:
    left = Watermarks.of(properties).without(writer, other=other)
    name = f"{WRITER_PREFIX}{writer}"
    if name in properties:
        yield RemovePropertiesUpdate(removals=[name])
    if moves and left.table_ms is not None and str(left.table_ms) != properties.get(WATERMARK):
        yield SetPropertiesUpdate(updates={WATERMARK: str(left.table_ms)})


def _committed(head: Table, updates: tuple[TableUpdate, ...], subject: str) -> bool:
    """Commit once, unless somebody has written since: then the watermarks are others."""
    requirements: tuple[Any, ...] = (
        AssertTableUUID(uuid=head.metadata.table_uuid),
        AssertRefSnapshotId.model_validate(
            {"ref": MAIN_BRANCH, "snapshot-id": head.metadata.current_snapshot_id}
        ),
    )
    with catalog_errors(f"{subject} in {'.'.join(head.name())!r}"):
        try:
            commit_metadata(head, updates=updates, requirements=requirements)
        except CommitFailedException:
            return False
    return True

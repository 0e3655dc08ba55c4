"""What a commit writes down beside its files: which batch it is, and how far event time has come.

Rules:
    - Notes are made anew on the head of every attempt, and committed with the files or not at all.
    - A batch that a head knows is not committed again, whoever committed it.
    - A branch tells of no batch and of no event time: both are said of the table.
    - Every snapshot repeats the watermark, so that expiry loses none; see
      ``arctic.table.streams.watermark`` for whose it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyiceberg.table import Table

from arctic.errors import ConflictError, UnsupportedError
from arctic.iceberg.branching.branch_store import BranchStore
from arctic.iceberg.catalogs.pair import store_of
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.property_names import BASE_WATERMARK, WATERMARK, WATERMARK_WRITER, WRITER_PREFIX
from arctic.table.streams.stream_batch import StreamBatch
from arctic.table.streams.watermark import Watermark, Watermarks, watermark_in


class BatchLandedError(ConflictError):
    """The batch is in the table already: another attempt at it has committed."""


def with_notes(
    head: Table,
    what: SnapshotPlan,
    *,
    batch: StreamBatch | None = None,
    watermark: Watermark | None = None,
    merged_ms: int | None = None,
    other: Table | None = None,
) -> SnapshotPlan:
    """Let a snapshot remember its batch, and how far event time has come.

    Args:
        head: the store, just refreshed.
        what: what the snapshot does.
        batch: which one it is; None: it is no batch.
        watermark: what its files bring; None: nothing.
        merged_ms: the watermark of the changes that it merges; None: not known to have moved.
        other: the other store of the table, as it was when the table was opened.

    Raises:
        BatchLandedError: the head holds the batch.
        ConflictError: the head holds a batch that the writer does not know of.
        InvalidInputError: too many writers have a watermark.
        UnsupportedError: a batch for a branch.
        FormatError: what the head remembers is not readable.
    """
    if isinstance(head, BranchStore):
        if batch is not None:
            raise UnsupportedError(
                f"table {'.'.join(head.name())!r}: a stream writes to the table, not to branch "
                f"{head.branch!r}: which batches have landed is said of the table; write its "
                "rows with a save for each batch (foreachBatch)"
            )
        watermark = None
    summary, properties = dict(what.summary), dict(what.properties)
    if batch is not None:
        name = ".".join(head.name())
        _check_not_overtaken(head, batch, name=name)
        if batch.has_landed(head.properties):
            raise BatchLandedError(
                f"table {name!r} holds batch {batch.batch_id} of stream "
                f"{batch.query_id!r} already; go on with the next one"
            )
        summary |= batch.summary
        properties |= batch.properties
    others = {} if other is None else Watermarks.of(other.properties).writers
    told = told_watermarks(head.properties, watermark, merged_ms=merged_ms, other=others)
    properties |= told
    if watermark is not None and watermark.writer is not None:
        summary[WATERMARK_WRITER] = watermark.writer
    if WATERMARK in told:
        summary[WATERMARK] = told[WATERMARK]
        if store_of(head.properties) == "base":
            summary[BASE_WATERMARK] = told[WATERMARK]
    return replace(what, summary=summary, properties=properties)


def has_landed(opened: OpenTable, batch: StreamBatch | None) -> bool:
    """Say whether either store of a table holds a batch, as of when it was opened.

    Raises:
        ConflictError: a store holds a batch that the writer does not know of.
        FormatError: what a store remembers is not readable.
    """
    if batch is None:
        return False
    stores = [opened.base] if opened.change is None else [opened.base, opened.change]
    for store in stores:
        _check_not_overtaken(store, batch, name=opened.table.name)
    return any(batch.has_landed(store.properties) for store in stores)


def told_watermarks(
    properties: Mapping[str, str],
    watermark: Watermark | None,
    *,
    merged_ms: int | None,
    other: Mapping[str, int],
) -> dict[str, str]:
    """Return the properties of a store that say how far event time has come after a commit.

    Args:
        properties: of the store, just refreshed.
        watermark: what the commit brings; None: nothing.
        merged_ms: the watermark of the changes that it merges; None: not known to have moved.
        other: the writers of the other store.

    Raises:
        InvalidInputError: too many writers have a watermark.
        FormatError: what the store remembers is not readable.
    """
    known = Watermarks.of(properties)
    told = {}
    if watermark is not None:
        known = known.after(watermark, other=other)
        if watermark.writer is not None:
            own_ms = known.writers[watermark.writer]
            told[f"{WRITER_PREFIX}{watermark.writer}"] = str(own_ms)
    if merged_ms is not None:
        known = known.merged(merged_ms, other=other)
    return told if known.table_ms is None else {**told, WATERMARK: str(known.table_ms)}


def watermarks(opened: OpenTable) -> Watermarks:
    """Return what both stores of a table know, as of when they were loaded.

    Raises:
        FormatError: a watermark that is not a number.
    """
    base = Watermarks.of(opened.base.properties)
    if opened.change is None:
        return base
    return base.beside(Watermarks.of(opened.change.properties))


def watermark_properties(opened: OpenTable) -> dict[str, str]:
    """Return the watermarks of a table, as its properties show them; what is not known is absent.

    Raises:
        FormatError: one is not a number.
    """
    table, base = watermarks(opened).table_ms, watermark_in(opened.base.properties)
    shown = {} if table is None else {WATERMARK: str(table)}
    return shown if base is None else {**shown, BASE_WATERMARK: str(base)}


def change_watermark(opened: OpenTable, up_to: int) -> int | None:
    """Return the watermark of the changes up to a sequence number, as far as summaries tell.

    Args:
        opened: a keyed table.
        up_to: inclusive.
    """
    if opened.change is None:
        return None
    newest = opened.change.current_snapshot()
    if newest is None or up_to >= (newest.sequence_number or 0):
        return watermark_in(opened.change.properties)  # knows which writers were retired since
    told = {
        snapshot.sequence_number or 0: watermark_in(snapshot.summary.additional_properties)
        for snapshot in opened.change.metadata.snapshots
        if snapshot.summary is not None and (snapshot.sequence_number or 0) <= up_to
    }
    known = {number: ms for number, ms in told.items() if ms is not None}
    return known[max(known)] if known else None


def _check_not_overtaken(store: Table, batch: StreamBatch, *, name: str) -> None:
    if batch.is_overtaken(store.properties):
        raise ConflictError(
            f"table {name!r} got another batch of {batch.query_id!r} than "
            f"{batch.batch_id}: another process writes under that name; stop one of them"
        )

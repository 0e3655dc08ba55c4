"""One table's share of a batch of changes: committed once, however often it is tried.

Must not know: where changes come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from arctic import options as opt
from arctic.cdc.rows.event_rows import ACTION, ORDER, last_rows
from arctic.errors import NotFoundError
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.new_table import taken_back_on_failure
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.reference import TableReference
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.write_job import begin_write, work_here
from arctic.job.write.write_task import write_task
from arctic.table.property_names import STREAM_PREFIX
from arctic.table.streams.stream_batch import StreamBatch

WriteRows = Callable[[pa.RecordBatchReader, Mapping[str, str]], None]
"""Writes rows with write options, in one commit: here, or on a cluster."""

QUARANTINE = pa.schema(
    [
        ("ends", pa.int64()),
        ("seq", pa.int64()),
        ("source", pa.string()),
        ("reason", pa.string()),
        ("message", pa.string()),
    ]
)
"""Columns of a table of events that could not be applied; see ``docs/cdc.md``."""


def write_here(rows: pa.RecordBatchReader, options: Mapping[str, str]) -> None:
    """Write rows in this process, in one commit."""
    with taken_back_on_failure():
        job = begin_write(AskedWrite.of(options), rows.schema)
        commit_write(job, [write_task(work_here(job), rows, partition_id=0, task_id=0)])


def write_changes(
    reference: TableReference,
    rows: pa.Table,
    *,
    key: Sequence[str],
    is_ordered: bool,
    batch: StreamBatch,
    truncated: bool,
    told: Mapping[str, str],
    write: WriteRows,
) -> None:
    """Commit the rows of a batch to one table, unless it holds the batch already.

    Args:
        reference: the table.
        rows: the table's columns, ``ACTION`` and ``ORDER``.
        key: the table's key columns.
        is_ordered: whether the table has ordering columns, by which the rows are ordered then.
        batch: which one it is.
        truncated: the table was emptied before these rows.
        told: write options that say how far event time has come.
        write: carries it out.
    """
    given = {**reference.options, **batch_options(batch), **told}
    if truncated:
        left = last_rows(rows, key)
        write(left.to_reader(), {**given, opt.WRITE_MODE.name: "overwrite"})
    elif rows.num_rows:
        how = {
            opt.WRITE_MODE.name: "upsert",
            opt.ACTION_COLUMN.name: ACTION,
            # Sources deliver again, under another batch too, whatever the table is set to.
            opt.UPSERT_INSERTS.name: "true",
        }
        if is_ordered:
            # Of equal values the later row wins.
            rows = rows.sort_by(ORDER).drop_columns([ORDER])
        else:
            how[opt.ORDERING_COLUMN.name] = ORDER
            # Columns that mirror nothing, or were added since the rows were made.
            how[opt.MISSING_COLUMNS.name] = "keep"
        write(rows.to_reader(), {**given, **how})


def write_quarantine(
    reference: TableReference, broken: Sequence[pa.Table], *, batch: StreamBatch | None
) -> int:
    """Commit the broken events of a batch, unless they are there already; return how many.

    Args:
        reference: the table; it is created if need be.
        broken: ``BROKEN`` events.
        batch: which one they are of; None: of none, so they are always written.
    """
    rows = pa.concat_tables(
        [QUARANTINE.empty_table(), *(t.select(QUARANTINE.names) for t in broken)]
    )
    if rows.num_rows:
        open_quarantine(reference)
        given = {**reference.options, opt.WRITE_MODE.name: "append"}
        if batch is not None:
            given |= batch_options(batch)
        write_here(rows.to_reader(), given)
    return int(rows.num_rows)


def open_quarantine(reference: TableReference) -> OpenTable:
    """Open a table of broken events; it is created if need be."""
    try:
        return reference.open()
    except NotFoundError:
        return create_table(
            reference.config,
            reference.identifier,
            QUARANTINE,
            primary_key=(),
            partition_by=(),
            properties={},
            exist_ok=True,
        )


def batch_options(batch: StreamBatch) -> dict[str, str]:
    """Return a batch as write options."""
    given = {
        opt.STREAM_QUERY_ID.name: batch.query_id,
        opt.STREAM_BATCH_ID.name: str(batch.batch_id),
    }
    if batch.position is not None:
        given[opt.STREAM_POSITION.name] = batch.position
    if batch.follows is not None:
        given[opt.STREAM_FOLLOWS.name] = str(batch.follows)
    return given


def last_batch(opened: OpenTable, query_id: str) -> int:
    """Return the last batch of a writer that a table holds; -1 if none."""
    name = f"{STREAM_PREFIX}{query_id}"
    stores = [opened.base] if opened.change is None else [opened.base, opened.change]
    known: list[int] = [int(store.properties.get(name, "-1")) for store in stores]
    return max(known)

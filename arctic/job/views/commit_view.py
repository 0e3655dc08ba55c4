"""The commit of a refresh: rows of the view, and where its sources stand, in one snapshot.

Rules:
    - Of two refreshes that began at the same place one commits, and the other is refused: its
      changes would be counted twice.
    - A refresh that found no row to change still commits where the sources stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from arctic import options as opt
from arctic.errors import ConflictError
from arctic.job.reference import TableReference
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.write_job import begin_write, work_here
from arctic.job.write.write_task import write_task
from arctic.table.streams.stream_batch import StreamBatch
from arctic.views.view_statements import ACTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a refresh wrote."""

    snapshot_id: int | None
    upserts: int
    deletes: int


def commit_view(
    reference: TableReference,
    rows: pa.RecordBatchReader,
    schema: pa.Schema,
    *,
    batch: StreamBatch,
    mode: str,
) -> Written:
    """Write the rows of a refresh.

    Args:
        reference: the view's table.
        rows: columns of ``schema``; ``ACTION`` behind them in an upsert.
        schema: of the table.
        batch: which refresh it is, and where the sources stand then.
        mode: ``upsert``, ``append`` or ``overwrite``.

    Raises:
        ConflictError: another refresh came first.
    """
    given = {**reference.options, opt.WRITE_MODE.name: mode}
    if mode == "upsert":
        schema = schema.append(pa.field(ACTION, pa.string()))
        given[opt.ACTION_COLUMN.name] = ACTION
    counts: dict[str, int] = {"+": 0, "-": 0}
    job = begin_write(AskedWrite.of(given).of_batch(batch), schema)
    result = write_task(
        work_here(job),
        _fitted(rows, schema, counts),
        partition_id=0,
        task_id=0,
        threads=opt.default_parallelism(),
    )
    commit = commit_write(job, [result])
    if commit is None:
        raise ConflictError(
            f"view {reference.identifier!r} was refreshed by others meanwhile; refresh it again"
        )
    return Written(snapshot_id=commit.snapshot_id, upserts=counts["+"], deletes=counts["-"])


def _fitted(
    rows: pa.RecordBatchReader, schema: pa.Schema, counts: dict[str, int]
) -> Iterator[pa.RecordBatch]:
    """Yield batches with the types of the table, and count what is done with their rows."""
    for batch in rows:
        if ACTION in batch.schema.names:
            gone = pa.compute.sum(pa.compute.equal(batch.column(ACTION), "-D")).as_py() or 0
            counts["-"] += gone
            counts["+"] += batch.num_rows - gone
        else:
            counts["+"] += batch.num_rows
        yield batch.select(schema.names).cast(schema)

"""One write of a user, from data of any Arrow form to a report of what it did."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.new_table import taken_back_on_failure
from arctic.job.publish.after_write import after_write
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.new_only import NEW_ONLY_MODES, create_for_write
from arctic.job.write.write_job import begin_write, work_here
from arctic.job.write.write_task import write_task


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReport:
    """What one write did."""

    snapshot_id: int | None
    """The one snapshot it made; None when there was nothing to commit."""
    rows: int
    """Rows that came in."""
    inserts: int
    """Rows written as data."""
    deletes: int
    """Keys written as deletes."""
    files: int
    bytes: int
    seconds: float

    def __str__(self) -> str:
        """Return a line for a terminal."""
        if self.snapshot_id is None:
            return f"{self.rows:,} rows came in; nothing was written"
        return (
            f"{self.rows:,} rows came in; {self.inserts:,} inserts and {self.deletes:,} deletes in "
            f"{self.files:,} files of {self.bytes / 2**20:,.1f} MiB, in {self.seconds:.1f} s; "
            f"snapshot {self.snapshot_id}"
        )


_NOTHING_WRITTEN = WriteReport(
    snapshot_id=None, rows=0, inserts=0, deletes=0, files=0, bytes=0, seconds=0.0
)


def write_data(data: Any, options: Mapping[str, str]) -> WriteReport:
    """Write rows in one snapshot."""
    rows, in_memory = batches_of(data), isinstance(data, pa.Table | pa.RecordBatch)
    mode = options.get(opt.WRITE_MODE.name, "").strip().lower()
    if mode not in NEW_ONLY_MODES:
        return _write(rows, AskedWrite.of(options), in_memory=in_memory)
    given = {name: text for name, text in options.items() if name != opt.WRITE_MODE.name}
    asked = AskedWrite.of(given)
    with taken_back_on_failure():
        settled = create_for_write(asked, rows.schema, mode=mode)
        if settled is None:
            return _NOTHING_WRITTEN
        return _write(rows, asked.with_mode(settled), in_memory=in_memory)


def _write(rows: pa.RecordBatchReader, asked: AskedWrite, *, in_memory: bool) -> WriteReport:
    started = time.monotonic()
    with taken_back_on_failure():
        job = begin_write(asked, rows.schema)
        result = write_task(
            work_here(job),
            rows,
            partition_id=0,
            task_id=0,
            threads=opt.default_parallelism(),
            in_memory=in_memory,
        )
        commit = commit_write(job, [result])
    report = WriteReport(
        snapshot_id=None if commit is None else commit.snapshot_id,
        rows=result.rows_in,
        inserts=result.inserts,
        deletes=result.deletes,
        files=len(result.files),
        bytes=sum(file.size_bytes for file in result.files),
        seconds=time.monotonic() - started,
    )
    after_write(asked, job.target.table.properties, None, optimizes=asked.optimizes)
    return report


def batches_of(data: Any) -> pa.RecordBatchReader:
    """Return rows of any form as a stream of batches."""
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    raise InvalidInputError(
        f"data of type {type(data).__name__!r}; expected a pyarrow table, batch or batch reader, "
        "or an object with the Arrow C stream interface"
    )

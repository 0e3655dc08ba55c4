"""Rows that others moved to another partition after a write looked them up.

Where the key does not decide the partition, a delete must be written where the row *is*. So the
written keys are looked up among the files that are new, and what is found there is deleted.

The added deletes come first in the transaction (their task numbers give the lowest offsets), so
they kill what other writers committed, never a row of this write.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

import pyarrow as pa

from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.locate import RowLocator, as_begun
from arctic.job.write.write_task import ADDED_DELETES_TASK
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.table.files import FileKind
from arctic.writing.target import TaskId, TaskResult, WriteTarget
from arctic.writing.write_request import WriteMode, WriteRequest
from arctic.writing.writer import open_writer, plan_write


class MovedRows:
    """The rows that were found so far."""

    def __init__(self, target: WriteTarget, begun: RowLocator) -> None:
        self._target = target
        names = dict.fromkeys((*target.key, *target.partition_sources))
        self._schema = pa.schema([begun.request.schema.field(name) for name in names])
        self._rows = self._schema.empty_table()

    def look(
        self,
        opened: OpenTable,
        results: Sequence[TaskResult],
        *,
        before: RowLocator,
        now: RowLocator,
    ) -> None:
        """Look the keys that a write deletes up among the files that are new.

        Raises:
            ConflictError: others dropped or retyped a column that tells the partition.
        """
        newer = now.without(before.data_paths)
        found = [
            as_begun(newer.find(keys), self._schema, name=self._target.table.name)
            for keys in _deleted_keys(opened, results)
        ]
        self._rows = pa.concat_tables([self._rows, *found])

    def write(self, results: Sequence[TaskResult]) -> list[TaskResult]:
        """Write deletes for all of them, as a task that comes before those of the write."""
        if not self._rows.num_rows:
            return []
        target = self._target
        request = WriteRequest(mode=WriteMode.DELETE)
        task = TaskId(partition_id=ADDED_DELETES_TASK, task_id=0, operation_id=secrets.randbits(63))
        conform = plan_write(
            target.table, target.schema, self._rows.schema, request=request, locates=False
        )
        writer = open_writer(target, task, request=request, conform=conform, locate=None)
        for batch in self._rows.to_batches():
            writer.write(batch)
        return [writer.close()]


def _deleted_keys(opened: OpenTable, results: Sequence[TaskResult]) -> Iterator[pa.Table]:
    key = list(opened.table.primary_key)
    schema = pa.schema([opened.arrow_schema.field(name) for name in key])
    for result in results:
        for file in result.files:
            if file.kind is FileKind.CHANGE_DELETE:
                with ParquetInput(file.path, opened.io.open_input, Size.of(file)) as parquet:
                    yield parquet.read(key).cast(schema)

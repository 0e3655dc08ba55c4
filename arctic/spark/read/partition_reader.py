"""What a task of Spark's does for a read: the rows of one group, as Spark wants them.

Rules:
    - Every batch has exactly the schema that Spark asked for; Spark checks the first one only.
    - Kept apart from planning: see ``arctic.job.read.read_task``.

Must not know: how files are merged.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from arctic.columns.cast import cast_array
from arctic.job.read.read_task import GroupReader
from arctic.spark.base.error_surface import message_first
from arctic.spark.tasks.worker_garbage import spare_imports


class PartitionReader(DataSourceReader):
    """Reads groups of node tasks."""

    def __init__(self, reader: GroupReader, schema: pa.Schema) -> None:
        self._reader = reader
        self._schema = schema
        """The schema of every batch, in Spark's types."""

    @message_first
    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one group."""
        # What Spark makes of an empty list: None itself in 4.1, a partition of None later.
        if partition is not None and partition.value is not None:
            yield from self._rows(partition.value)
            spare_imports()

    @message_first
    def read_pickled(self, groups: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a group that comes as Spark hands it to the functions of its workers.

        Args:
            groups: batches of one column of pickled groups.
        """
        for batch in groups:
            for pickled in batch.column(0).to_pylist():
                yield from self._rows(pickle.loads(pickled))
        spare_imports()

    def _rows(self, group: Any) -> Iterator[pa.RecordBatch]:
        for batch in self._reader.read(group):
            columns = [
                cast_array(column, field.type)
                for column, field in zip(batch.columns, self._schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self._schema)

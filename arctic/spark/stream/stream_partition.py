"""What a task of Spark's does for a stream: it is told everything by its input partition.

Kept apart from planning: see ``arctic.job.read.read_task``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from arctic.spark.read.partition_reader import PartitionReader


class StreamPartitionReader:
    """What remains of a stream's reader on its way to executors."""

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the events of one task."""
        if partition is not None and partition.value is not None:
            reader, schema, group = partition.value
            yield from PartitionReader(reader, schema).read(InputPartition(group))

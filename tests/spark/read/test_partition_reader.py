"""What a worker of Spark's does beside reading a group."""

from __future__ import annotations

import subprocess
import sys

_TASK = """
import gc
import pickle
import pyarrow as pa
from arctic.job.read.read_task import ArrowReader
from arctic.spark.read.partition_reader import PartitionReader

rows = pa.table({"id": [1, 2]})
sink = pa.BufferOutputStream()
with pa.ipc.new_stream(sink, rows.schema) as stream:
    stream.write_table(rows)
group = pickle.dumps(sink.getvalue().to_pybytes())
reader = PartitionReader(ArrowReader(schema=rows.schema), rows.schema)
groups = [pa.record_batch([pa.array([group])], names=["group"])]
print(gc.get_freeze_count() > 0)
print(sum(batch.num_rows for batch in reader.read_pickled(groups)), gc.get_freeze_count() > 0)
"""


def test_a_worker_s_collector_leaves_the_modules_of_a_read_alone() -> None:
    """From the end of its first group on: Spark has it collect after every task."""
    done = subprocess.run([sys.executable, "-c", _TASK], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "2", "True"]

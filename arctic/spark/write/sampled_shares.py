"""The share of a frame's rows that each partition gets, by a sample, where nothing else tells.

Rules:
    - A sample reads the frame once more, so it is taken only where that costs little, of the
      columns alone that decide the partition.
    - Rows never depend on the answer, so whatever goes wrong here means that nothing is known.

Must not know: tasks.
"""

from __future__ import annotations

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from arctic.errors import ArcticError
from arctic.job.write.plan_shuffle import shares_of
from arctic.spark.base.quoted import quoted
from arctic.spark.write.narrow_input import is_scan, thought_bytes
from arctic.table.hot_partitions import PartitionShares
from arctic.writing.target import WriteTarget

_LEAST_BYTES = 4 << 20
"""Up to this, one task has written the rows before a sample would be there."""
_SAMPLE_BYTES = 1 << 20
"""Of whole rows, as Spark thinks them to be: thousands, which tell shares to a hundredth."""
_TASK_BYTES = 512 << 10
"""For each task; with less, a partition that is divided among them would be tiny files."""


def sampled_shares(
    frame: DataFrame, target: WriteTarget, *, task_count: int
) -> PartitionShares | None:
    """Return what part of the rows partitions have; None: to find out would cost too much.

    Args:
        frame: the rows of a write.
        target: its table, with partitions.
        task_count: tasks that a partition may be divided among.
    """
    size = thought_bytes(frame)
    if size is None or size <= max(_LEAST_BYTES, task_count * _TASK_BYTES):
        return None
    sources = frame.select(*[quoted(name) for name in target.partition_sources])
    if not is_scan(sources):
        return None
    try:
        share = min(1.0, _SAMPLE_BYTES / size)
        rows = sources.sample(fraction=share, seed=0).toArrow()
        return shares_of(rows, target)
    except (ArcticError, Py4JError, PySparkException):
        return None  # The write will say what is wrong with its rows.

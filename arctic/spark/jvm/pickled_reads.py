"""Reads as Spark hands them to its workers: a function, and a partition for each task, as texts.

Must not know: what is read.
"""

from __future__ import annotations

import base64
import pickle
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.types import StructType

from arctic.spark.read.partition_reader import PartitionReader


def function_text(reader: PartitionReader, schema: StructType) -> str:
    """Return what a worker unpickles: the function, and the type of what it yields."""
    # Its package has no types.
    pickled: bytes = cloudpickle.dumps(  # type: ignore[no-untyped-call]
        (reader.read_pickled, schema)
    )
    return _text(pickled)


def partition_text(group: Any) -> str:
    """Return what a task reads."""
    return _text(pickle.dumps(group))


def _text(pickled: bytes) -> str:
    return base64.b64encode(pickled).decode()

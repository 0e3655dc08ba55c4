"""How many rows a task hands over to its Python worker at a time.

Strategy: Spark ends a batch at 10,000 rows or at 64 MiB, and adds up the bytes of all columns after
every row to see it: a third of the time that a write takes in the JVM. Where no row can be long,
batches end by their rows alone, and are shorter.

Rules:
    - Only the jobs of this thread are told, by properties of theirs; a setting of the user wins.
    - Rows that may hold texts, files or lists, and plans with Python functions in them, keep
      Spark's limits: a text may be a document.

Memory: 4,096 rows of numbers and times, in the JVM and in the worker.

Must not know: tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import AtomicType, BinaryType, DataType, StringType, VariantType

from arctic.spark.base.private_names import planned

_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_SPARKS_ROWS = "10000"
_BATCH_ROWS = 4_096
_ANY_BYTES = 2**31 - 1
"""With it Spark does not add anything up."""
_LONG = (BinaryType, StringType, VariantType)
_PYTHON_NODES = ("Python", "Pandas", "Arrow")
"""In the names of all nodes of a plan that call Python."""


@contextmanager
def batches_by_rows(frame: DataFrame) -> Iterator[None]:
    """Let the jobs of this thread end batches by their rows, if those of a frame are short.

    Args:
        frame: of a classic session: the rows as they are handed over.
    """
    if not _is_short(frame):
        yield
        return
    context = frame.sparkSession.sparkContext
    wanted = {_ROWS: str(_BATCH_ROWS), _BYTES: str(_ANY_BYTES)}
    before: dict[str, Any] = {name: context.getLocalProperty(name) for name in wanted}
    try:
        for name, text in wanted.items():
            context.setLocalProperty(name, text)
        yield
    finally:
        for name, text in before.items():
            context.setLocalProperty(name, text)


def _is_short(frame: DataFrame) -> bool:
    if frame.sparkSession.conf.get(_ROWS) != _SPARKS_ROWS:
        return False
    if not all(_is_plain(field.dataType) for field in frame.schema):
        return False
    try:
        plan = str(planned(frame).optimizedPlan().toString())
    except (Py4JError, PySparkException):
        return False  # Whoever asks for the rows is told why.
    return not any(word in plan for word in _PYTHON_NODES)


def _is_plain(kind: DataType) -> bool:
    return isinstance(kind, AtomicType) and not isinstance(kind, _LONG)

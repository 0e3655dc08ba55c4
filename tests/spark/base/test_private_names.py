"""What this edge takes of Spark that Spark does not promise: it is there, and in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import arctic.spark
from arctic.spark.base import private_names as private

PACKAGE = Path(arctic.spark.__file__).parent
HOME = PACKAGE / "base" / "private_names.py"
INTERNAL = ("extensions", "queryExecution", "sessionState", "sharedState")
"""What a session and a frame in the JVM keep for Spark itself, under names without underscores."""


@pytest.mark.spark
def test_every_private_name_is_there(spark: SparkSession) -> None:
    """In the Spark that is installed, with what it is needed for behind it."""
    frame = spark.range(1)
    writer = spark.readStream.format("rate").load().writeStream
    java = private.jvm(spark)
    ours = [
        (private.jvm_context(spark.sparkContext), "getExecutorMemoryStatus"),
        (private.jvm_context(spark.sparkContext), "conf"),
        (private.jvm_frame(frame), "mapInArrow"),
        (private.planned(frame), "optimizedPlan"),
        (private.planned(frame), "executedPlan"),
        (private.python_sources(spark), "lookupDataSource"),
        (private.hadoop_settings(spark), "get"),
        (private.jvm_column(F.col("id")), "toString"),
        (private.jvm_stream_writer(writer), "start"),
    ]

    assert private.is_classic(spark)
    assert not private.has_ended(spark)
    assert private.parsed_name(spark, "a.`b.c`") == ["a", "b.c"]
    assert private.python_includes(spark) == []
    assert all(callable(getattr(behind, name)) for behind, name in ours)
    assert len(private.gateway(spark).new_array(java.java.lang.Object, 2)) == 2
    assert private.frame_of(frame.write) is frame
    assert private.frame_of(writer).isStreaming
    assert private.session_of(writer) is spark
    assert private.session_of(spark.readStream) is spark
    assert private.frame_of_jvm(private.jvm_frame(frame)).collect() == frame.collect()
    with pytest.raises(PySparkException) as caught:
        spark.sql("SELECT * FROM nowhere")
    thrown = private.java_error(caught.value)
    assert thrown is not None
    assert thrown.getCondition() == caught.value.getCondition()
    assert private.java_error(ValueError("of Python's own")) is None
    parquet = java.org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
    assert parquet.ROW_INDEX_TEMPORARY_COLUMN_NAME() == private.ROW_INDEX_COLUMN


def test_no_other_module_of_the_edge_has_a_private_name() -> None:
    """Of Spark or of anything else: what is behind an underscore is its owner's.

    Nor goes any from a session or a frame to what Spark's own modules alone are to see.
    """
    found = [
        f"{path.relative_to(PACKAGE)} {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != HOME
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _private(node)
    ]

    assert found == []


def _private(node: ast.AST) -> list[str]:
    name = ""
    if isinstance(node, ast.Attribute):
        owner = node.value
        is_own = isinstance(owner, ast.Name) and owner.id in ("self", "cls")
        name = "" if is_own else node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value if node.value.startswith("_j") else ""
    is_private = name.startswith("_") and not name.startswith("__")
    return [name] if is_private or name in INTERNAL else []

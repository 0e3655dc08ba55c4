"""Python data sources of others, in a session in which Arctic is registered: they do as ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceWriter,
    EqualTo,
    InputPartition,
    SimpleDataSourceStreamReader,
    WriterCommitMessage,
)

pytestmark = pytest.mark.spark


def numbers() -> type[DataSource]:
    """Return a source that is read, filtered and streamed; as a value for workers."""

    class Reader(DataSourceReader):
        def partitions(self) -> list[InputPartition]:
            return [InputPartition(0), InputPartition(10)]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            ids = pa.array(range(partition.value, partition.value + 10), pa.int64())
            texts = pa.array([f"row {number}" for number in ids.to_pylist()])
            yield pa.RecordBatch.from_arrays([ids, texts], names=["id", "text"])

    class Filtered(Reader):
        only: int | None = None

        def pushFilters(self, filters: Any) -> Any:
            for each in filters:
                if isinstance(each, EqualTo) and each.attribute == ("id",):
                    self.only = each.value
                else:
                    yield each

        def read(self, partition: InputPartition) -> Iterator[Any]:
            for number in range(partition.value, partition.value + 10):
                if self.only in (None, number):
                    yield number, f"{'all' if self.only is None else 'asked'} {number}"

    class Stream(SimpleDataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:
            return {"at": 0}

        def read(self, start: dict[str, int]) -> Any:
            end = min(start["at"] + 2, 4)
            rows = [(number, f"row {number}") for number in range(start["at"], end)]
            return iter(rows), {"at": end}

        def readBetweenOffsets(self, start: Any, end: Any) -> Any:
            return iter([(number, f"row {number}") for number in range(start["at"], end["at"])])

    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers_of_others"

        def schema(self) -> str:
            return "id long, text string"

        def reader(self, schema: Any) -> DataSourceReader:
            if self.options.get("fails"):
                raise ValueError("a source that fails")
            return Filtered() if self.options.get("filters") else Reader()

        def simpleStreamReader(self, schema: Any) -> Stream:
            return Stream()

    return Numbers


def files(arrow: bool) -> type[DataSource]:
    """Return a source that writes a file of counts for each task, and one when all is over."""

    class Rows(DataSourceWriter):
        def __init__(self, options: Any, overwrite: bool) -> None:
            self.folder, self.overwrite = options["path"], overwrite

        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            message = WriterCommitMessage()
            message.rows = sum(1 for _ in iterator)  # type: ignore[attr-defined]
            return message

        def commit(self, messages: Any) -> None:
            total = sum(each.rows for each in messages)
            with open(f"{self.folder}/{self.overwrite}", "a", encoding="utf-8") as file:
                file.write(f"{total}\n")

    class Batches(Rows, DataSourceArrowWriter):
        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            message = WriterCommitMessage()
            message.rows = sum(batch.num_rows for batch in iterator)  # type: ignore[attr-defined]
            return message

    class Files(DataSource):
        @classmethod
        def name(cls) -> str:
            return f"files_of_others_{arrow}"

        def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
            return (Batches if arrow else Rows)(self.options, overwrite)

    return Files


def test_sources_of_others_are_read_as_ever(spark: SparkSession) -> None:
    """With their partitions, filters, limits, counts and views, and their own errors."""
    spark.dataSource.register(numbers())
    frame = spark.read.format("numbers_of_others").load()

    assert (frame.count(), frame.rdd.getNumPartitions()) == (20, 2)
    assert frame.where("id = 12").select("text").collect()[0][0] == "row 12"
    assert len(frame.limit(3).collect()) == 3
    assert [tuple(row) for row in frame.selectExpr("min(id)", "max(text)").collect()] == [
        (0, "row 9")
    ]
    frame.createOrReplaceTempView("numbers")
    joined = spark.sql("SELECT * FROM numbers a JOIN numbers b USING (id)")
    assert joined.count() == 20
    with pytest.raises(PySparkException, match="a source that fails"):
        spark.read.format("numbers_of_others").option("fails", "yes").load().collect()
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        asked = spark.read.format("numbers_of_others").option("filters", "yes").load()
        assert [tuple(row) for row in asked.where("id = 3").collect()] == [(3, "asked 3")]
        assert asked.where("text = 'all 4'").count() == 1
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


SHAPES: dict[str, tuple[Any, list[tuple[Any, ...]] | str]] = {
    "tuples": ([(0, 1), (2, 3)], [(0, "1"), (2, "3")]),
    "lists": ([[0, 1]], [(0, "1")]),
    "rows": ([Row(0, 1)], [(0, "1")]),  # type: ignore[call-overload]
    "named rows, in any order": ([Row(text=1, id=0), Row(id=1, text=2)], [(0, "1"), (1, "2")]),
    "none": ([], []),
    "no iterator": (None, "DATA_SOURCE_INVALID_RETURN_TYPE"),
    "no rows": ([1], "DATA_SOURCE_INVALID_RETURN_TYPE"),
    "other names": ([Row(id=1, other=2)], "DATA_SOURCE_RETURN_SCHEMA_MISMATCH"),
    "too few": ([(1,)], "DATA_SOURCE_RETURN_SCHEMA_MISMATCH"),
}
"""What a source gives for the columns id and text, and what Spark makes of it."""


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_others_are_taken_or_refused_as_ever(spark: SparkSession, shape: str) -> None:
    """In every shape that a source may give; the name of the one before is taken over."""
    given, expected = SHAPES[shape]

    class Reader(DataSourceReader):
        def read(self, partition: Any) -> Any:
            return given if given is None else iter(given)

    class Shapes(numbers()):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return "shapes_of_others"

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader()

    spark.dataSource.register(Shapes)
    frame = spark.read.format("shapes_of_others").load()

    if isinstance(expected, str):
        with pytest.raises(PySparkException, match=expected):
            frame.collect()
    else:
        assert [tuple(row) for row in frame.collect()] == expected


def test_a_failed_task_of_others_aborts_their_write(spark: SparkSession, tmp_path: Path) -> None:
    """As their writer does it, and nothing is committed."""

    class Fails(DataSourceWriter):
        folder = str(tmp_path)

        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            if any(row.id > 5 for row in iterator):
                raise ValueError("a row that fails")
            return WriterCommitMessage()

        def commit(self, messages: Any) -> None:
            open(f"{self.folder}/committed", "x").close()

        def abort(self, messages: Any) -> None:
            open(f"{self.folder}/aborted", "x").close()

    class Failing(DataSource):
        @classmethod
        def name(cls) -> str:
            return "failing_of_others"

        def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
            return Fails()

    spark.dataSource.register(Failing)
    with pytest.raises(PySparkException, match="a row that fails"):
        spark.range(8).repartition(3).write.format("failing_of_others").mode("append").save("x")

    assert [path.name for path in tmp_path.iterdir()] == ["aborted"]


@pytest.mark.parametrize("arrow", [False, True])
def test_sources_of_others_are_written_as_ever(
    spark: SparkSession, tmp_path: Path, *, arrow: bool
) -> None:
    """By rows or by batches; modes are theirs, and Arctic's own are no modes of theirs."""
    spark.dataSource.register(files(arrow))
    name = f"files_of_others_{arrow}"
    rows = spark.range(10).repartition(2)

    rows.write.format(name).mode("append").save(str(tmp_path))
    rows.limit(4).write.format(name).mode("overwrite").save(str(tmp_path))

    assert (tmp_path / "False").read_text(encoding="utf-8") == "10\n"
    assert (tmp_path / "True").read_text(encoding="utf-8") == "4\n"
    for mode in ("upsert", "delete"):
        with pytest.raises((PySparkException, ValueError)):
            rows.write.format(name).mode(mode).save(str(tmp_path))


def test_streams_of_others_are_read_as_ever(spark: SparkSession, tmp_path: Path) -> None:
    """Each row once."""
    spark.dataSource.register(numbers())
    seen: list[int] = []

    query = (
        spark.readStream.format("numbers_of_others")
        .load()
        .writeStream.foreachBatch(lambda batch, _: seen.extend(r.id for r in batch.collect()))
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()

    assert seen == [0, 1, 2, 3]

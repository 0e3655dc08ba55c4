"""Frames that are Parquet files, written by tasks that read the files: as if Spark had read them.

Each write is made twice, into two tables: by tasks that read, and by Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import arctic
from arctic.errors import ArcticError, InvalidInputError
from arctic.job.write.write_job import WriteJob
from arctic.spark.write import frame_files, save_rows
from tests.spark.lake import NAME, SCHEMA, Lake, with_settings

pytestmark = pytest.mark.spark

_READ = frame_files.written_where_read
_ALONE = frame_files.written_by_one
_TIMES = [
    datetime(1, 1, 1, tzinfo=timezone.utc),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc),
    datetime(2024, 2, 29, tzinfo=timezone.utc),
]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_files, "_FEWEST_BYTES", 0)


@contextmanager
def _taken(by_spark: bool) -> Iterator[list[bool]]:
    """Yield whether each write read the files itself; none does where Spark is to do it."""
    answers: list[bool] = []

    def alone(frame: DataFrame, job: WriteJob) -> bool:
        if by_spark or not _ALONE(frame, job):
            return False
        answers.append(True)
        return True

    def asked(frame: DataFrame, job: WriteJob) -> bool:
        answers.append(False if by_spark else _READ(frame, job))
        return answers[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(save_rows, "written_by_one", alone)
        patched.setattr(save_rows, "written_where_read", asked)
        yield answers


def _events(*ids: int | None, mark: str = "r", width: int = 1) -> pa.Table:
    texts = [f"{mark}{place}" * width for place in range(len(ids))]
    return pa.table([ids, texts, [place / 2 for place in range(len(ids))]], schema=SCHEMA)


_KINDS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "flag": pa.array([True, None, False]),
        "small": pa.array([-1, None, 2**31 - 1], pa.int32()),
        "number": pa.array([float("nan"), -0.0, None]),
        "single": pa.array([float("nan"), -0.0, float("inf")], pa.float32()),
        "price": pa.array([Decimal("-1.25"), None, Decimal("99999.99")], pa.decimal128(7, 2)),
        "large": pa.array([Decimal(10) ** 30, None, Decimal(-1)], pa.decimal128(38, 0)),
        "day": pa.array([date(1, 1, 1), date(1582, 10, 4), date(9999, 12, 31)]),
        "at": pa.array(_TIMES, pa.timestamp("us", "UTC")),
        "local": pa.array([each.replace(tzinfo=None) for each in _TIMES], pa.timestamp("us")),
        "bytes": pa.array([b"\xff\x00", b"", None]),
        "text": pa.array(["", "é\U0001f600", None]),
    }
)
_INSTANTS = _KINDS.select(["id", "at"])


def _plain(frame: DataFrame) -> DataFrame:
    return frame


@dataclass(frozen=True, kw_only=True)
class _Case:
    """What is written, and how."""

    files: Mapping[str, pa.Table]
    made: Callable[[DataFrame], DataFrame] = _plain
    mode: str = "upsert"
    key: tuple[str, ...] = ("id",)
    properties: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    how: Mapping[str, Any] = field(default_factory=dict)
    schema: pa.Schema | None = None
    tasks: int | None = None
    """That write; None: however many."""
    writes: Mapping[str, str] = field(default_factory=dict)
    """Options of the write."""
    partitions: tuple[str, ...] = ()


_TWO = {"a": _events(1, 2, 3, mark="a"), "b": _events(3, 4, 5, 6, 7, 8, mark="b", width=400)}
"""Spark reads the larger file first, so of key 3 the row of the smaller one is the last."""
_LONG = {
    "a": _events(*range(40), mark="a", width=30),
    "b": _events(*range(20, 50), mark="b", width=30),
}
_CUT = {"spark.sql.files.openCostInBytes": "0"}
_AT_ONCE = {"spark.sql.files.minPartitionNum": "1"}
_TAKEN = {
    "one file": _Case(files={"a": _events(*range(20))}),
    "a key again in a file": _Case(files={"a": _events(7, *range(20), 7, 3)}),
    "a key again in another file": _Case(files=_TWO, settings=_AT_ONCE, tasks=1),
    "a key again in another task": _Case(files=_TWO, tasks=2),
    "a file between the halves of another": _Case(
        files=_LONG, settings={**_CUT, "spark.sql.files.minPartitionNum": "2"}, tasks=2
    ),
    "other names": _Case(
        files=_TWO,
        made=lambda frame: frame.selectExpr("amount", "region AS x", "id").withColumnRenamed(
            "x", "region"
        ),
    ),
    "every type": _Case(files={"a": _KINDS}, schema=_KINDS.schema),
    "times of 96 bits": _Case(
        files={"a": _INSTANTS},
        how={"use_deprecated_int96_timestamps": True},
        schema=_INSTANTS.schema,
    ),
    "wider columns": _Case(
        files={"a": _KINDS.select(["id", "small", "single"])},
        schema=pa.schema([("id", pa.int64()), ("small", pa.int64()), ("single", pa.float64())]),
    ),
    "a delete": _Case(
        files={"a": _events(3, 3, 99)}, made=lambda frame: frame.select("id"), mode="delete"
    ),
    "a delete by whole rows": _Case(files={"a": _events(3, 3, 99)}, mode="delete"),
    "an append": _Case(files={"a": _events(50, 51)}, mode="append"),
    "a table that orders": _Case(files=_TWO, properties={"write.ordering-columns": "amount"}),
    "every event": _Case(files=_TWO, properties={"write.changes.keep-all": "true"}),
    "no key": _Case(files=_TWO, mode="append", key=()),
    "no key, anew": _Case(files=_TWO, mode="overwrite", key=()),
    "no key, more tasks": _Case(
        files=_LONG,
        mode="append",
        key=(),
        settings={**_CUT, "spark.sql.files.maxPartitionBytes": "2000"},
        tasks=4,
    ),
    "hidden files": _Case(files={"a": _events(1, 2), "_b": _events(3), ".c": _events(4)}),
    "an option of the listing": _Case(files=_TWO, options={"pathGlobFilter": "b*"}),
}
_TWO_ANEW = _Case(files=_TWO, mode="overwrite")
_BY_ONE = {
    "an overwrite": _TWO_ANEW,
    "an overwrite of many tasks": _Case(
        files=_LONG,
        mode="overwrite",
        properties={"base.file-index.hash-bucket": "4"},
        settings={**_CUT, "spark.sql.files.maxPartitionBytes": "2000"},
    ),
    "an overwrite in rounds": _Case(
        files=_LONG, mode="overwrite", writes={"write.buffer-bytes": "1"}
    ),
    "a column that orders": _Case(files=_TWO, writes={"ordering-column": "amount"}),
    "a column that orders, and ties": _Case(
        files={
            name: rows.set_column(2, "amount", pa.array([1.0] * len(rows)))
            for name, rows in _TWO.items()
        },
        writes={"ordering-column": "amount"},
    ),
    "partitions by the key": _Case(files=_TWO, mode="overwrite", partitions=("bucket(2, id)",)),
    "partitions without a key": _Case(
        files=_TWO, mode="append", key=(), partitions=("truncate(1, region)",)
    ),
}
"""Of a key that several rows have one task must have all."""
_NESTED = pa.table(
    {"id": pa.array([1], pa.int64()), "some": pa.array([[1, 2]], pa.list_(pa.int64()))}
)
_LEGACY = _INSTANTS.replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
_OTHER = {
    "a filter": _Case(files=_TWO, made=lambda frame: frame.where("id <> 4")),
    "a value": _Case(
        files=_TWO, made=lambda frame: frame.withColumn("amount", F.col("amount") + 1)
    ),
    "the file's name": _Case(
        files=_TWO,
        made=lambda frame: frame.withColumn(
            "region", F.regexp_extract(F.input_file_name(), "([^/]*)$", 1)
        ),
    ),
    "another type": _Case(
        files=_TWO, made=lambda frame: frame.withColumn("id", F.col("id").cast("int"))
    ),
    "a column that nests": _Case(files={"a": _NESTED}, schema=_NESTED.schema),
    "times of the old calendar": _Case(files={"a": _LEGACY}, schema=_INSTANTS.schema),
    "files that may be damaged": _Case(
        files=_TWO, settings={"spark.sql.files.ignoreCorruptFiles": "true"}
    ),
    "files that may be missing": _Case(
        files=_TWO, settings={"spark.sql.files.ignoreMissingFiles": "true"}
    ),
    "an option of the reader": _Case(files=_TWO, options={"mergeSchema": "true"}),
    "times of the old calendar, as the reader is told": _Case(
        files={"a": _INSTANTS}, options={"int96RebaseMode": "LEGACY"}, schema=_INSTANTS.schema
    ),
    "values out of paths": _Case(files={"amount=1.5/a": _events(1, 2).drop_columns(["amount"])}),
    "files of two columns": _Case(
        files={"a": _events(1, 2), "b": _events(3, 4).drop_columns(["amount"])}
    ),
    "files of two types": _Case(
        files={"a": _events(1, 2), "b": _events(3).set_column(0, "id", pa.array([3], pa.int32()))}
    ),
}
"""Of frames whose rows stay where they are, too; else nobody asks."""
_SENT = {
    "no adaptive execution": _Case(files=_TWO, settings={"spark.sql.adaptive.enabled": "false"}),
    "many tasks": _Case(
        files=_LONG, settings={**_CUT, "spark.sql.files.maxPartitionBytes": "2000"}
    ),
}


def _frame(case: _Case, lake: Lake, folder: Path) -> DataFrame:
    for name, table in case.files.items():
        path = folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, row_group_size=5, **case.how)
    return case.made(lake.spark.read.options(**case.options).parquet(str(folder)))


def _saved(case: _Case, lake: Lake, frame: DataFrame, *, by_spark: bool) -> list[bool]:
    """Save into a table of some rows; return whether the files were read by its tasks."""
    key = case.key
    lake.create(
        schema=case.schema or SCHEMA,
        primary_key=key,
        partition_by=case.partitions,
        properties=case.properties,
    )
    if case.schema is None:
        lake.put([(3, "old", 0.0), (9, "old", 0.0)], "upsert" if key else "append")
    with _taken(by_spark) as answers, with_settings(lake.spark, case.settings):
        lake.save(frame, case.mode, **case.writes)
    return answers


def _contents(
    lake: Lake, *, has_events: bool = True
) -> tuple[list[str], list[tuple[Any, ...]], list[str]]:
    """Return the rows, what there is of each kind of file, and all events, if there are any."""
    rows = arctic.read(NAME, warehouse=lake.warehouse).read_all().to_pylist()
    files = lake.table().inspect("files")
    counts = files.group_by(["store", "kind", "node_id"]).aggregate([("record_count", "sum")])
    events: list[dict[str, Any]] = []
    if lake.table().primary_key and has_events:
        options = {"start-version": "0"}
        found = arctic.read_changes(NAME, options=options, warehouse=lake.warehouse).read_all()
        names = [each for each in found.schema.names if not each.startswith("_commit")]
        events = found.select(names).to_pylist()
    return (
        sorted(map(repr, rows)),
        sorted(tuple(each.values()) for each in counts.to_pylist()),
        sorted(map(repr, events)),
    )


def _paths(lake: Lake) -> list[str]:
    """Return the files of the newest commit."""
    files = lake.table().inspect("files").to_pylist()
    newest = max(each["sequence_number"] for each in files)
    return [each["path"] for each in files if each["sequence_number"] == newest]


def _both(case: _Case, lake: Lake, folder: Path) -> tuple[list[bool], Lake]:
    other = Lake(spark=lake.spark, warehouse=f"{lake.warehouse}-spark")
    frame = _frame(case, lake, folder)
    answers = _saved(case, lake, frame, by_spark=False)
    _saved(case, other, frame, by_spark=True)
    return answers, other


@pytest.mark.parametrize("name", _TAKEN)
def test_rows_are_those_that_spark_would_bring(lake: Lake, tmp_path: Path, name: str) -> None:
    """The same rows, and the same events in files of the same nodes; and Spark read none."""
    case = _TAKEN[name]
    answers, other = _both(case, lake, tmp_path / "in")

    assert answers == [True]
    assert _contents(lake) == _contents(other)
    tasks = {Path(path).name.split("-")[3] for path in _paths(lake)}
    assert case.tasks in (None, len(tasks))


@pytest.mark.parametrize("name", _BY_ONE)
def test_one_task_writes_what_each_key_needs_one_task_for(
    lake: Lake, tmp_path: Path, name: str
) -> None:
    """The same rows, events and nodes as where Spark sends each row to its task."""
    case = _BY_ONE[name]
    answers, other = _both(case, lake, tmp_path / "in")
    has_events = case.mode != "overwrite"

    assert answers == [True]
    assert _contents(lake, has_events=has_events) == _contents(other, has_events=has_events)
    assert len({Path(path).name.split("-")[3] for path in _paths(lake)}) == 1


def test_sorted_files_of_a_load_are_not_left_to_one_task(lake: Lake, tmp_path: Path) -> None:
    """It would have to hold all rows at once."""
    case = replace(_TWO_ANEW, properties={"self-optimizing.sort-columns": "amount"})
    answers, other = _both(case, lake, tmp_path / "in")

    assert answers == []
    assert lake.arrow_rows() == other.arrow_rows()


@pytest.mark.parametrize("name", _OTHER)
def test_what_spark_reads_otherwise_is_read_by_spark(lake: Lake, tmp_path: Path, name: str) -> None:
    """The rows are those of Spark, and it was asked whether the tasks may read."""
    answers, other = _both(_OTHER[name], lake, tmp_path / "in")

    assert answers == [False]
    assert _contents(lake) == _contents(other)


@pytest.mark.parametrize("name", _SENT)
def test_rows_that_are_sent_elsewhere_are_read_by_spark(
    lake: Lake, tmp_path: Path, name: str
) -> None:
    """Nobody asks whether the tasks may read."""
    answers, other = _both(_SENT[name], lake, tmp_path / "in")

    assert answers == []
    assert _contents(lake)[0] == _contents(other)[0]


_REFUSED = {
    "a null key": _Case(files={"a": _events(1, None, 2)}),
    "a value that does not fit": _Case(
        files={"a": _events(1, 2**40)}, schema=SCHEMA.set(0, pa.field("id", pa.int32()))
    ),
    "a null where there is none": _Case(
        files={"a": _events(1).set_column(1, "region", pa.nulls(1, pa.string()))},
        schema=SCHEMA.set(1, pa.field("region", pa.string(), nullable=False)),
    ),
    "another type": _Case(files={"a": _events(1).set_column(2, "amount", pa.array(["no number"]))}),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_rows_are_refused_in_the_words_of_spark_s_way(
    lake: Lake, tmp_path: Path, name: str
) -> None:
    """The same error, and not a file of the write is left."""
    case, messages = _REFUSED[name], []
    for by_spark in (False, True):
        here = Lake(spark=lake.spark, warehouse=f"{lake.warehouse}-{by_spark}")
        frame = _frame(case, here, tmp_path / "in")
        with pytest.raises(InvalidInputError) as raised:
            _saved(case, here, frame, by_spark=by_spark)
        messages.append(str(raised.value))
        on_disk = len(list(Path(here.warehouse).rglob("*.parquet")))
        assert on_disk == here.count("files")

    assert messages[0] == messages[1]


def test_a_file_that_is_gone_is_an_error(lake: Lake, tmp_path: Path) -> None:
    """It was there when the frame was made; nothing is committed."""
    lake.create()
    frame = _frame(_TAKEN["a key again in another file"], lake, tmp_path / "in")
    (tmp_path / "in" / "a.parquet").unlink()

    with (
        _taken(by_spark=False) as answers,
        pytest.raises((ArcticError, PySparkException, Py4JError)),
    ):
        lake.save(frame, "upsert")

    assert answers == [False]
    assert lake.rows() == []


def test_tables_of_the_session_are_files_too(lake: Lake, tmp_path: Path) -> None:
    """A table of Parquet, and one in buckets."""
    case, spark = replace(_TAKEN["one file"], settings=_AT_ONCE), lake.spark
    frame = _frame(case, lake, tmp_path / "in")
    writes = {
        "whole": frame.write,
        "in_buckets": frame.coalesce(1).write.bucketBy(2, "id").sortBy("id"),
    }
    for name, writer in writes.items():
        writer.format("parquet").option("path", str(tmp_path / name)).saveAsTable(f"given_{name}")
        try:
            here = Lake(spark=spark, warehouse=f"{lake.warehouse}-{name}")
            there = Lake(spark=spark, warehouse=f"{lake.warehouse}-{name}-spark")
            given = spark.table(f"given_{name}")
            assert _saved(case, here, given, by_spark=False) == [True], name
            _saved(case, there, given, by_spark=True)
            assert _contents(here) == _contents(there), name
        finally:
            spark.sql(f"DROP TABLE given_{name}")


def test_very_few_bytes_are_left_to_spark(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has delivered them by the time that a footer is read; and very many are sent elsewhere."""
    frame = _frame(_TAKEN["one file"], lake, tmp_path / "in")
    size = sum(path.stat().st_size for path in (tmp_path / "in").iterdir())

    assert frame_files.scanned_files(frame) is not None
    monkeypatch.setattr(frame_files, "_MOST_SCANNED_BYTES", size - 1)
    assert frame_files.scanned_files(frame) is None
    monkeypatch.undo()
    assert frame_files.scanned_files(frame) is None

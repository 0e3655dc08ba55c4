"""Files with dead rows, read by Spark's own Parquet scan: the same rows as a merge gives."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import IllegalArgumentException, PySparkException
from pyspark.sql import DataFrame

import arctic
from arctic.job.vectors import deletion_vectors
from arctic.job.vectors.vector_work import VectorWork, look_up
from arctic.scan.set_apart import dirty_files
from arctic.spark.base.protocol import Answer, DeadRowsQuestion
from arctic.spark.jvm import driver_planner
from arctic.spark.jvm.driver_planner import DriverPlanner
from tests.spark.lake import NAME, Lake, shown_plan, with_settings
from tests.spark.test_clean_files import PLAIN, SCHEMA, SHAPES, put, result, rows

pytestmark = pytest.mark.spark

VECTORS = {"read.deletion-vector.min-rows": "1"}
MERGE = {"read.deletion-vector.min-rows": "1000000000"}


def assert_alike(lake: Lake, *names: str, by: Mapping[str, str] = VECTORS) -> None:
    """Compare what shapes of queries give with what a merge gives."""
    for name in names:
        answers = []
        for how in (by, MERGE):
            frame = SHAPES[name](lake.load(**how))
            answers.append(result(frame))
            frame.unpersist()
        assert answers[0] == answers[1], name


def reads_by_vectors(frame: DataFrame) -> bool:
    """Say whether rows are left out of Parquet files by their number."""
    return "_arctic_first_row" in shown_plan(frame)


def changed(lake: Lake, *, partition_by: tuple[str, ...] = ()) -> None:
    """Make a table with upserts, deletes and upserts of the same keys again."""
    stable = {"write.upsert.cross-partition": "assume-stable"}
    lake.create(schema=SCHEMA, partition_by=partition_by, properties=stable)
    put(lake, rows(0, 80), "overwrite")
    put(lake, rows(60, 100, factor=2), "upsert")
    put(lake, rows(10, 20, factor=3), "upsert")
    put(lake, rows(15, 65).select(["id", *partition_by]), "delete")
    put(lake, rows(30, 40, factor=4), "upsert")


def test_rows_are_those_of_a_merge(lake: Lake) -> None:
    """Upserts and deletes on top of each other, in every shape of query."""
    changed(lake)
    frame = lake.load(**VECTORS).select(*PLAIN)

    assert reads_by_vectors(frame)
    assert "BatchScan" not in shown_plan(frame)
    assert sorted(row.id for row in frame.collect()) == [
        *range(15),
        *range(30, 40),
        *range(65, 100),
    ]
    assert_alike(lake, *SHAPES)


def test_large_files_are_read_beside_a_merge_of_small_ones(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row comes once, from the file that has it, and those that are gone from neither."""
    changed(lake)
    monkeypatch.setattr(dirty_files, "ROWS_OF_A_FILE", 15)
    monkeypatch.setattr(dirty_files, "ROWS_OF_A_MERGE", 0)
    monkeypatch.setattr(dirty_files, "ROWS_OF_BOTH", 0)
    frame = lake.load().select(*PLAIN)

    assert reads_by_vectors(frame)
    assert "BatchScan" in shown_plan(frame)
    assert_alike(lake, *SHAPES, by={})


def test_rows_are_those_of_a_merge_after_a_minor(lake: Lake) -> None:
    """Base files with position deletes, and change deletes on top of them."""
    changed(lake, partition_by=("region",))
    arctic.optimize(NAME, type="minor", warehouse=lake.warehouse)
    put(lake, rows(0, 5, factor=5), "upsert")

    assert reads_by_vectors(lake.load(**VECTORS).select(*PLAIN))
    assert_alike(lake, "everything", "a nested column", "two conditions", "self-join with filters")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.codegen.wholeStage", "false"),
        ("spark.sql.parquet.enableVectorizedReader", "false"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.adaptive.enabled", "false"),
    ],
)
def test_rows_do_not_depend_on_how_spark_reads(lake: Lake, name: str, value: str) -> None:
    """Row by row or in batches, compiled or not."""
    changed(lake)
    expected = result(lake.load(**MERGE).select(*PLAIN))

    with with_settings(lake.spark, {name: value}):
        frame = lake.load(**VECTORS).select(*PLAIN)
        assert reads_by_vectors(frame)
        assert result(frame) == expected


def test_many_row_groups_and_splits(lake: Lake) -> None:
    """A row's number is that in the file, wherever the reading of the file begins or skips."""
    lake.create(
        schema=SCHEMA,
        properties={"write.parquet.row-group-limit": "100"},
    )
    put(lake, rows(0, 5_000), "overwrite")
    gone = [number for number in range(5_000) if random.Random(number).random() < 0.3]
    put(lake, rows(0, 5_000).filter(pc.is_in(pa.array(range(5_000)), pa.array(gone))), "delete")
    with with_settings(lake.spark, {"spark.sql.files.maxPartitionBytes": "20000"}):
        frame = lake.load(**VECTORS).select("id", "region")
        assert reads_by_vectors(frame)
        every = frame.where("id >= 0")  # without a filter a small file is read whole
        assert every.rdd.getNumPartitions() > 2
        assert sorted(row.id for row in every.collect()) == sorted({*range(5_000)} - {*gone})
        late = frame.where("id >= 4000")
        assert sorted(row.id for row in late.collect()) == sorted({*range(4_000, 5_000)} - {*gone})


def serialized(lake: Lake, sent: Any) -> bytes:
    """Return an object of the JVM as it is sent to executors."""
    jvm: Any = lake.spark._jvm
    written = jvm.java.io.ByteArrayOutputStream()
    stream = jvm.java.io.ObjectOutputStream(written)
    stream.writeObject(sent)
    stream.flush()
    return bytes(written.toByteArray())


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"spark.sql.codegen.wholeStage": "false"},
        {"spark.sql.parquet.enableVectorizedReader": "false"},
        {"spark.sql.codegen.maxFields": "1"},
    ],
    ids=str,
)
def test_tasks_are_sent_no_dead_rows(lake: Lake, settings: dict[str, str]) -> None:
    """They fetch them; of classes they are sent Spark's own alone, which executors have."""
    lake.create(schema=SCHEMA, properties={"base.file-index.hash-bucket": "4"})
    put(lake, rows(0, 4_000), "overwrite")
    put(lake, rows(0, 2_000), "delete")
    with with_settings(lake.spark, settings):
        plan: Any = lake.load(**VECTORS).select("id", "region")._jdf.queryExecution().toRdd()
        assert plan.count() == 2_000
        task = serialized(lake, plan)

    assert b"TorrentBroadcast" in task
    assert b"\xff" * 40 not in task
    assert re.search(rb"[sr]r..arctic\.spark\.", task, re.DOTALL) is None  # a class of ours
    for partition in plan.partitions():
        assert b"\xff" * 40 not in serialized(lake, partition)


@pytest.mark.parametrize("columns", [99, 101, 400])
def test_tables_of_more_columns_than_spark_reads_in_batches(lake: Lake, columns: int) -> None:
    """There a task looks the dead rows up for each row."""
    fields = [pa.field("id", pa.int64()), *(pa.field(f"c{n}", pa.int64()) for n in range(columns))]
    schema = pa.schema(fields)
    lake.create(schema=schema)

    def some(low: int, high: int, value: int) -> pa.Table:
        ids = pa.array(range(low, high), pa.int64())
        return pa.table([ids, *[pa.array([value] * (high - low), pa.int64())] * columns], schema)

    put(lake, some(0, 2_000, 1), "overwrite")
    put(lake, some(500, 1_500, 2), "upsert")
    put(lake, some(0, 100, 3), "delete")
    frame = lake.load(**VECTORS)

    assert reads_by_vectors(frame)
    found = sorted((row.id, row[f"c{columns - 1}"]) for row in frame.collect())
    assert found == [(n, 2 if 500 <= n < 1_500 else 1) for n in range(100, 2_000)]
    few = lake.load(**VECTORS).where("exists(array(c0, c1), x -> x = 2)").select("id")
    assert sorted(row.id for row in few.collect()) == [*range(500, 1_500)]


def test_a_frame_that_is_kept_finds_the_dead_rows_of_its_time(lake: Lake) -> None:
    """Cached, run again, after Spark has collected what nobody refers to."""
    changed(lake)
    frame = lake.load(**VECTORS).select("id", "amount")
    expected = result(frame)
    kept = frame.cache()
    again = lake.load(**VECTORS).select("id", "amount").rdd
    assert again.count() == len(expected)
    put(lake, rows(0, 100), "delete")
    jvm: Any = lake.spark._jvm
    for _ in range(3):
        jvm.java.lang.System.gc()
    assert again.count() == len(expected)
    assert result(kept) == expected
    kept.unpersist()
    assert result(lake.load(**VECTORS).select("id", "amount")) == []


def test_dead_rows_are_asked_for_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one state, whatever columns queries want; of the next one anew, of the first not again."""
    changed(lake)
    asked: list[object] = []
    really = driver_planner.DriverPlanner._dead_rows

    def counted(planner: DriverPlanner, question: DeadRowsQuestion) -> Answer:
        asked.append(question)
        return really(planner, question)

    monkeypatch.setattr(driver_planner.DriverPlanner, "_dead_rows", counted)
    first = str(lake.table().inspect("snapshots")["snapshot_id"][-1].as_py())
    for columns in (["id"], ["id", "amount"], ["region"]):
        assert_same_rows(lake, *columns)
    assert len(asked) == 1
    put(lake, rows(0, 3, factor=9), "upsert")
    put(lake, rows(90, 95).select(["id"]), "delete")
    assert_same_rows(lake, "id")
    assert len(asked) == 2
    assert_same_rows(lake, "id", "amount", **{"snapshot-id": first})
    assert len(asked) == 2


def assert_same_rows(lake: Lake, *columns: str, **options: str) -> None:
    """Compare with what a merge gives."""
    frame = lake.load(**VECTORS, **options).select(*columns)
    assert reads_by_vectors(frame)
    assert result(frame) == result(lake.load(**MERGE, **options).select(*columns))


def test_only_new_deletes_are_looked_up(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who comes back after an upsert pays for the upsert; without one, for nothing."""
    changed(lake)
    looked_up: list[int] = []

    def counted(work: VectorWork) -> object:
        looked_up.append(sum(len(task.change_deletes) for task in work.tasks))
        return look_up(work)

    monkeypatch.setattr(deletion_vectors, "look_up", counted)
    frame = lake.load(**VECTORS).select("id", "amount")
    before = result(frame)
    assert sum(looked_up) > 0
    looked_up.clear()
    assert result(lake.load(**VECTORS).select("id", "amount")) == before
    assert looked_up == []

    put(lake, rows(3, 4, factor=9), "upsert")

    assert result(lake.load(**VECTORS).select("id", "amount")) != before
    assert result(lake.load(**VECTORS).select("id", "amount")) == result(
        lake.load(**MERGE).select("id", "amount")
    )
    assert 1 <= sum(looked_up) <= 2


def test_an_older_snapshot_has_the_dead_rows_of_its_time(lake: Lake) -> None:
    """What was found out for more deletes than there were is not used."""
    lake.create(schema=SCHEMA)
    put(lake, rows(0, 50), "overwrite")
    put(lake, rows(0, 10, factor=2), "upsert")
    snapshots = lake.table().inspect("snapshots")
    newest = max(snapshots.to_pylist(), key=lambda row: row["committed_at"])["snapshot_id"]
    put(lake, rows(5, 30).select(["id"]), "delete")

    assert lake.load(**VECTORS).select("id").count() == 25
    then = lake.load(**VECTORS, **{"snapshot-id": str(newest)}).select("id")
    assert reads_by_vectors(then)
    assert then.count() == 50
    assert lake.load(**VECTORS).select("id").count() == 25


def test_lookups_and_a_few_rows_are_merged(lake: Lake) -> None:
    """To look up the keys of whole files would cost more."""
    changed(lake)

    assert not reads_by_vectors(lake.load(**MERGE).select("id"))
    assert not reads_by_vectors(lake.load(**VECTORS).select("id").where("id = 7"))
    assert not reads_by_vectors(lake.load(**VECTORS).select("id").limit(3))
    assert reads_by_vectors(lake.load(**VECTORS).select("id").where("region = 'a b'"))


def test_a_small_table_with_few_changes_needs_no_python(lake: Lake) -> None:
    """Nobody has to ask for it, and the rows are those of a merge."""
    lake.create(schema=SCHEMA)
    put(lake, rows(0, 80), "overwrite")
    put(lake, rows(60, 100, factor=2), "upsert")

    frame = lake.load().select("id", "amount")
    assert reads_by_vectors(frame)
    assert "BatchScan" not in shown_plan(frame)
    assert result(frame) == result(lake.load(**MERGE).select("id", "amount"))


def test_explaining_looks_nothing_up(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a query that runs needs to know its dead rows."""
    changed(lake)

    def refuse(work: object) -> object:
        raise AssertionError(work)

    monkeypatch.setattr(deletion_vectors, "look_up", refuse)

    lake.load(**VECTORS).select("id").explain()


def _damage(files: list[Path]) -> None:
    for path in files:
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])


def test_a_corrupt_delete_file_fails_the_query(lake: Lake) -> None:
    """With the words of a merge: the file, and what was expected."""
    changed(lake)
    _damage([path for path in Path(lake.warehouse).rglob("*.parquet") if "-ED-" in path.name])

    with pytest.raises(IllegalArgumentException, match=r"FormatError: file '.*-ED-.*'"):
        lake.load(**VECTORS).select("id").collect()


def test_a_file_with_other_rows_than_listed_fails_the_query(lake: Lake) -> None:
    """Its numbers would be those of the next file."""
    changed(lake)
    for path in Path(lake.warehouse).rglob("*.parquet"):
        if "-B-" in path.name:
            table = pq.read_table(path)
            pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)

    with pytest.raises(IllegalArgumentException, match="by its manifest; expected a whole"):
        lake.load(**VECTORS).select("id").collect()


def test_columns_of_the_names_that_are_used_inside_are_merged(lake: Lake) -> None:
    """Spark would take one for the other."""
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("_Arctic_first_row", pa.int64())])
    lake.create(schema=schema)
    put(lake, pa.table([[1, 2, 3], [4, 5, 6]], schema=schema), "overwrite")
    put(lake, pa.table([[2], [7]], schema=schema), "upsert")

    frame = lake.load(**VECTORS)

    assert sorted(map(tuple, frame.collect())) == [(1, 4), (2, 7), (3, 6)]


def test_columns_of_these_names_that_are_not_asked_for_are_not_read(lake: Lake) -> None:
    """Spark would take the numbers of rows from the file."""
    names = ["id", "v", "_tmp_metadata_row_index"]
    schema = pa.schema([pa.field(name, pa.int64()) for name in names])
    lake.create(schema=schema)
    put(lake, pa.table([[1, 2, 3], [4, 5, 6], [2, 2, 2]], schema=schema), "overwrite")
    put(lake, pa.table([[2], [7], [0]], schema=schema), "upsert")

    frame = lake.load(columns="id,v", **VECTORS)
    arctic.evolve_schema(NAME, drop=["_tmp_metadata_row_index"], warehouse=lake.warehouse)
    without = lake.load(**VECTORS)

    assert sorted(map(tuple, frame.collect())) == [(1, 4), (2, 7), (3, 6)]
    assert sorted(map(tuple, without.collect())) == [(1, 4), (2, 7), (3, 6)]


def test_a_file_of_another_length_than_listed_fails_the_query(lake: Lake) -> None:
    """Spark leaves out what lies beyond the end that it was told of."""
    changed(lake)
    for path in Path(lake.warehouse).rglob("*.parquet"):
        if "-B-" in path.name or "-I-" in path.name:
            table = pq.read_table(path)
            pq.write_table(table, path, row_group_size=7, compression="none")

    for how in (VECTORS, MERGE):
        with pytest.raises(PySparkException, match="by its manifest; expected a whole"):
            lake.load(**how).select("id").collect()


def test_a_missing_file_fails_the_query(lake: Lake) -> None:
    """By its name, before a task begins."""
    lake.create(schema=SCHEMA)
    put(lake, rows(0, 10), "overwrite")
    frame = lake.load().select("id")
    path = next(path for path in Path(lake.warehouse).rglob("*.parquet") if "-B-" in path.name)
    path.unlink()

    with pytest.raises(IllegalArgumentException, match=f"cannot read file '.*{path.name}'"):
        frame.collect()


CALLS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "higher-order functions": lambda t: t.selectExpr(
        "transform(split(region, ' '), x -> upper(x))"
    ),
    "a filter with one": lambda t: t.where("exists(split(region, ' '), x -> x = 'b')").select("id"),
    "a query of a query": lambda t: t.where("id in (select 17)").select("id"),
    "a left join": lambda t: t.alias("x").join(t.alias("y"), "id", "left").select("x.id"),
    "a window": lambda t: t.selectExpr("id", "row_number() over (partition by region order by id)"),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_that_spark_does_not_compile(lake: Lake, name: str) -> None:
    """The filter on row numbers stands below them."""
    changed(lake)

    assert result(CALLS[name](lake.load(**VECTORS))) == result(CALLS[name](lake.load(**MERGE)))

"""Where the rows of a save are written: by the tasks that have them, or by those that own keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.write_job import begin_write
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.write.narrow_input import is_narrow
from arctic.spark.write.sampled_shares import sampled_shares
from arctic.spark.write.spread import SpreadRows, spread_rows
from tests.spark.lake import NAME, SCHEMA, Lake, shown_plan

pytestmark = pytest.mark.spark


def _few(lake: Lake, folder: Path, *files: list[tuple[Any, ...]]) -> DataFrame:
    """Return the rows of Parquet files, each read by a task of its own."""
    folder.mkdir()
    for number, rows in enumerate(files):
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        pq.write_table(pa.table(columns, schema=SCHEMA), folder / f"{number}.parquet")
    whole = {"spark.sql.files.minPartitionNum": str(len(files))}
    with _set(lake, {**whole, "spark.sql.files.openCostInBytes": "4g"}):
        frame = lake.spark.read.parquet(str(folder))
        assert frame.rdd.getNumPartitions() == len(files)
    return frame


@contextmanager
def _set(lake: Lake, settings: dict[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        lake.spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            lake.spark.conf.unset(name)


def _spread(lake: Lake, frame: DataFrame, mode: str, **options: str) -> SpreadRows:
    """Return where a save would write the rows."""
    given = {"path": NAME, "warehouse": lake.warehouse, **options}
    if mode != "overwrite":
        given["write-mode"] = mode
    job = begin_write(
        AskedWrite.of(given, overwrite=mode == "overwrite"), arrow_schema(frame.schema)
    )
    spread = spread_rows(frame, job)
    assert (spread.frame is frame) == (not spread.told)
    return spread


def _stays(lake: Lake, frame: DataFrame, mode: str = "upsert", **options: str) -> bool:
    """Say whether a save would leave the rows where they are."""
    return _spread(lake, frame, mode, **options).frame is frame


def _range(lake: Lake, tasks: int, rows: int = 3000) -> DataFrame:
    return lake.spark.range(0, rows, 1, tasks).selectExpr(
        "id % 100 AS id", "'eu' AS region", "CAST(id AS double) AS amount"
    )


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_the_last_row_of_the_frame_wins_however_many_tasks_have_it(lake: Lake, tasks: int) -> None:
    """Two tasks write each key here, a third makes the rows go to the tasks that own them."""
    lake.create()
    lake.put([(5, "old", 0.0), (500, "old", 0.0)])
    lake.save(_range(lake, tasks), "upsert")

    expected = [(key, "eu", 2900.0 + key) for key in range(100)]
    assert lake.rows() == [*expected, (500, "old", 0.0)]
    assert lake.arrow_rows() == lake.rows()
    lake.save(_range(lake, tasks, rows=90), "delete")
    assert lake.arrow_rows() == [*expected[90:], (500, "old", 0.0)]


def test_few_rows_of_few_tasks_stay_where_they_are(lake: Lake, tmp_path: Path) -> None:
    """As long as the write is right whichever task has a key."""
    lake.create()
    frame = _range(lake, 2)

    assert [_stays(lake, frame, mode) for mode in ("upsert", "delete", "append")] == [True] * 3
    assert not _stays(lake, frame, "overwrite")
    assert not _stays(lake, frame, **{"ordering-column": "amount"})
    assert not _stays(lake, frame, **{"action-column": "region"})
    assert not _stays(lake, frame, **{"max-write-tasks": "1"})
    assert not _stays(lake, frame, **{"stream-query-id": "q", "stream-batch-id": "0"})
    assert not _stays(lake, _range(lake, 3))
    assert not _stays(lake, frame.repartition(2))
    assert not _stays(lake, frame.distinct())
    assert not _stays(lake, _range(lake, 2, rows=100_000_000))
    assert not _stays(lake, lake.frame([(1, "eu", 1.0)]))  # Spark does not know how many.


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_an_overwrite_has_the_last_row_of_each_key_however_many_tasks_have_it(
    lake: Lake, tasks: int
) -> None:
    """One task writes the rows of two; those of three go to the tasks that own their keys."""
    lake.create()
    lake.put([(500, "old", 0.0)])

    lake.save(_range(lake, tasks), "overwrite")

    assert lake.arrow_rows() == [(key, "eu", 2900.0 + key) for key in range(100)]
    assert lake.rows() == lake.arrow_rows()


def test_keys_of_any_collation_are_told_apart_by_their_bytes(lake: Lake) -> None:
    """Their order in Spark is another, and some are equal there."""
    lake.create(primary_key=["region"])
    rows = [(1, "a", 0.0), (2, "B", 0.0), (3, "A", 0.0), (4, "b", 0.0)]

    lake.save(_collated(lake.frame(rows).repartition(3)), "overwrite")

    assert lake.arrow_rows() == rows


def test_the_last_text_of_any_collation_is_that_of_the_greatest_bytes(lake: Lake) -> None:
    """In Spark it is another one."""
    lake.create()
    frame = lake.frame([(7, "a", 0.0), (7, "B", 0.0)]).repartition(3)

    lake.save(_collated(frame), "append", **{"ordering-column": "region", "write-mode": "upsert"})

    assert lake.arrow_rows() == [(7, "a", 0.0)]


def _collated(frame: DataFrame) -> DataFrame:
    return frame.withColumn("region", F.collate("region", "UTF8_LCASE"))


def test_very_few_rows_whose_keys_need_one_task_have_one_in_all(lake: Lake) -> None:
    """Nothing is exchanged then; their order is that of the frame."""
    lake.create()
    few = _spread(lake, _range(lake, 2), "overwrite").frame
    more = _spread(lake, _range(lake, 2, rows=1_000_000), "overwrite").frame

    assert "Exchange" not in shown_plan(few)
    assert [row.amount for row in few.where("id = 7").collect()] == [
        7.0 + 100 * number for number in range(30)
    ]
    assert "Exchange" in shown_plan(more)
    assert "Exchange" in shown_plan(_spread(lake, _range(lake, 3), "overwrite").frame)
    grown = lake.spark.range(0, 9, 1, 1).selectExpr(
        "explode(sequence(1, 9)) AS id", "'eu' AS region", "0D AS amount"
    )
    assert "Exchange" in shown_plan(_spread(lake, grown, "overwrite").frame)


def test_a_frame_that_was_saved_reads_later_commits(lake: Lake) -> None:
    """To look at its plan does not keep it for the user's own queries."""
    lake.create()
    lake.put([(1, "a", 1.0)])
    frame = lake.load().selectExpr("id + 1 AS id", "region", "amount")

    for _ in range(4):
        lake.save(frame, "upsert")

    assert sorted(row.id for row in frame.collect()) == [2, 3, 4, 5, 6]


def test_rows_stay_only_where_adaptive_execution_shows_an_exchange(lake: Lake) -> None:
    """Without it, a look at the plan does not tell whether one is in it."""
    with _set(lake, {"spark.sql.adaptive.enabled": "false"}):
        lake.create()
        assert not _stays(lake, _range(lake, 2))
        lake.save(_range(lake, 2), "upsert")

    assert lake.arrow_rows() == [(key, "eu", 2900.0 + key) for key in range(100)]


def test_rows_whose_keys_move_are_sent_to_the_tasks_that_own_them(lake: Lake) -> None:
    """Each task searches the table for its keys, so no two of them may have one."""
    lake.create(partition_by=["region"])

    assert not _stays(lake, _range(lake, 2))
    assert not _stays(lake, _range(lake, 2), "delete")


def test_partitions_that_the_key_decides_leave_rows_where_they_are(lake: Lake) -> None:
    """Each task writes to every partition it has rows for."""
    lake.create(primary_key=["id", "region"], partition_by=["region"])
    frame = lake.spark.range(0, 400, 1, 2).selectExpr(
        "id % 100 AS id", "if(id % 2 = 0, 'eu', 'us') AS region", "CAST(id AS double) AS amount"
    )
    assert _stays(lake, frame)
    lake.save(frame, "upsert")

    expected = [(key, "eu" if key % 2 == 0 else "us", 300.0 + key) for key in range(100)]
    assert lake.arrow_rows() == expected


def test_a_save_from_files_writes_them_where_they_are_read(lake: Lake, tmp_path: Path) -> None:
    """Also where a file is empty; no row is lost or doubled."""
    lake.create()
    frame = _few(lake, tmp_path / "in", [(1, "a", 1.0), (2, "b", 2.0)], [(2, "c", 3.0)])
    lake.save(frame, "upsert")
    lake.save(_few(lake, tmp_path / "more", [], [(3, "d", 4.0)]), "upsert")

    assert [row[0] for row in lake.arrow_rows()] == [1, 2, 3]
    assert lake.arrow_rows() == lake.rows()


def test_a_frame_that_cannot_be_planned_is_not_narrow(lake: Lake) -> None:
    """Whoever asks for its rows is told why."""
    frame = lake.spark.range(1).selectExpr("raise_error('no') AS id")
    broken = lake.spark.range(1).selectExpr("1 / 0 AS id")

    assert not is_narrow(frame, most_tasks=0, most_bytes=1 << 20)
    with _set(lake, {"spark.sql.ansi.enabled": "true"}):
        assert isinstance(is_narrow(broken, most_tasks=2, most_bytes=1 << 20), bool)


def _most_of_a_task(lake: Lake, known: set[str]) -> int:
    """Return the most rows that a task has written since the files that are known."""
    rows = Counter[str]()
    for file in lake.load(f"{NAME}.files").collect():
        if file["kind"] in ("B", "I") and file["path"] not in known:
            known.add(file["path"])
            rows[Path(file["path"]).name.split("-")[3]] += file["record_count"]
    return max(rows.values())


@pytest.mark.parametrize("key", [("id", "region"), ()], ids=["key", "no key"])
def test_a_partition_that_was_hot_is_written_by_several_tasks(
    lake: Lake, key: tuple[str, ...]
) -> None:
    """As the newest commits of the table tell; the last row of a key still wins."""
    one_node = {"change.file-index.hash-bucket": "1"} if key else None
    lake.create(primary_key=key, partition_by=["region"], properties=one_node)
    times = 2 if key else 1
    frame = lake.spark.range(0, 4000 * times, 1, 4).selectExpr(
        "id % 4000 AS id",
        "IF(id % 5 > 0, 'eu', CONCAT('r', id % 4000 % 3)) AS region",
        "CAST(id AS double) AS amount",
    )
    largest, known = [], set[str]()
    with _set(lake, {"spark.sql.shuffle.partitions": "8"}):
        for _ in range(2):
            lake.save(frame, "upsert" if key else "append")
            largest.append(_most_of_a_task(lake, known))
    last = 4000.0 * (times - 1)
    expected = [(n, "eu" if n % 5 else f"r{n % 3}", n + last) for n in range(4000)]

    assert largest[0] >= 3200
    assert largest[1] <= 1700
    assert lake.rows() == sorted(expected if key else expected * 2)


@pytest.mark.parametrize("key", [("id", "region"), ()], ids=["key", "no key"])
def test_a_partition_that_is_hot_in_a_first_save_is_written_by_several_tasks(
    lake: Lake, key: tuple[str, ...]
) -> None:
    """A sample of the rows tells; of an overwrite that costs more to read, the one before it."""
    one_node = {f"{store}.file-index.hash-bucket": "1" for store in ("base", "change")}
    lake.create(primary_key=key, partition_by=["region"], properties=one_node if key else None)
    count = 240_000
    frame = lake.spark.range(0, count, 1, 4).selectExpr(
        "id", "IF(id % 5 > 0, 'eu', CONCAT('r', id % 3)) AS region", "CAST(id AS double) AS amount"
    )
    saves = [(frame, "upsert" if key else "append"), (frame, "overwrite")]
    known = set[str]()
    with _set(lake, {"spark.sql.shuffle.partitions": "8"}):
        for rows, mode in [*saves, (frame.repartition(3), "overwrite")]:
            lake.save(rows, mode)
            assert _most_of_a_task(lake, known) <= 0.3 * count
            told = lake.load().selectExpr("count(*)", "sum(id)", "max(id)").first()
            assert told == (count, count * (count - 1) // 2, count - 1)


def test_a_sample_is_taken_only_where_it_costs_little(lake: Lake, tmp_path: Path) -> None:
    """Of the columns alone that decide the partition; nothing is known of other frames."""
    lake.create(primary_key=(), partition_by=["region"])
    given = {"path": NAME, "warehouse": lake.warehouse, "write-mode": "append"}
    job = begin_write(AskedWrite.of(given), arrow_schema(_range(lake, 1).schema))
    large = lake.spark.range(0, 400_000, 1, 2).selectExpr(
        "id", "IF(id % 5 > 0, 'eu', 'us') AS region", "CAST(xxhash64(id) AS double) AS amount"
    )
    large.write.parquet(str(tmp_path / "in"))
    exchanged = large.repartition(3)
    noted = large.withColumn("region", F.udf(lambda value: value)("region"))

    def shares(frame: DataFrame, task_count: int = 4) -> dict[str, float] | None:
        found = sampled_shares(frame, job.target, task_count=task_count)
        return None if found is None else {path: round(n, 1) for path, n in found.shares.items()}

    expected = {"region=eu": 0.8, "region=us": 0.2}
    kept = exchanged.persist()
    files = lake.spark.read.parquet(str(tmp_path / "in"))
    assert [shares(each) for each in (large, files, kept)] == [expected] * 3
    kept.unpersist()
    # Divided among so many tasks, a partition would be tiny files.
    assert shares(large, task_count=200) is None
    assert [shares(each) for each in (_range(lake, 3), exchanged, noted)] == [None] * 3
    # What is computed in Python is not looked at where it is of another column.
    amount = F.udf(lambda value: value, "double")("amount")
    assert shares(large.withColumn("amount", amount)) == expected
    with _set(lake, {"spark.sql.adaptive.enabled": "false"}):
        assert shares(exchanged) is None

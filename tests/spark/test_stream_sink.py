"""Streams into tables through Spark."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import arctic
from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.commits.lease import Lease
from arctic.iceberg.commits.service_mark import mark_namespaces, unmark_namespaces
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.write_job import begin_write
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.source import ArcticDataSource
from arctic.spark.stream.stream_sink import StreamSink
from arctic.spark.write.spread import spread_rows
from arctic.table.hot_partitions import PartitionShares
from tests.spark.lake import NAME, SCHEMA, Lake
from tests.spark.stream_input import FIELDS, Row, Source

pytestmark = pytest.mark.spark


def test_an_append_stream_adds_every_row_once(lake: Lake, source: Source) -> None:
    """Batch by batch, and again after a restart."""
    lake.create()
    source.put((1, "eu", 1.0), (2, "us", 2.0))
    source.put((3, "eu", 3.0))
    first = source.drain(lake)
    source.put((4, "us", 4.0))
    second = source.drain(lake)

    assert lake.arrow_rows() == [
        (1, "eu", 1.0), (2, "us", 2.0), (3, "eu", 3.0), (4, "us", 4.0),
    ]  # fmt: skip
    assert first == second
    assert lake.count("snapshots") == 3


def test_an_upsert_stream_keeps_the_last_row_of_each_key(lake: Lake, source: Source) -> None:
    """As the same upserts one after another."""
    lake.create()
    source.put((1, "eu", 1.0), (2, "us", 2.0))
    source.put((1, "eu", 10.0), (3, "us", 3.0))
    source.drain(lake, **{"write-mode": "upsert"})

    assert lake.arrow_rows() == [(1, "eu", 10.0), (2, "us", 2.0), (3, "us", 3.0)]


def test_a_delete_stream_removes_keys(lake: Lake, source: Source) -> None:
    """The other columns do not matter."""
    lake.create()
    lake.put([(1, "eu", 1.0), (2, "us", 2.0)])
    source.put((1, "", 0.0))
    source.drain(lake, **{"write-mode": "delete"})

    assert lake.arrow_rows() == [(2, "us", 2.0)]


def test_a_stream_of_changes_is_replayed(lake: Lake, source: Source) -> None:
    """With an action column and an ordering column, as in a batch."""
    lake.create()
    source.put((1, "eu", 1.0), (2, "eu", 2.0))
    source.put((1, "eu", -1.0), (2, "eu", 20.0))
    changes = source.frame().withColumn("op", F.expr("if(amount < 0, 'D', 'U')"))
    source.drain(lake, changes, **{"write-mode": "upsert", "action-column": "op"})

    assert lake.arrow_rows() == [(2, "eu", 20.0)]


def test_an_unkeyed_table_takes_a_stream(lake: Lake, source: Source) -> None:
    """Its rows go to the base store, which then remembers the batch."""
    lake.create(primary_key=(), partition_by=["region"])
    source.put((1, "eu", 1.0), (1, "eu", 1.0))
    source.drain(lake)
    source.forget_last_commit()
    source.drain(lake)

    assert lake.arrow_rows() == [(1, "eu", 1.0), (1, "eu", 1.0)]


def test_updated_aggregates_are_upserts(lake: Lake, source: Source) -> None:
    """Each batch holds the groups that changed."""
    arctic.create_table(
        NAME,
        pa.schema([("region", pa.string()), ("total", pa.float64())]),
        primary_key=["region"],
        warehouse=lake.warehouse,
    )
    source.put((1, "eu", 1.0), (2, "us", 2.0))
    source.put((3, "eu", 10.0))
    totals = source.frame().groupBy("region").agg(F.sum("amount").alias("total"))
    source.drain(lake, totals, mode="update")

    assert lake.arrow_rows() == [("eu", 11.0), ("us", 2.0)]


def test_a_replayed_batch_is_recognised_after_expiry(lake: Lake, source: Source) -> None:
    """With other writers in between, and every snapshot that told of the batch gone."""
    lake.create()
    source.put((1, "eu", 1.0))
    source.drain(lake)
    lake.put([(9, "eu", 9.0)])
    arctic.optimize(NAME, type="full", warehouse=lake.warehouse)
    now = {"snapshot.keep.duration": "0", "change.data.ttl.minutes": "0"}
    arctic.expire(NAME, options=now, warehouse=lake.warehouse)
    snapshots = lake.count("snapshots")
    source.forget_last_commit()
    source.put((2, "eu", 2.0))
    source.drain(lake)

    assert lake.arrow_rows() == [(1, "eu", 1.0), (2, "eu", 2.0), (9, "eu", 9.0)]
    assert lake.count("snapshots") == snapshots + 1


def test_two_streams_into_one_table_do_not_know_each_other(
    lake: Lake, spark: SparkSession, tmp_path: Path
) -> None:
    """Both have a batch 0."""
    lake.create()
    sources = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        sources.append(Source(spark, folder))
        sources[-1].put((number, "eu", float(number)))
    ids = {each.drain(lake) for each in sources}

    assert len(ids) == 2
    assert lake.arrow_rows() == [(0, "eu", 0.0), (1, "eu", 1.0)]


def test_an_empty_batch_commits_nothing(lake: Lake, source: Source) -> None:
    """And does not disturb the ones around it."""
    lake.create()
    source.put((1, "eu", 1.0))
    source.put()
    source.put((2, "eu", 2.0))
    source.drain(lake)
    source.put()
    source.drain(lake)
    source.forget_last_commit()
    source.drain(lake)

    assert lake.arrow_rows() == [(1, "eu", 1.0), (2, "eu", 2.0)]
    assert lake.count("snapshots") == 2


def test_a_stream_creates_its_table(lake: Lake, source: Source) -> None:
    """As a batch write does, when it starts; its progress names the table."""
    source.put((1, "eu", 1.0))
    writer = source.frame().writeStream.format("arctic").partitionBy("region")
    writer = writer.options(**source.options(lake, primaryKey="id, region"))
    query = writer.trigger(availableNow=True).toTable(NAME)
    query.awaitTermination()
    table = lake.table()

    assert [each["sink"]["description"] for each in query.recentProgress] == [f"arctic {NAME}"]
    assert (table.primary_key, table.partition_by) == (("id", "region"), ("region",))
    assert lake.arrow_rows() == [(1, "eu", 1.0)]


def test_each_node_gets_one_file(lake: Lake, source: Source) -> None:
    """The rows of a batch are spread as those of a save."""
    lake.create()
    source.put(*((number, "eu", 1.0) for number in range(100)))
    source.drain(lake)

    assert lake.count("files") == 4


def test_the_number_of_tasks_can_be_bounded(lake: Lake, source: Source) -> None:
    """Where nothing else decides how many files a batch makes."""
    lake.create(primary_key=())
    source.put((1, "eu", 1.0), (2, "eu", 2.0))
    source.drain(lake, source.frame().repartition(4), **{"max-write-tasks": "1"})

    assert lake.count("files") == 1


@pytest.mark.parametrize("keyed", [True, False])
def test_a_hot_partition_is_divided_once_it_is_known(
    lake: Lake, source: Source, keyed: bool
) -> None:
    """By deeper nodes where there is a key; what was learnt is kept beside the checkpoint."""
    lake.create(
        primary_key=("id", "region") if keyed else (),
        partition_by=["region"],
        properties={"change.file-index.hash-bucket": "1", "base.file-index.hash-bucket": "1"},
    )
    rows = [(number, "hot" if number % 10 else "cold", 1.0) for number in range(200)]
    source.put(*rows)
    source.drain(lake)
    learnt = Path(source.checkpoint) / "arctic" / "partition-shares.json"
    assert json.loads(learnt.read_text()) == {"region=hot": 0.9, "region=cold": 0.1}
    source.put(*((number, region, 2.0) for number, region, _ in rows))
    source.drain(lake, **({"write-mode": "upsert"} if keyed else {}))
    files = lake.table().inspect("files").to_pylist()

    hot = [file for file in files if file["kind"] in "IB" and file["partition"] == "region=hot"]
    assert sorted(file["mask"] for file in hot) == ([0, 3, 3, 3, 3] if keyed else [0] * 5)
    values = (2.0,) if keyed else (1.0, 2.0)
    expected = sorted((id_, region, value) for id_, region, _ in rows for value in values)
    assert lake.arrow_rows() == expected
    arctic.optimize(NAME, type="full", warehouse=lake.warehouse)
    assert lake.arrow_rows() == expected


def test_rows_without_a_key_go_to_the_same_tasks_in_any_order(lake: Lake) -> None:
    """A stage that Spark runs again may see them in another one; maps take no part."""
    schema = SCHEMA.append(pa.field("tags", pa.map_(pa.string(), pa.string())))
    lake.create(schema=schema, primary_key=(), partition_by=["region"])
    rows = [(number, "hot", number / 2, {"a": "b"}) for number in range(100)]
    options = {"path": NAME, "warehouse": lake.warehouse, "write-mode": "append"}
    options["max-write-tasks"] = "4"
    shares = PartitionShares(shares={"region=hot": 1.0})
    task_of = []
    for given in (rows, rows[::-1]):
        frame = lake.frame(given, f"{FIELDS}, tags map<string, string>").coalesce(1)
        job = begin_write(AskedWrite.of(options), arrow_schema(frame.schema))
        spread = spread_rows(frame, job, shares=shares)
        task_of.append({row["id"]: row["_arctic_task"] for row in spread.frame.collect()})

    assert task_of[0] == task_of[1]
    assert len(set(task_of[0].values())) == 4


def test_a_stream_optimizes_after_so_many_batches(lake: Lake, source: Source) -> None:
    """Counted from when it was started."""
    lake.create(
        properties={
            "self-optimizing.minor.trigger.file-count": "1",
            "self-optimizing.min-plan-interval": "-1",
        }
    )
    for number in range(3):
        source.put(*((number * 100 + key, "eu", 1.0) for key in range(20)))
    source.drain(lake, optimize="auto", **{"optimize-every-batches": "2"})
    stores = lake.table().inspect("snapshots")["store"].to_pylist()

    assert stores == ["base", "change", "change", "change"]


def test_a_stream_leaves_optimizing_to_a_service_as_long_as_there_is_one(
    lake: Lake, source: Source
) -> None:
    """None of its batches waits for a run, and the next does when the service has ended."""
    lake.create(
        properties={
            "self-optimizing.minor.trigger.file-count": "1",
            "self-optimizing.min-plan-interval": "-1",
        }
    )
    config = CatalogConfig.from_options({"warehouse": lake.warehouse})
    each_batch = {"optimize": "auto", "optimize-every-batches": "1"}
    mark = Lease(owner="service-1", until_ms=time.time_ns() // 1_000_000 + 600_000)
    mark_namespaces(config, ["default"], mark)
    rows = [(key, "eu", 1.0) for key in range(60)]
    source.put(*rows[:20])
    source.put(*rows[20:40])
    source.drain(lake, **each_batch)
    assert lake.table().inspect("snapshots")["store"].to_pylist() == ["change"] * 2

    unmark_namespaces(config, ["default"], mark.owner)
    source.put(*rows[40:])
    source.drain(lake, **each_batch)

    assert lake.table().inspect("snapshots")["store"].to_pylist().count("base") == 1
    assert lake.arrow_rows() == rows


@pytest.mark.parametrize(
    ("mode", "options", "message"),
    [
        pytest.param("append", {"checkpointLocation": ""}, "checkpointLocation", id="checkpoint"),
        pytest.param("append", {"write-mode": "overwrite"}, "append, upsert", id="overwrite"),
        pytest.param("update", {"write-mode": "append"}, "write-mode upsert", id="update"),
        pytest.param(
            "append", {"write-mod": "upsert"}, "'write-mod'; did you", id="unknown option"
        ),
        pytest.param("append", {"zZzZ": "1"}, "unknown write option 'zZzZ'", id="spelling"),
    ],
)
def test_start_refuses_what_no_batch_could_do(
    lake: Lake, source: Source, mode: str, options: dict[str, str], message: str
) -> None:
    """Before a query runs."""
    lake.create()
    with pytest.raises(InvalidInputError, match=message):
        source.drain(lake, mode=mode, **options)


def test_output_mode_complete_is_refused(lake: Lake, source: Source) -> None:
    """It would replace the table again and again; update does the same work at the key."""
    lake.create()
    totals = source.frame().groupBy("id").agg(F.sum("amount").alias("amount"))
    with pytest.raises(InvalidInputError, match="outputMode\\('update'\\)"):
        source.drain(lake, totals, mode="complete")


def test_columns_that_do_not_fit_are_refused_by_start(lake: Lake, source: Source) -> None:
    """With the message of a batch write."""
    lake.create()
    with pytest.raises(InvalidInputError, match="other"):
        source.drain(lake, source.frame().withColumn("other", F.lit(1)))


def test_a_row_that_cannot_be_written_stops_the_query_and_loses_nothing(
    lake: Lake, source: Source
) -> None:
    """Once the cause is mended, the same query goes on where it stopped."""
    lake.create()
    source.put((1, "eu", 1.0))
    source.put((2, "eu", -1.0))
    broken = source.frame().withColumn("id", F.expr("if(amount < 0, null, id)"))
    with pytest.raises(StreamingQueryException, match=r"InvalidInputError: .*id"):
        source.drain(lake, broken)
    assert lake.arrow_rows() == [(1, "eu", 1.0)]
    source.drain(lake)

    assert lake.arrow_rows() == [(1, "eu", 1.0), (2, "eu", -1.0)]


def test_other_formats_and_own_sinks_are_left_alone(spark: SparkSession, source: Source) -> None:
    """Spark's own words, in its own order."""
    source.put((1, "eu", 1.0))
    seen: list[int] = []
    mine = (
        source.frame()
        .writeStream.format("arctic")
        .foreachBatch(lambda frame, _: seen.append(frame.count()))
    )
    mine.option("checkpointLocation", source.checkpoint).trigger(availableNow=True).start(
    ).awaitTermination()  # fmt: skip
    target = Path(source.checkpoint).parent / "parquet"
    other = source.frame().writeStream.partitionBy("region").format("parquet")
    other = other.option("checkpointLocation", f"{source.checkpoint}2").trigger(availableNow=True)
    other.start(str(target)).awaitTermination()

    assert seen == [1]
    assert [path.name for path in target.iterdir() if path.is_dir()].count("region=eu") == 1


class Unregistered:
    """The sink as Spark itself calls it: rows as they lie, one writer for each step."""

    def __init__(self, lake: Lake, source: Source) -> None:
        self._lake = lake
        self._source = source

    def drain(self, frame: DataFrame, mode: str = "append", **options: str) -> None:
        """Write everything that has not been written; appends unless told otherwise."""
        if mode == "append":
            options = {"write-mode": "append", **options}
        writer = frame.writeStream.options(**self._source.options(self._lake, **options))
        # What install_stream_modes has wrapped.
        native: Any = type(writer).start.__wrapped__  # type: ignore[attr-defined]
        writer.__dict__["_arctic_asked"].is_native = True
        query = native(writer.format("arctic").outputMode(mode).trigger(availableNow=True), NAME)
        query.awaitTermination()


@pytest.fixture
def unregistered(lake: Lake, source: Source) -> Unregistered:
    """Return the sink of a session that knows nothing of streams into tables."""
    return Unregistered(lake, source)


def test_without_a_registration_a_stream_lands_once_too(
    lake: Lake, source: Source, unregistered: Unregistered
) -> None:
    """The same query id and batch numbers, by way of the checkpoint."""
    lake.create()
    source.put((1, "eu", 1.0))
    source.put((2, "eu", 2.0))
    unregistered.drain(source.frame())
    source.forget_last_commit()
    source.put((3, "eu", 3.0))
    unregistered.drain(source.frame())

    assert lake.arrow_rows() == [(1, "eu", 1.0), (2, "eu", 2.0), (3, "eu", 3.0)]
    assert lake.count("snapshots") == 3


def test_either_way_the_other_recognises_a_batch(
    lake: Lake, source: Source, unregistered: Unregistered
) -> None:
    """A query may be restarted in a session that is not registered."""
    lake.create()
    source.put((1, "eu", 1.0))
    source.drain(lake)
    source.forget_last_commit()
    unregistered.drain(source.frame())
    source.forget_last_commit()
    source.drain(lake)

    assert lake.arrow_rows() == [(1, "eu", 1.0)]


def test_without_a_registration_moving_rows_stay_single(
    lake: Lake, source: Source, unregistered: Unregistered
) -> None:
    """The commit goes by the state in which the tasks looked their rows up."""
    lake.create(partition_by=["region"])
    lake.put([(1, "eu", 1.0)])
    source.put((1, "us", 2.0))
    source.put((1, "asia", 3.0))
    unregistered.drain(source.frame(), **{"write-mode": "upsert"})

    assert lake.arrow_rows() == [(1, "asia", 3.0)]


def test_without_a_registration_updates_are_refused(
    lake: Lake, source: Source, unregistered: Unregistered
) -> None:
    """By Spark: the data source could not tell them from rows to append."""
    lake.create()
    source.put((1, "eu", 1.0))
    totals = source.frame().groupBy("id").agg(F.sum("amount").alias("amount"))
    with pytest.raises(PySparkException, match=r"(?i)update mode"):
        unregistered.drain(totals, "update")

    assert lake.arrow_rows() == []


def test_the_data_source_refuses_output_mode_complete(lake: Lake, source: Source) -> None:
    """Spark announces it as an overwrite."""
    lake.create()
    options = {"path": NAME, **source.options(lake)}
    with pytest.raises(InvalidInputError, match="complete"):
        ArcticDataSource(options).streamWriter(source.frame().schema, overwrite=True)


def test_a_batch_that_landed_writes_nothing(lake: Lake) -> None:
    """Though it is computed again."""
    lake.create()
    options = {"path": NAME, "warehouse": lake.warehouse, "write-mode": "append"}
    query_id = str(uuid.uuid4())
    rows: Sequence[Row] = [(1, "eu", 1.0)]
    files = []
    for _ in range(2):
        sink = StreamSink(AskedWrite.of(options), memory=None)
        sink.begin(query_id)
        sink(lake.frame(rows), 0)
        files.append(sorted(Path(lake.warehouse).rglob("*.parquet")))

    assert lake.arrow_rows() == rows
    assert files[0] == files[1] != []


def test_a_batch_that_loses_to_others_is_written_again(
    lake: Lake, source: Source, tmp_path: Path
) -> None:
    """Another process replaced and expired what its upsert looks up; the query does not stop."""
    lake.create(partition_by=["region"])
    lake.put([(1, "eu", 1.0), (2, "eu", 2.0)], "overwrite")
    lake.put([(2, "eu", 3.0)])
    warehouse, attempts, open_table = lake.warehouse, tmp_path / "attempts", arctic.open_table

    def outrun(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = list(batches)
        if rows:
            attempts.open("a").write("x")
            if attempts.stat().st_size == 1:
                table = open_table(NAME, warehouse=warehouse)
                table.optimize(type="full")
                table.expire(
                    options={"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
                )
        yield from rows

    source.put((2, "us", 4.0), (3, "us", 5.0))
    source.drain(lake, source.frame().mapInArrow(outrun, FIELDS), **{"write-mode": "upsert"})

    assert attempts.read_text() == "xx"
    assert lake.arrow_rows() == [(1, "eu", 1.0), (2, "us", 4.0), (3, "us", 5.0)]


def test_a_query_with_state_goes_on_where_its_table_is_ahead(lake: Lake, source: Source) -> None:
    """Spark commits the state of a batch only when the tasks of the batch ran."""
    arctic.create_table(
        NAME,
        pa.schema([("region", pa.string()), ("total", pa.float64())]),
        primary_key=["region"],
        warehouse=lake.warehouse,
    )
    totals = source.frame().groupBy("region").agg(F.sum("amount").alias("total"))
    source.put((1, "eu", 1.0), (2, "us", 2.0))
    source.drain(lake, totals, mode="update")
    source.forget_last_commit()
    source.put((3, "eu", 10.0))
    source.drain(lake, totals, mode="update")

    assert lake.arrow_rows() == [("eu", 11.0), ("us", 2.0)]

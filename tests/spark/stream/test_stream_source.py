"""Changes through Structured Streaming, and as a batch in Spark."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

import arctic
from arctic.spark.read.read_limits import HAS_LIMITS
from arctic.spark.stream.stream_source import ArcticStreamReader
from tests.spark.lake import NAME, SCHEMA, Lake

pytestmark = pytest.mark.spark

Event = tuple[Any, ...]
META = ["_transaction_id", "_file_offset", "_change_action"]


class Follower:
    """A streaming query with a checkpoint, run until nothing is left."""

    def __init__(self, lake: Lake, folder: Path) -> None:
        self._lake = lake
        self._checkpoint = str(folder / "checkpoint")
        self.batches: dict[int, list[Event]] = {}

    def run(self, **options: str) -> list[Event]:
        """Take what is there now; return the events in the order in which they came."""
        before = set(self.batches)
        query = (
            stream(self._lake, **options)
            .writeStream.foreachBatch(self._take)
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()
        new = sorted(set(self.batches) - before)
        return [event for number in new for event in self.batches[number]]

    def _take(self, frame: DataFrame, number: int) -> None:
        self.batches[number] = [tuple(row) for row in frame.collect()]


def stream(lake: Lake, **options: str) -> DataFrame:
    """Return the stream of the test's table; underscores in names stand for dashes."""
    reader = lake.spark.readStream.format("arctic").option("warehouse", lake.warehouse)
    for name, text in options.items():
        reader = reader.option(name.replace("_", "-"), text)
    return reader.load(NAME)


def replayed(events: list[Event]) -> list[Event]:
    """Return the rows that events of (id, region, amount, ...) leave behind."""
    rows: dict[int, Event] = {}
    for event in events:
        rows.pop(event[0], None)
        if event[-1] in ("+I", "+U"):
            rows[event[0]] = event[:3]
    return sorted(rows.values())


def known(lake: Lake, *events: tuple[str, int, str, float]) -> None:
    """Write events that know what was there before."""
    names = ["op", *SCHEMA.names]
    rows = [dict(zip(names, event, strict=True)) for event in events]
    data = pa.Table.from_pylist(rows, schema=pa.schema([("op", pa.string()), *SCHEMA]))
    arctic.write(
        NAME, data, mode="upsert", options={"action-column": "op"}, warehouse=lake.warehouse
    )


def newest(lake: Lake) -> int:
    """Return the newest snapshot of the change store."""
    rows = lake.table().inspect("snapshots").to_pylist()
    last: int = [row["snapshot_id"] for row in rows if row["store"] == "change"][-1]
    return last


def test_a_stream_goes_on_where_it_stopped(lake: Lake, tmp_path: Path) -> None:
    """Rows that are there first, then changes; a restart leaves no gap and repeats nothing.

    The table is optimized between the runs, which is no news.
    """
    lake.create()
    lake.put([(1, "eu", 1.0), (2, "us", 2.0), (3, "eu", 3.0)])
    lake.table().optimize(type="major")
    lake.put([(3, "eu", 3.5)])
    follower = Follower(lake, tmp_path)

    first = follower.run()
    assert sorted(event[:3] + event[-1:] for event in first) == [
        (1, "eu", 1.0, "+I"),
        (2, "us", 2.0, "+I"),
        (3, "eu", 3.5, "+I"),
    ]
    known(lake, ("-U", 1, "eu", 1.0), ("+U", 1, "us", 1.5), ("-D", 2, "us", 2.0))
    lake.table().optimize(type="full")
    second = follower.run()
    by_key = {key: [e[1:3] + e[-1:] for e in second if e[0] == key] for key in (1, 2)}
    assert by_key[1] == [("eu", 1.0, "-U"), ("us", 1.5, "+U")]
    assert by_key[2] == [("us", 2.0, "-D")]
    assert follower.run() == []
    assert replayed(first + second) == lake.rows()


def test_a_consumer_follows_net_changes_across_an_overwrite(lake: Lake, tmp_path: Path) -> None:
    """A new checkpoint goes on where the consumer stands, which each batch moves."""
    lake.create()
    lake.put([(1, "eu", 1.0), (2, "us", 2.0)])
    asked = {"consumer_id": "copy", "change_rows": "net"}
    follower = Follower(lake, tmp_path)
    first = follower.run(start_version="0", **asked)
    assert sorted(event[:4] for event in first) == [
        (1, "eu", 1.0, "insert"),
        (2, "us", 2.0, "insert"),
    ]
    lake.table().write(
        pa.table([[1, 3], ["eu", "us"], [1.5, 3.0]], schema=SCHEMA), mode="overwrite"
    )
    lake.put([(3, "us", 3.5)])
    second = follower.run(start_version="0", **asked)
    assert sorted(event[:4] for event in second) == [
        (1, "eu", 1.0, "update_preimage"),
        (1, "eu", 1.5, "update_postimage"),
        (2, "us", 2.0, "delete"),
        (3, "us", 3.5, "insert"),
    ]
    lake.put([(4, "eu", 4.0)])
    moved = lake.table().consumers()["commits_behind"].to_pylist()
    assert moved[0] >= 1  # Spark says that a batch is done with the next one, or at the end
    left = Follower(lake, tmp_path / "other").run(start_version="0", **asked)
    assert (4, "eu", 4.0, "insert") in [event[:4] for event in left]


def test_a_stream_without_news_keeps_its_consumer_alive(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place, as its checkpoint stands there too; and not at each trigger."""
    lake.create()
    lake.put([(1, "eu", 1.0)])
    reader = _consuming(lake)
    end = reader.latestOffset()
    reader.commit(end)
    begun = lake.table().consumers().to_pylist()
    lake.table().optimize(type="full")
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + 4 * 86_400 * 10**9)
    assert [reader.latestOffset(end), reader.latestOffset(end)] == [end, end]
    (renewed,) = lake.table().consumers().to_pylist()
    assert renewed["moved_at"] - begun[0]["moved_at"] >= timedelta(days=4)
    assert renewed["base_snapshot_id"] == begun[0]["base_snapshot_id"]
    assert reader.latestOffset(end) == end
    assert lake.table().consumers().to_pylist() == [renewed]


def test_a_stream_goes_on_where_its_consumer_can_not_be_kept_alive(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state there expired while nobody asked; no change is missing, so nothing is told."""
    lake.create()
    lake.put([(1, "eu", 1.0)])
    lake.table().optimize(type="minor")
    lake.put([(2, "eu", 2.0)])
    reader = _consuming(lake)
    end = reader.latestOffset()
    reader.commit(end)
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + 40 * 86_400 * 10**9)
    lake.table().optimize(type="full")
    lake.table().expire(
        options={"snapshot.keep.duration": "0", "change.data.ttl.minutes": "1000000"}
    )

    reader = _consuming(lake)
    assert reader.latestOffset(end) == end
    lake.put([(3, "eu", 3.0)])
    later = reader.latestOffset(end)
    assert later != end
    reader.commit(later)
    (moved,) = lake.table().consumers().to_pylist()
    assert moved["holds"]


def _consuming(lake: Lake) -> ArcticStreamReader:
    """Return what reads the changes of rows from the beginning, as the consumer ``copy``."""
    options = {"path": NAME, "warehouse": lake.warehouse, "start-version": "0"}
    options |= {"consumer-id": "copy", "change-rows": "net"}
    return ArcticStreamReader(options, StructType([]))


def test_limits_divide_a_backlog(lake: Lake, tmp_path: Path) -> None:
    """Each micro-batch takes one commit; with AvailableNow all that is there is taken.

    Before Spark 4.2 the trigger asks once how far to go, so each run takes one commit.
    """
    lake.create(partition_by=["region"])
    lake.put([(1, "eu", 1.0)])
    follower = Follower(lake, tmp_path)
    events = follower.run(streaming_max_rows_per_micro_batch="1")
    for region in ("us", "eu", "us"):
        lake.put([(1, region, 2.0)])
    if HAS_LIMITS:
        events += follower.run(maxFilesPerTrigger="1")
    else:
        for _ in range(3):
            events += follower.run(maxFilesPerTrigger="1")

    assert len([batch for batch in follower.batches.values() if batch]) == 4
    assert replayed(events) == lake.rows() == [(1, "us", 2.0)]


def test_a_stream_begins_where_it_is_told(lake: Lake, tmp_path: Path) -> None:
    """After a snapshot, from a time on, or with what is yet to come."""
    lake.create()
    lake.put([(1, "eu", 1.0)])
    snapshot_id = str(newest(lake))
    time.sleep(0.01)
    moment = str(time.time_ns() // 1_000_000)
    lake.put([(2, "eu", 2.0)])
    late = Follower(lake, tmp_path / "latest")

    assert late.run(stream_from="latest") == []
    for number, options in enumerate(
        [{"start_snapshot_id": snapshot_id}, {"stream_from_timestamp": moment}]
    ):
        follower = Follower(lake, tmp_path / str(number))
        assert [event[0] for event in follower.run(**options)] == [2, 2]
    lake.put([(3, "eu", 3.0)])
    assert [event[0] for event in late.run(stream_from="latest")] == [3, 3]


def test_a_stream_that_cannot_go_on_says_why(lake: Lake, tmp_path: Path) -> None:
    """Rows that were replaced, and changes that are gone, with what helps."""
    lake.create()
    lake.put([(1, "eu", 1.0)])
    follower = Follower(lake, tmp_path)
    follower.run()
    lake.put([(2, "eu", 2.0)], mode="overwrite")
    with pytest.raises(StreamingQueryException, match="streaming-skip-overwrite-snapshots = true"):
        follower.run()
    skip = {"streaming_skip_overwrite_snapshots": "true"}
    assert follower.run(**skip) == []
    lake.put([(3, "eu", 3.0)])
    lake.put([(4, "eu", 4.0)])
    lake.table().optimize(type="major")
    lake.table().expire(options={"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"})
    with pytest.raises(StreamingQueryException, match=r"property change\.data\.ttl\.minutes"):
        follower.run(**skip)


def test_a_stream_without_change_columns_is_refused(lake: Lake, tmp_path: Path) -> None:
    """Its deletes would look like rows; options that mean nothing are refused too."""
    lake.create()
    lake.put([(1, "eu", 1.0)])
    assert stream(lake).columns == [*SCHEMA.names, *META]
    reader = lake.spark.readStream.format("arctic").option("warehouse", lake.warehouse)
    narrow = reader.schema("id long").load(NAME)
    query = narrow.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()

    with pytest.raises(StreamingQueryException, match="_change_action"):
        query.awaitTermination()
    with pytest.raises(PySparkException, match="unknown"):
        lake.load(stream_from="latest").count()


def test_a_batch_reads_a_range_of_changes(lake: Lake) -> None:
    """Options of the range make a batch one of changes; a query narrows it as any other."""
    lake.create()
    lake.put([(1, "eu", 1.0)])
    start = {"start-snapshot-id": str(newest(lake))}
    known(lake, ("-U", 1, "eu", 1.0), ("+U", 1, "eu", 2.0), ("+I", 2, "us", 3.0))
    end = {"end-snapshot-id": str(newest(lake))}
    lake.put([(9, "eu", 9.0)])
    changes = lake.load(**start, **end)

    assert changes.columns == [*SCHEMA.names, *META]
    assert changes.count() == 4
    updates = changes.where("_change_action like '_U' and id = 1").select("amount")
    assert sorted(row[0] for row in updates.collect()) == [1.0, 2.0]
    assert lake.load(**start).where("id = 9").count() == 2
    assert sorted(row.id for row in lake.load(**start, **end).select("id").collect()) == [
        1,
        1,
        2,
        2,
    ]
    with pytest.raises(PySparkException, match="without a start"):
        lake.load(**end).count()

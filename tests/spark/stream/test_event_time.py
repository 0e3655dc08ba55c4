"""Spark's own watermark, handed on to the table that its stream writes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import arctic
from tests.spark.lake import NAME, Lake
from tests.spark.stream_input import Source

pytestmark = pytest.mark.spark

NOON = datetime(2023, 11, 15, 12, tzinfo=timezone.utc)
COUNTS = pa.schema(
    [("until", pa.timestamp("us", tz="UTC")), ("region", pa.string()), ("clicks", pa.int64())]
)


def at(minute: int) -> datetime:
    """Return a moment of that day."""
    return NOON + timedelta(minutes=minute)


class Counted:
    """Clicks of each ten minutes, written once they are complete; run until nothing is left."""

    def __init__(self, lake: Lake, source: Source) -> None:
        self._lake, self._source = lake, source
        self._query: Any = None
        self.said: list[datetime] = []

    def run(self) -> None:
        """Take what is there now, from the checkpoint on."""
        clicks = self._source.frame().select(F.timestamp_seconds("amount").alias("at"), "region")
        span = F.window("at", "10 minutes")
        counted = clicks.withWatermark("at", "10 minutes").groupBy(span, "region").count()
        told = counted.select(F.col("window.end").alias("until"), "region", "count")
        self._query = (
            told.withColumnRenamed("count", "clicks")
            .writeStream.foreachBatch(self._save)
            .option("checkpointLocation", self._source.checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        self._query.awaitTermination()

    def _save(self, batch: DataFrame, _: int) -> None:
        """As the page on streaming writes shows it."""
        progress = self._query and self._query.lastProgress
        told = progress and progress["eventTime"].get("watermark")
        given = {"watermark": told, "writer-id": "clicks"} if told else {}
        first = batch.agg(F.min("until")).collect()[0][0]
        assert not self.said or first is None or first.timestamp() > self.said[-1].timestamp()
        self._lake.save(batch, "append", **{"write-mode": "upsert", **given})
        if told:
            self.said.append(datetime.fromisoformat(told.replace("Z", "+00:00")))


def test_a_table_is_complete_up_to_the_watermark_of_its_stream(lake: Lake, source: Source) -> None:
    """Also over a restart; what comes later than that is in no count, as Spark drops it."""
    key = ["until", "region"]
    arctic.create_table(NAME, COUNTS, primary_key=key, warehouse=lake.warehouse)
    counted = Counted(lake, source)

    def click(*minutes: int) -> None:
        source.put(*((0, "eu", at(minute).timestamp()) for minute in minutes))

    def is_ready(minute: int) -> bool:
        return bool(arctic.ready(NAME, at(minute), warehouse=lake.warehouse))

    def rows() -> list[tuple[Any, ...]]:
        found = arctic.read(NAME, warehouse=lake.warehouse).read_all().to_pylist()
        return sorted((row["until"], row["clicks"]) for row in found)

    click(1, 5)
    click(31)
    click(33)
    counted.run()
    assert rows() == [(at(10), 2)]
    assert not is_ready(40)

    click(2, 55)
    click(120)
    counted.run()
    assert rows() == [(at(10), 2), (at(40), 2), (at(60), 1)]
    assert is_ready(40)
    assert not is_ready(120)
    assert counted.said == sorted(counted.said)

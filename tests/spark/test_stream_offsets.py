"""Offsets of a stream, in the order of calls in which each version of Spark asks for them.

Observed with a source that writes down what it is asked: 4.1 asks for the latest offset first and
for the initial one when the first batch is planned; after a restart it plans an empty range first.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.types import LongType, StringType, StructField, StructType

import arctic
from arctic.spark.read.read_limits import HAS_LIMITS, spark_limit
from arctic.spark.stream.stream_partition import StreamPartitionReader
from arctic.spark.stream.stream_source import ArcticStreamReader

COLUMNS = StructType([StructField("id", LongType()), StructField("_change_action", StringType())])
Offset = dict[str, Any]


class Table:
    """A table that is streamed."""

    def __init__(self, folder: Path) -> None:
        self.options = {"path": "db.t", "warehouse": str(folder)}
        schema = pa.schema([pa.field("id", pa.int64())])
        self._table = arctic.create_table("db.t", schema, primary_key=["id"], warehouse=str(folder))

    def put(self, number: int) -> None:
        """Commit a row."""
        self._table.write(pa.table({"id": [number]}), mode="append")

    def reader(self, **options: str) -> ArcticStreamReader:
        """Start a query, or start it again."""
        named = {name.replace("_", "-"): text for name, text in options.items()}
        return ArcticStreamReader({**self.options, **named}, COLUMNS)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table with one row."""
    made = Table(tmp_path)
    made.put(1)
    return made


def logged(offset: Offset) -> Offset:
    """Return what comes back from a checkpoint."""
    back: Offset = json.loads(json.dumps(offset))
    return back


def ids(reader: ArcticStreamReader, start: Offset, end: Offset) -> list[int]:
    """Return what was inserted between two offsets, as executors read it."""
    executed = pickle.loads(pickle.dumps(reader))
    assert type(executed) is StreamPartitionReader
    rows = [
        row
        for partition in pickle.loads(pickle.dumps(reader.partitions(start, end)))
        for batch in executed.read(partition)
        for row in batch.to_pylist()
    ]
    return sorted(row["id"] for row in rows if row["_change_action"] == "+I")


def test_the_old_order_of_calls(table: Table) -> None:
    """Spark 4.1 never says where it stands: what was seen last counts, also after a restart."""
    reader = table.reader()
    first = reader.latestOffset()
    assert ids(reader, reader.initialOffset(), first) == [1]
    assert reader.latestOffset() == first
    table.put(2)
    second = reader.latestOffset()
    assert ids(reader, first, second) == [2]
    table.put(3)

    again = table.reader()
    assert again.partitions(logged(second), logged(second)) == []
    third = again.latestOffset()
    assert ids(again, logged(second), third) == [3]


def test_the_old_order_of_calls_after_an_unfinished_batch(table: Table) -> None:
    """A batch whose offset was logged runs again before the next one is asked for."""
    reader = table.reader()
    first = reader.latestOffset()
    table.put(2)
    second = reader.latestOffset()
    table.put(3)

    again = table.reader()
    again.partitions(logged(second), logged(second))
    assert ids(again, logged(first), logged(second)) == [2]
    assert ids(again, logged(second), again.latestOffset()) == [3]


@pytest.mark.parametrize("is_told", [True, False])
def test_the_first_batch_begins_where_it_began(table: Table, is_told: bool) -> None:
    """A restart computes the initial offset anew; the end of the first batch knows better."""
    reader = table.reader(stream_from="latest")
    initial = reader.initialOffset() if is_told else None
    table.put(2)
    if not is_told:
        reader.latestOffset()
        table.put(3)
        reader.latestOffset()
    table.put(4)
    end = reader.latestOffset(initial)

    again = table.reader(stream_from="latest")
    moved = again.initialOffset()
    assert moved != reader.initialOffset()
    assert ids(again, moved, logged(end)) == ids(reader, reader.initialOffset(), end)
    assert ids(again, moved, logged(end)) == ([2, 4] if is_told else [3, 4])


def test_an_empty_first_batch_is_the_beginning(table: Table) -> None:
    """Nothing was there: what comes next is counted from what was logged, not from a restart."""
    reader = table.reader(stream_from="latest")
    initial = reader.initialOffset()
    assert reader.latestOffset(initial) == initial
    table.put(2)

    again = table.reader(stream_from="latest")
    assert again.partitions(again.initialOffset(), logged(initial)) == []
    end = again.latestOffset(logged(initial))
    assert ids(again, logged(initial), end) == [2]


def test_a_query_of_what_is_there_now_ends(table: Table) -> None:
    """What is committed after the preparation is left to the next run."""
    reader = table.reader(maxFilesPerTrigger="1")
    reader.prepareForTriggerAvailableNow()
    table.put(2)
    at = reader.initialOffset()
    steps = 0
    while (end := reader.latestOffset(at)) != at:
        at, steps = end, steps + 1

    assert 1 <= steps <= 2
    assert reader.reportLatestOffset() is not None
    assert table.reader().latestOffset(at)["sequence"] == 2


def test_sparks_limits_are_those_of_the_options(table: Table) -> None:
    """All options are kept, unless Spark asks for everything; 4.1 has no words for it."""
    if not HAS_LIMITS:
        assert not hasattr(DataSourceStreamReader, "getDefaultReadLimit")
        return
    reader = table.reader(maxRowsPerTrigger="1")
    for number in (2, 3):
        table.put(number)
    start = table.reader(stream_from="earliest").initialOffset()
    table.put(4)
    everything = spark_limit(table.reader()._limit)

    assert type(reader.getDefaultReadLimit()).__name__ == "ReadMaxRows"
    limited = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert "pin" in limited
    assert "pin" not in reader.latestOffset(start, everything)

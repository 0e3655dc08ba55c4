"""Batches of changes, written by the tasks of a session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import arctic

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("region", pa.string()),
        ("price", pa.decimal128(9, 2)),
        ("plain", pa.timestamp("us")),
        ("zoned", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("data", pa.binary()),
        ("rate", pa.float32()),
    ]
)
TYPES: dict[str, dict[str, Any]] = {
    "id": {"type": "int32"},
    "region": {"type": "string"},
    "price": {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": "9"},
    },
    "plain": {"type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    "zoned": {"type": "string", "name": "io.debezium.time.ZonedTimestamp"},
    "day": {"type": "int32", "name": "io.debezium.time.Date"},
    "data": {"type": "bytes"},
    "rate": {"type": "float"},
}
ROW = {
    "id": 1, "region": "eu", "price": "Xg==", "plain": 1_000_001, "zoned": "2026-01-01T00:00:00.5Z",
    "day": 365, "data": "AAE=", "rate": 0.1,
}  # fmt: skip


def message(op: str, before: Any = None, after: Any = None) -> str:
    """Return an envelope that describes its columns."""
    fields = [{"field": name, **each} for name, each in TYPES.items()]
    source = {"schema": "public", "table": "t"}
    payload = {"op": op, "before": before, "after": after, "source": source}
    return json.dumps(
        {"schema": {"fields": [{"field": "after", "fields": fields}]}, "payload": payload}
    )


def apply(table: str, batch: int, *messages: str, **more: Any) -> None:
    """Apply messages."""
    arctic.apply_changes(
        messages,
        envelope="debezium",
        tables={"public.t": table},
        quarantine="db.bad",
        writer=table,
        batch_id=batch,
        **more,
    )


def test_a_session_writes_what_this_process_would(spark: SparkSession, tmp_path: Path) -> None:
    """Times in no zone and in UTC, keys and partitions that move, a truncate, each batch once."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    batches = [
        [message("c", after={**ROW, "id": n}) for n in range(20)],
        [
            message("u", {**ROW, "id": 3}, {**ROW, "id": 300, "region": "us"}),
            message("u", {**ROW, "id": 4}, {**ROW, "id": 4, "region": "us", "price": None}),
            message("d", {**ROW, "id": 5}),
        ],
    ]
    there = arctic.spark_writer(spark)
    for name, write in (("db.here", None), ("db.there", there)):
        arctic.create_table(name, SCHEMA, primary_key=["id"], partition_by=["region"], **place)
        for number in (0, 1, 0):
            apply(name, number, *batches[number], write=write, **place)

    first, second = (arctic.read(name, **place).read_all() for name in ("db.here", "db.there"))
    assert first.num_rows == 19
    assert second.sort_by("id").equals(first.sort_by("id"))
    assert first.schema == second.schema
    apply("db.there", 2, message("t"), message("c", after=ROW), write=there, **place)
    assert arctic.read("db.there", **place).read_all()["id"].to_pylist() == [1]

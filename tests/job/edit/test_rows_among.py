"""Rows that have one of many values: none of them is left out, whatever types are compared."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.cdc.engine import engine
from arctic.job.edit.rows_among import rows_among
from arctic.job.read.asked_read import AskedRead
from arctic.job.reference import table_reference

_ZONE = timezone(timedelta(hours=-5))


def _times(count: int) -> list[datetime]:
    return [datetime(2024, 1, 1, 0, tzinfo=timezone.utc) + timedelta(hours=n) for n in range(count)]


@pytest.mark.parametrize("count", [60, 300])
@pytest.mark.parametrize(
    ("kind", "stored", "given"),
    [
        pytest.param(
            pa.float64(),
            lambda n: math.nan if n == 7 else float(n),
            lambda stored: pa.array(stored, pa.float64()),
            id="no number",
        ),
        pytest.param(
            pa.int64(),
            lambda n: 2**53 + 1 if n == 7 else n,
            lambda stored: pa.array([float(each) for each in stored], pa.float64()),
            id="numbers that round",
        ),
        pytest.param(
            pa.date32(),
            lambda n: (datetime(2024, 1, 1) + timedelta(days=n)).date(),  # noqa: DTZ001
            lambda stored: pa.array([f"{each:%Y}-{each.month}-{each.day}" for each in stored]),
            id="texts of days",
        ),
        pytest.param(
            pa.timestamp("us", "UTC"),
            lambda n: _times(n + 1)[n],
            lambda stored: pa.array(
                [
                    str(each.astimezone(_ZONE) if place % 2 else each)
                    for place, each in enumerate(stored)
                ]
            ),
            id="texts of times",
        ),
        pytest.param(
            pa.timestamp("us", "UTC"),
            lambda n: _times(n + 1)[n],
            lambda stored: pa.array(stored, pa.timestamp("us", "Asia/Tokyo")),
            id="times of another zone",
        ),
        pytest.param(
            pa.int64(),
            lambda n: n * 3,
            lambda stored: pa.array(stored, pa.int32()),
            id="narrower numbers",
        ),
    ],
)
def test_every_row_is_read_that_equals_a_value(
    tmp_path: Path, kind: pa.DataType, stored: Any, given: Any, count: int
) -> None:
    """As SQL compares them, with each row in files of its own bounds."""
    place = {"path": "shop.t", "warehouse": str(tmp_path)}
    rows = pa.table(
        {"id": pa.array(range(count), pa.int64()), "v": pa.array(map(stored, range(count)), kind)}
    )
    table = arctic.create_table("shop.t", rows.schema, primary_key=["id"], warehouse=str(tmp_path))
    for start, length in ((0, 7), (7, 1), (8, count - 8)):
        table.write(rows.slice(start, length), mode="upsert")
    values = pa.table({"v": given(rows["v"].to_pylist())})
    with engine() as connection:
        for name, each in (("stored", rows), ("given", values)):
            # Arrow would take NaN for unequal to itself.
            connection.register(f"{name}_rows", each)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_rows")
        query = "SELECT DISTINCT id FROM stored JOIN given ON stored.v = given.v"
        equal = [row[0] for row in connection.execute(query).fetchall()]

    job = rows_among(
        table_reference(place).open(),
        AskedRead.of(place),
        ["id"],
        {"v": values["v"]},
    )

    found = {row["id"] for batch in job.batches() for row in batch.to_pylist()}
    assert equal
    assert found >= set(equal)


def test_few_rows_are_read_by_bytes_of_a_fixed_length(tmp_path: Path) -> None:
    """SQL hands them back as bytes of any length, which have the same order."""
    place = {"path": "shop.t", "warehouse": str(tmp_path)}
    stored = pa.array([bytes([n // 256, n % 256]) for n in range(600)], pa.binary(2))
    rows = pa.table({"v": stored, "id": range(600)})
    schema = pa.schema([pa.field("v", pa.binary(2), nullable=False), ("id", pa.int64())])
    table = arctic.create_table("shop.t", schema, primary_key=["v"], warehouse=str(tmp_path))
    table.write(rows.cast(schema), mode="upsert")

    for numbers in ([7], list(range(300))):
        values = pa.chunked_array([stored.take(pa.array(numbers)).cast(pa.binary())])
        job = rows_among(table_reference(place).open(), AskedRead.of(place), ["id"], {"v": values})
        found = [number for batch in job.batches() for number in batch["id"].to_pylist()]
        assert sorted(found) == numbers

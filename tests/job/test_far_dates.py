"""Dates and times beyond the years 1 to 9999, for which Python has no values."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError

DAYS = [2_932_897, -719_929, 2**31 - 1, -(2**31), 0, None]
MICROS = [253_402_300_800_000_000, -62_135_596_800_000_001, 2**63 - 1, -(2**63), 0, None]


def far_rows(key: str = "id") -> pa.Table:
    """Return one row for each of them, and one of today; the key has no null."""
    columns = {
        "id": pa.array(range(6), pa.int64()),
        "day": pa.array(DAYS, pa.int32()).view(pa.date32()),
        "at": pa.array(MICROS, pa.int64()).view(pa.timestamp("us")),
        "zoned": pa.array(MICROS, pa.int64()).view(pa.timestamp("us", "UTC")),
    }
    fields = [pa.field(name, each.type, nullable=name != key) for name, each in columns.items()]
    return pa.table(columns, schema=pa.schema(fields)).slice(0, 6 if key == "id" else 5)


@pytest.mark.parametrize(
    ("key", "partition_by"),
    [
        ([], []),
        (["id"], []),
        (["day"], []),
        (["at"], ["bucket(2, at)"]),
        ([], ["year(at)", "month(day)"]),
        (["id"], ["month(day)"]),
    ],
    ids=str,
)
def test_far_dates_come_back_as_they_were_written(
    tmp_path: Path, key: list[str], partition_by: list[str]
) -> None:
    """Through a write, an overwrite, merges, filters, looks at the table and a full optimize."""
    rows = far_rows(key[0] if key else "id")
    table = arctic.create_table(
        "t.far", rows.schema, primary_key=key, partition_by=partition_by, warehouse=str(tmp_path)
    )

    def found(row_filter: str | None = None) -> pa.Table:
        return table.read(filter=row_filter).read_all().sort_by("id")

    table.write(rows, mode="overwrite")
    if key:
        table.write(rows.slice(0, 4), mode="upsert")
    assert found().equals(rows)
    table.optimize(type="full")
    assert found().equals(rows)
    for name in ("files", "partitions", "nodes"):
        assert table.inspect(name).num_rows
    assert table.explain(verbose=True, filter="day > '10000-01-01'")
    for column, zone in (("day", ""), ("at", " 00:00:00"), ("zoned", " 00:00:00Z")):
        for row_filter, ids in (
            (f"{column} >= '10000-01-01{zone}'", [0, 2]),
            (f"{column} > '+20000-01-01{zone}'", [2]),
            (f"{column} < '0001-01-01{zone}'", [1, 3]),
            (f"{column} between '0001-01-01{zone}' and '9999-12-31{zone}'", [4]),
        ):
            assert found(row_filter)["id"].to_pylist() == ids, row_filter


@pytest.mark.parametrize("mode", ["upsert", "overwrite"])
@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("day", "column 'day' is 10000-01-01 in row 0 of a batch.*partitioned by it"),
        ("day(zoned)", "column 'zoned' is 10000-01-01T00:00:00 in row 0.*partitioned by day"),
        ("hour(at)", "column 'at'.*in row 0.*from 1 to 9999"),
    ],
)
def test_a_partition_for_each_day_refuses_them_before_any_file(
    tmp_path: Path, mode: str, field: str, message: str
) -> None:
    """By column, value and row."""
    rows = far_rows()
    table = arctic.create_table(
        "t.far", rows.schema, primary_key=["id"], partition_by=[field], warehouse=str(tmp_path)
    )

    with pytest.raises(InvalidInputError, match=message):
        table.write(rows, mode=mode)

    assert not list(tmp_path.rglob("*.parquet"))


def test_a_message_names_a_row_by_a_far_key(tmp_path: Path) -> None:
    """The error of the row is told, not one of its date."""
    rows = far_rows("day")
    schema = rows.schema.set(0, pa.field("id", pa.int64(), nullable=False))
    table = arctic.create_table("t.far", schema, primary_key=["day"], warehouse=str(tmp_path))
    without = rows.set_column(0, pa.field("id", pa.int64()), pa.nulls(5, pa.int64()))

    with pytest.raises(InvalidInputError, match=r"the row with key \(day=10000-01-01\)"):
        table.write(without, mode="upsert")

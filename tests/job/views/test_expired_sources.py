"""Views of sources whose rows become too old: what is there counts, whoever took the rest."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from tests.job.views.test_random_views import expected, shown

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("city", pa.string()),
        ("amount", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
NAMES = pa.table({"city": ["Rome", "Oslo"], "land": ["IT", "NO"]})
NOW = dt.datetime.now(dt.timezone.utc)
EXPIRES = {
    "data-expire.enabled": "true",
    "data-expire.field": "at",
    "data-expire.retention-time": "10d",
}
VIEWS = {
    "plain": "SELECT id, upper(city) AS town, amount FROM shop.t WHERE amount > 1",
    "sums": "SELECT city, count(*), sum(amount), max(amount) FROM shop.t GROUP BY city",
    "counted": "SELECT city, count(DISTINCT amount) AS n FROM shop.t GROUP BY city",
    "joined": "SELECT id, amount, land FROM shop.t LEFT JOIN shop.names ON names.city = t.city",
}
Row = tuple[int, str, int, int]


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """A catalog with the names of lands."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    names = arctic.create_table("shop.names", NAMES.schema, primary_key="city", **place)
    names.write(NAMES, mode="upsert")
    return place


def source(place: dict[str, Any], *key: str) -> arctic.Table:
    """Return a table of days, each of which goes when it is ten days old."""
    return arctic.create_table(
        "shop.t", SCHEMA, primary_key=key, partition_by=["day(at)"], properties=EXPIRES, **place
    )


def put(table: arctic.Table, *rows: Row, mode: str = "upsert") -> None:
    """Write rows, the last value of which says how many days old they are."""
    made = [(*row[:3], NOW - dt.timedelta(days=row[3])) for row in rows]
    values = [dict(zip(SCHEMA.names, row, strict=True)) for row in made]
    table.write(pa.Table.from_pylist(values, SCHEMA), mode=mode)


def check(place: dict[str, Any], table: arctic.Table, sql: str) -> arctic.RefreshReport:
    """Refresh the view, and hold it against its statement over the rows that are there."""
    report = arctic.refresh("shop.v", **place)
    found = arctic.read("shop.v", **place).read_all()
    names = [name for name in found.column_names if not name.startswith("_")]
    wanted = expected(sql, {"t": table.read().read_all(), "names": NAMES}).rename_columns(names)
    assert shown(found, names) == shown(wanted, names)
    return report


@pytest.mark.parametrize("sql", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("is_merged", [False, True])
def test_rows_that_became_too_old_leave_the_view(
    place: dict[str, Any], sql: str, is_merged: bool
) -> None:
    """Once, also where they come again; beside other changes and optimizing, too."""
    table = source(place, "id")
    put(table, (1, "Rome", 10, 30), (2, "Oslo", 5, 0), (3, "Rome", 7, 40))
    if is_merged:
        table.optimize(type="full")
    arctic.materialize(sql, "shop.v", **place)
    table.expire()
    assert table.read().read_all()["id"].to_pylist() == [2]
    assert not check(place, table, sql).is_full
    put(table, (1, "Rome", 20, 0))
    check(place, table, sql)

    put(table, (4, "Oslo", 1, 20), (2, "Oslo", 6, 0))
    table.expire()
    put(table, (3, "Rome", 8, 0), (4, "Bern", 9, 0))
    check(place, table, sql)
    put(table, (5, "Oslo", 9, 20))
    check(place, table, sql)
    table.expire()
    put(table, (5, "Rome", 9, 0))
    table.optimize(type="full")
    assert not check(place, table, sql).is_full
    assert arctic.refresh("shop.v", **place).snapshot_id is None


def test_a_view_of_a_table_without_a_key_is_computed_anew(place: dict[str, Any]) -> None:
    """Where rows of it became too old, and only then."""
    table, sql = source(place), VIEWS["sums"]
    put(table, (1, "Rome", 10, 30), (1, "Rome", 10, 0), mode="append")
    arctic.materialize(sql, "shop.v", **place)
    table.expire()
    assert check(place, table, sql).is_full
    put(table, (2, "Oslo", 3, 0), mode="append")
    assert not check(place, table, sql).is_full
    put(table, (3, "Oslo", 4, 20), mode="append")
    table.expire()
    put(table, (4, "Oslo", 5, 0), mode="append")
    assert check(place, table, sql).is_full


@pytest.mark.parametrize("is_full", [False, True])
def test_versions_of_rows_that_became_too_old_end(place: dict[str, Any], is_full: bool) -> None:
    """With the commit that took them out, and begin again where they are written again."""
    table = source(place, "id")
    put(table, (1, "Rome", 10, 30), (2, "Oslo", 5, 0))
    sql = "SELECT id, city FROM shop.t"
    arctic.materialize(sql, "shop.v", kind="scd2", **place)
    table.expire()
    when = table.history().column("committed_at").to_pylist()[-1]
    arctic.refresh("shop.v", full=is_full, **place)
    put(table, (1, "Rome", 20, 0))
    arctic.refresh("shop.v", **place)
    rows = arctic.read("shop.v", **place).read_all().to_pylist()
    first, second, other = sorted(rows, key=lambda row: (row["id"], row["_version"]))
    assert (first["id"], first["valid_to"], first["is_current"]) == (1, when, False)
    assert (second["id"], second["valid_to"], second["is_current"]) == (1, None, True)
    assert (other["id"], other["is_current"]) == (2, True)
    assert second["valid_from"] >= when

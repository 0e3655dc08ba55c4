"""Columns of sources that change under a view: followed where that is exact, else computed anew."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError, NotFoundError
from arctic.job.views import refresh_job

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("price", pa.decimal128(5, 2)),
        ("pieces", pa.int32()),
        ("weight", pa.float32()),
    ]
)


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """Return where the tables are."""
    return {"warehouse": str(tmp_path)}


@pytest.fixture
def orders(place: dict[str, Any]) -> arctic.Table:
    """A source with two rows."""
    table = arctic.create_table("shop.orders", SCHEMA, primary_key="id", **place)
    rows = [[1, 2], [Decimal("1.50"), Decimal("2.25")], [3, 4], [0.1, 0.5]]
    table.write(pa.table(rows, schema=SCHEMA))
    return table


def make(place: dict[str, Any], sql: str, *, full: bool = False) -> None:
    """Make a view ``shop.v``."""
    arctic.materialize(sql, "shop.v", full=full, **place)


def rows(place: dict[str, Any]) -> pa.Table:
    """Return the rows of the view."""
    return arctic.read("shop.v", **place).read_all()


def put(orders: arctic.Table, **values: Any) -> None:
    """Upsert one row."""
    schema = orders.schema
    orders.write(pa.Table.from_pylist([values], schema=schema), mode="upsert")


def test_a_view_follows_wider_numbers_from_changes_alone(
    orders: arctic.Table, place: dict[str, Any]
) -> None:
    """Its own column is widened with them; also where the ALTER is all that happened."""
    make(place, "SELECT id, price FROM shop.orders WHERE pieces > 3 OR price > 1")
    orders.evolve_schema(widen={"price": pa.decimal128(9, 2), "pieces": pa.int64()})
    again = "SELECT id, price FROM shop.orders WHERE pieces > 3 OR price > 1"
    assert arctic.materialize(again, "shop.v", exist_ok=True, **place).snapshot_id is None
    assert rows(place).schema.field("price").type == pa.decimal128(9, 2)
    put(orders, id=3, price=Decimal("1234567.25"), pieces=2**40, weight=0.0)
    report = arctic.refresh("shop.v", **place)
    assert (report.is_full, report.upserts, report.deletes) == (False, 1, 0)
    assert sorted(row["price"] for row in rows(place).to_pylist()) == [
        Decimal("1.50"),
        Decimal("2.25"),
        Decimal("1234567.25"),
    ]


def test_sums_of_wider_numbers_are_followed_too(
    orders: arctic.Table, place: dict[str, Any]
) -> None:
    """Also a key of a group that is a text."""
    make(place, "SELECT pieces, sum(price), max(price) FROM shop.orders GROUP BY pieces")
    orders.evolve_schema(widen={"price": pa.decimal128(9, 2), "pieces": pa.int64()})
    put(orders, id=3, price=Decimal("7.00"), pieces=4, weight=0.0)
    report = arctic.refresh("shop.v", **place)
    assert (report.is_full, report.upserts) == (False, 1)
    found = {row["pieces"]: (row["sum_price"], row["max_price"]) for row in rows(place).to_pylist()}
    assert found == {3: (Decimal("1.50"), Decimal("1.50")), 4: (Decimal("9.25"), Decimal("7.00"))}


def test_a_float_that_became_a_double_is_computed_anew(
    orders: arctic.Table, place: dict[str, Any]
) -> None:
    """0.1 as a float equals the number 0.1; as a double it does not."""
    make(place, "SELECT id FROM shop.orders WHERE weight = 0.1")
    assert rows(place).num_rows == 1
    orders.evolve_schema(widen={"weight": pa.float64()})
    report = arctic.refresh("shop.v", **place)
    assert (report.is_full, report.deletes) == (True, 1)
    assert rows(place).num_rows == 0
    assert not arctic.refresh("shop.v", **place).is_full


def test_a_column_that_was_dropped_and_added_anew_is_another_one(
    orders: arctic.Table, place: dict[str, Any]
) -> None:
    """Its values are gone from rows that have not changed as well."""
    make(place, "SELECT id, pieces FROM shop.orders")
    orders.evolve_schema(drop=["pieces"])
    with pytest.raises(NotFoundError, match="pieces"):
        arctic.refresh("shop.v", **place)
    orders.evolve_schema(add={"pieces": pa.int32()})
    assert arctic.refresh("shop.v", **place).upserts == 2
    assert set(rows(place).column("pieces").to_pylist()) == {None}
    orders.evolve_schema(drop=["pieces"])
    orders.evolve_schema(add={"pieces": pa.string()})
    with pytest.raises(InvalidInputError, match=r"'pieces' is int32, but .* drop the view"):
        arctic.refresh("shop.v", full=True, **place)


def test_a_refresh_that_died_between_columns_and_rows_is_done_by_the_next(
    orders: arctic.Table, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wider column is there, and its rows are computed anew all the same."""
    make(place, "SELECT id, pieces * 2 AS twice FROM shop.orders")
    orders.evolve_schema(widen={"pieces": pa.int64()})
    with monkeypatch.context() as patched:
        patched.setattr(refresh_job, "commit_view", _dies)
        with pytest.raises(KeyboardInterrupt):
            arctic.refresh("shop.v", **place)
    assert rows(place).schema.field("twice").type == pa.int64()
    assert arctic.refresh("shop.v", **place).is_full


def _dies(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_a_view_of_all_columns_that_is_computed_anew_has_those_of_now(
    orders: arctic.Table, place: dict[str, Any]
) -> None:
    """New ones come, dropped ones go."""
    make(place, "SELECT * FROM shop.orders ORDER BY id", full=True)
    orders.evolve_schema(add={"note": pa.string()}, drop=["weight"])
    put(orders, id=3, price=None, pieces=None, note="x")
    arctic.refresh("shop.v", **place)
    found = rows(place)
    assert found.column_names == ["id", "price", "pieces", "note"]
    assert found.column("note").to_pylist() == [None, None, "x"]

"""Histories whose source begins anew: the same name, and versions of smaller numbers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import NotFoundError
from arctic.job.reference import table_reference

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])
Version = tuple[int, str, bool]


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """A history of two rows, each of which had three versions before it."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    make(place)
    for city in ("Rome", "Oslo", "Bern"):
        put(place, (1, city), (2, "Kyiv"))
    arctic.materialize("SELECT id, city FROM shop.users", "shop.moves", kind="scd2", **place)
    return place


def make(place: dict[str, Any]) -> None:
    """Make the source."""
    arctic.create_table("shop.users", SCHEMA, primary_key="id", **place)


def put(place: dict[str, Any], *rows: tuple[int, str]) -> None:
    """Write rows of the source."""
    columns = list(map(list, zip(*rows, strict=True)))
    arctic.write("shop.users", pa.table(columns, schema=SCHEMA), mode="upsert", **place)


def versions(place: dict[str, Any]) -> list[Version]:
    """Return the versions in order; those of a key follow one another, in number and in time."""
    rows = arctic.read("shop.moves", **place).read_all().to_pylist()
    rows = sorted(rows, key=lambda row: (row["id"], row["_version"]))
    for one, next_one in pairwise(rows):
        assert one["valid_to"] is None or one["valid_from"] <= one["valid_to"]
        if one["id"] == next_one["id"]:
            assert one["_version"] < next_one["_version"]
            assert one["valid_to"] <= next_one["valid_from"]
    assert all(row["is_current"] == (row["valid_to"] is None) for row in rows)
    return [(row["id"], row["city"], row["is_current"]) for row in rows]


def test_a_history_goes_on_where_its_source_was_made_anew(place: dict[str, Any]) -> None:
    """What is there then is one change; later ones end it, and one another."""
    arctic.drop_table("shop.users", **place)
    make(place)
    put(place, (1, "Lima"))
    with pytest.raises(NotFoundError, match="full=True"):
        arctic.refresh("shop.moves", **place)
    arctic.refresh("shop.moves", full=True, **place)
    before = [(1, "Bern", False), (1, "Lima", True), (2, "Kyiv", False)]
    assert versions(place) == before
    put(place, (1, "Pisa"))
    arctic.refresh("shop.moves", **place)
    put(place, (1, "Riga"), (2, "Kyiv"))
    arctic.refresh("shop.moves", full=True, **place)
    put(place, (1, "Graz"))
    arctic.refresh("shop.moves", **place)
    assert versions(place) == [
        (1, "Bern", False),
        (1, "Lima", False),
        (1, "Pisa", False),
        (1, "Riga", False),
        (1, "Graz", True),
        (2, "Kyiv", False),
        (2, "Kyiv", True),
    ]
    assert arctic.refresh("shop.moves", full=True, **place).upserts == 0


def test_a_source_that_is_empty_again_ends_all_versions(place: dict[str, Any]) -> None:
    """At the time at which it was made, however often it is."""
    for city in ("Lima", "Pisa"):
        arctic.drop_table("shop.users", **place)
        make(place)
        arctic.refresh("shop.moves", full=True, **place)
        assert not any(is_current for _, _, is_current in versions(place))
        put(place, (1, city))
        arctic.refresh("shop.moves", **place)
    assert versions(place) == [
        (1, "Bern", False),
        (1, "Lima", False),
        (1, "Pisa", True),
        (2, "Kyiv", False),
    ]


def test_a_source_that_was_rolled_back_is_as_it_was_once_more(place: dict[str, Any]) -> None:
    """From then on, not from the time at which it had been so."""
    put(place, (1, "Lima"))
    arctic.refresh("shop.moves", **place)
    change = table_reference({"path": "shop.users", **place}).open().change
    assert change is not None
    before = change.metadata.snapshots[-2].snapshot_id
    change.manage_snapshots().rollback_to_snapshot(before).commit()
    with pytest.raises(NotFoundError, match="full=True"):
        arctic.refresh("shop.moves", **place)
    arctic.refresh("shop.moves", full=True, **place)
    put(place, (1, "Pisa"))
    arctic.refresh("shop.moves", full=True, **place)  # a number is missing for ever
    put(place, (1, "Riga"))
    arctic.refresh("shop.moves", **place)
    assert versions(place) == [
        (1, "Bern", False),
        (1, "Lima", False),
        (1, "Bern", False),
        (1, "Pisa", False),
        (1, "Riga", True),
        (2, "Kyiv", True),
    ]

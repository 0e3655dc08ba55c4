"""Views dropped and renamed: what they hold of their sources goes with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import AlreadyExistsError

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string())])


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """A view of two sources."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    for name in ("a", "b"):
        table = arctic.create_table(f"shop.{name}", SCHEMA, primary_key="id", **place)
        table.write(pa.table([[1], [name]], schema=SCHEMA))
    sql = "SELECT a.id, a.g, b.g AS other FROM shop.a JOIN shop.b ON a.id = b.id"
    arctic.materialize(sql, "shop.v", **place)
    return place


def consumers(place: dict[str, Any]) -> list[str]:
    """Return who is a consumer of the sources."""
    tables = (arctic.open_table(name, **place) for name in ("shop.a", "shop.b"))
    return [name for each in tables for name in each.consumers().column("consumer").to_pylist()]


def test_a_view_that_is_dropped_holds_nothing_any_more(place: dict[str, Any]) -> None:
    """Also one of whose sources is gone."""
    assert consumers(place) == ["view:shop.v"] * 2
    arctic.drop_table("shop.v", **place)
    assert consumers(place) == []
    arctic.materialize("SELECT id, g FROM shop.a", "shop.v", **place)
    arctic.drop_table("shop.a", **place)
    arctic.drop_table("shop.v", **place)
    assert arctic.list_views(**place).num_rows == 0


def test_a_view_that_is_renamed_holds_its_sources_under_its_new_name(
    place: dict[str, Any],
) -> None:
    """What came meanwhile is kept up under it; one that cannot be renamed holds them as before."""
    view = arctic.open_table("shop.v", **place)
    with pytest.raises(AlreadyExistsError):
        view.rename("shop.b")
    assert consumers(place) == ["view:shop.v"] * 2
    view.rename("shop.w")
    assert consumers(place) == ["view:shop.w"] * 2
    source = arctic.open_table("shop.a", **place)
    source.write(pa.table([[1], ["later"]], schema=SCHEMA), mode="upsert")
    source.optimize(type="full")
    source.expire(options={"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"})
    report = arctic.refresh("shop.w", **place)
    assert (report.is_full, report.upserts) == (False, 1)
    assert consumers(place) == ["view:shop.w"] * 2

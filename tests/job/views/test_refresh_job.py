"""Refreshes: once, whatever happens beside or between them."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.cli.main import main
from arctic.errors import (
    AlreadyExistsError,
    ConflictError,
    FormatError,
    InvalidInputError,
    UnsupportedError,
)
from arctic.iceberg.tables import create_table
from arctic.job.views import refresh_job
from arctic.job.views.commit_view import Written, commit_view

SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("v", pa.float64())])
TOTALS = "SELECT g, count(*) AS n, sum(v::DECIMAL(9, 1)) AS s FROM shop.orders GROUP BY g"


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """A source with two rows."""
    place = {"warehouse": str(tmp_path)}
    arctic.create_table("shop.orders", SCHEMA, primary_key="id", **place)  # type: ignore[arg-type]
    put(place, (1, "a", 1.5), (2, "b", 2.0))
    return place


def put(place: dict[str, Any], *rows: tuple[int, str | None, float]) -> None:
    """Upsert rows of the source."""
    columns = list(map(list, zip(*rows, strict=True)))
    arctic.write("shop.orders", pa.table(columns, schema=SCHEMA), mode="upsert", **place)


def counts(place: dict[str, Any], view: str = "shop.totals") -> dict[str | None, int]:
    """Return the rows of the groups."""
    return {row["g"]: row["n"] for row in arctic.read(view, **place).read_all().to_pylist()}


def test_a_view_whose_making_was_interrupted_is_made_by_the_next_call(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a view may be there or not, and of the same statement only."""
    for exist_ok in (True, False):
        name = f"shop.totals_{exist_ok}".lower()
        with monkeypatch.context() as patched:
            patched.setattr(create_table, "_complete_pair", _dies)
            with pytest.raises(KeyboardInterrupt):
                arctic.materialize(TOTALS, name, **place)
        other = TOTALS.replace("count(*)", "count(v)")
        with pytest.raises(FormatError, match="its creation was interrupted"):
            arctic.materialize(other, name, exist_ok=True, **place)

        arctic.materialize(TOTALS, name, exist_ok=exist_ok, **place)

        assert counts(place, name) == {"a": 1, "b": 1}


def test_a_refresh_that_dies_leaves_no_trace(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one does its work; one that dies after its commit is not done again."""
    arctic.materialize(TOTALS, "shop.totals", **place)
    put(place, (3, "a", 1.0))
    with monkeypatch.context() as patched:
        patched.setattr(refresh_job, "commit_view", _dies)
        with pytest.raises(KeyboardInterrupt):
            arctic.refresh("shop.totals", **place)
    with monkeypatch.context() as patched:
        patched.setattr(refresh_job, "hold_sources", _dies)
        with pytest.raises(KeyboardInterrupt):
            arctic.refresh("shop.totals", **place)
    assert arctic.list_views(**place).column("commits_behind").to_pylist() == [0]
    assert arctic.refresh("shop.totals", **place).snapshot_id is None
    assert counts(place) == {"a": 2, "b": 1}


def _dies(*_: Any, **__: Any) -> Written:
    raise KeyboardInterrupt


@pytest.mark.parametrize("is_full", [False, True])
def test_of_two_refreshes_one_counts(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch, is_full: bool
) -> None:
    """The slower one commits nothing, and says so."""
    arctic.materialize(TOTALS, "shop.totals", full=is_full, **place)
    put(place, (3, "a", 1.0))
    slow = commit_view

    def later(*given: Any, **named: Any) -> Written:
        monkeypatch.setattr(refresh_job, "commit_view", slow)
        arctic.refresh("shop.totals", **place)
        return slow(*given, **named)

    monkeypatch.setattr(refresh_job, "commit_view", later)
    with pytest.raises(ConflictError, match="refreshed by others meanwhile"):
        arctic.refresh("shop.totals", **place)
    assert counts(place) == {"a": 2, "b": 1}


def test_changes_without_a_row_are_done_too(place: dict[str, Any]) -> None:
    """So that they are not read again, and what a view has not read stays."""
    arctic.materialize("SELECT id, v FROM shop.orders WHERE v > 1", "shop.few", **place)
    put(place, (9, "z", -1.0))
    report = arctic.refresh("shop.few", **place)
    assert (report.upserts, report.deletes, report.snapshot_id is None) == (0, 0, False)
    assert arctic.refresh("shop.few", **place).snapshot_id is None
    put(place, (9, "z", 3.0))
    at_once = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
    orders = arctic.open_table("shop.orders", **place)
    orders.optimize(type="full")
    orders.expire(options=at_once)
    assert arctic.refresh("shop.few", **place).upserts == 1


def test_a_view_that_is_computed_anew_says_where_it_stands_without_rows_too(
    place: dict[str, Any],
) -> None:
    """Else it would seem to be behind for ever, and its commit to be lost."""
    arctic.materialize("SELECT g FROM shop.orders WHERE v > 9", "shop.none", full=True, **place)
    put(place, (3, "a", 1.0))
    assert arctic.refresh("shop.none", **place).snapshot_id is not None
    assert arctic.list_views(**place).column("commits_behind").to_pylist() == [0]
    changes = arctic.read_changes("shop.none", options={"start-version": "0"}, **place)
    assert changes.read_all().num_rows == 0


def test_changes_that_no_group_counts_are_done_too(place: dict[str, Any]) -> None:
    """Whether groups are kept from changes or counted anew."""
    for name, kept in (("exact", "sum(v::DECIMAL(9, 1))"), ("counted", "sum(v)")):
        sql = f"SELECT g, {kept} AS s, count(*) AS n FROM shop.orders WHERE v > 1 GROUP BY g"
        arctic.materialize(sql, f"shop.{name}", **place)
    put(place, (9, "z", -1.0))
    for name in ("exact", "counted"):
        report = arctic.refresh(f"shop.{name}", **place)
        assert (report.upserts, report.deletes, report.snapshot_id is None) == (0, 0, False)
        assert counts(place, f"shop.{name}") == {"a": 1, "b": 1}


GROUPS = {
    "tags": {"['a, b']": (2, 3), "None": (1, 3), "[None]": (1, 4), "[]": (1, 5)},
    "pair": {
        "{'x': 1, 'y': None}": (2, 3),
        "None": (2, 8),
        "{'x': 1, 'y': 'z'}": (1, 4),
    },
}


@pytest.mark.parametrize("by", GROUPS)
@pytest.mark.parametrize("kept", ["sum(v::INTEGER)", "sum(v)"], ids=["from changes", "anew"])
def test_groups_may_be_lists_and_structs(tmp_path: Path, by: str, kept: str) -> None:
    """No filter of a table tests them, so more rows are read, and the right ones kept."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    pair = pa.struct([("x", pa.int64()), ("y", pa.string())])
    nested = [("tags", pa.list_(pa.string())), ("pair", pair), ("v", pa.float64())]
    schema = pa.schema([("id", pa.int64()), *nested])
    orders = arctic.create_table("shop.orders", schema, primary_key="id", **place)

    def put_nested(*rows: tuple[Any, ...]) -> None:
        values = [dict(zip(schema.names, row, strict=True)) for row in rows]
        orders.write(pa.Table.from_pylist(values, schema), mode="upsert")

    both, one = {"x": 1, "y": "z"}, {"x": 1, "y": None}
    put_nested((1, ["a", "b"], both, 1.0), (2, ["a, b"], one, 2.0), (3, None, None, 3.0))
    sql = f"SELECT {by}, count(*) AS n, {kept} AS s FROM shop.orders GROUP BY {by}"
    arctic.materialize(sql, "shop.by", **place)
    put_nested((1, ["a, b"], one, 1.0), (4, [None], both, 4.0), (5, [], None, 5.0))
    arctic.refresh("shop.by", **place)
    rows = arctic.read("shop.by", **place).read_all().to_pylist()
    assert {str(row[by]): (row["n"], int(row["s"])) for row in rows} == GROUPS[by]
    assert arctic.refresh("shop.by", full=True, **place).upserts == 0


def test_a_view_that_others_wrote_to_is_refused_or_mended(place: dict[str, Any]) -> None:
    """Less than no row is never shown."""
    arctic.materialize(TOTALS, "shop.totals", **place)
    arctic.open_table("shop.totals", **place).delete("g = 'a'")
    arctic.open_table("shop.orders", **place).delete("id = 1")
    with pytest.raises(FormatError, match="less than no row"):
        arctic.refresh("shop.totals", **place)
    arctic.refresh("shop.totals", full=True, **place)
    assert counts(place) == {"b": 1}


def test_a_view_keeps_what_it_holds_of_a_source_at_rest(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For as long as it is refreshed, however seldom it finds anything; base may be rewritten."""
    arctic.materialize(TOTALS, "shop.totals", **place)
    orders = arctic.open_table("shop.orders", **place)
    for kind in ("minor", "full"):
        orders.optimize(type=kind)
    assert arctic.refresh("shop.totals", **place).snapshot_id is None
    now_ns, day_ns = time.time_ns, 86_400 * 10**9
    for days in (20, 40):
        monkeypatch.setattr(time, "time_ns", lambda days=days: now_ns() + days * day_ns)
        report = arctic.refresh("shop.totals", **place)
        assert (report.upserts, report.deletes, report.snapshot_id is None) == (0, 0, False)
        assert arctic.refresh("shop.totals", **place).snapshot_id is None
        assert orders.consumers()["holds"].to_pylist() == [True]
        of_base = {"snapshot.keep.duration": "0", "change.data.ttl.minutes": "1000000"}
        orders.expire(options=of_base)
    head = orders.versions()["base_snapshot_id"][-1].as_py()
    assert orders.consumers()["base_snapshot_id"].to_pylist() == [head]
    put(place, (3, "a", 1.0))
    arctic.refresh("shop.totals", **place)
    assert counts(place) == {"a": 2, "b": 1}


def test_a_view_is_not_restored(place: dict[str, Any]) -> None:
    """Where its sources stood is not told by a state of its rows."""
    arctic.materialize(TOTALS, "shop.totals", **place)
    with pytest.raises(UnsupportedError, match="follow from its sources"):
        arctic.open_table("shop.totals", **place).restore(1)


def test_any_statement_can_be_computed_anew(place: dict[str, Any]) -> None:
    """Where the caller says so; types that a table has not are widened."""
    sql = "SELECT g, row_number() OVER (ORDER BY v) AS n FROM shop.orders QUALIFY n < 2"
    with pytest.raises(UnsupportedError, match="QUALIFY looks at the whole result"):
        arctic.materialize(sql, "shop.first", **place)
    arctic.materialize(sql, "shop.first", full=True, **place)
    put(place, (5, "c", 0.0))
    report = arctic.refresh("shop.first", **place)
    assert report.is_full
    assert counts(place, "shop.first") == {"c": 1}


def test_what_groups_without_values_are_kept_by_is_what_is_computed(tmp_path: Path) -> None:
    """A sum of no value is null, whether it was kept from changes or computed anew."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    schema = pa.schema([("id", pa.int64()), ("g", pa.string()), ("n", pa.int32())])
    orders = arctic.create_table("shop.orders", schema, primary_key="id", **place)
    sql = "SELECT g, avg(n) AS mean, sum(n) AS s, min(n) AS least FROM shop.orders GROUP BY g"
    arctic.materialize(sql, "shop.means", **place)
    for numbers in ([None, 3], [None, None]):
        orders.write(pa.table([[1, 2], ["a", "a"], numbers], schema=schema), mode="upsert")
        orders.write(pa.table([[9], ["b"], [None]], schema=schema), mode="upsert")
        arctic.refresh("shop.means", **place)
        assert arctic.refresh("shop.means", full=True, **place).upserts == 0


def test_what_is_no_view_or_another_one_is_refused(place: dict[str, Any]) -> None:
    """Also a source whose columns changed under it."""
    with pytest.raises(InvalidInputError, match=r"'shop.orders' is no view"):
        arctic.refresh("shop.orders", **place)
    with pytest.raises(UnsupportedError, match=r"groups by 'v', a number that rounds"):
        arctic.materialize("SELECT v, count(*) FROM shop.orders GROUP BY v", "shop.no", **place)
    with pytest.raises(InvalidInputError, match="among its own sources"):
        arctic.materialize("SELECT id FROM shop.orders", "shop.orders", **place)
    arctic.materialize("SELECT id, g FROM shop.orders", "shop.ids", **place)
    arctic.materialize("SELECT id, g FROM shop.orders", "shop.ids", exist_ok=True, **place)
    with pytest.raises(InvalidInputError, match="with another statement"):
        arctic.materialize(
            "SELECT id, upper(g) AS g FROM shop.orders", "shop.ids", exist_ok=True, **place
        )
    with pytest.raises(AlreadyExistsError):
        arctic.materialize("SELECT id, g FROM shop.orders", "shop.ids", **place)


def test_the_commands_say_what_was_done(
    place: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """As text, or as JSON."""
    at = ["--warehouse", place["warehouse"]]
    for line in (["materialize", TOTALS, "--into", "shop.totals"], ["refresh", "shop.totals"]):
        with pytest.raises(SystemExit) as left:
            main([*line, *at])
        assert left.value.code == 0
    assert capsys.readouterr().out.endswith("shop.totals: nothing has changed\n")
    with pytest.raises(SystemExit):
        main(["refresh", "shop.totals", "--full", "--output", "json", *at])
    assert json.loads(capsys.readouterr().out)["is_full"] is True


def test_the_list_of_views_tells_how_far_each_is_behind(
    place: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """By source, from the view's own place: also where the source does not know it, or is gone."""
    every = {"self-refreshing.interval": "10m"}
    arctic.materialize(TOTALS, "shop.totals", properties=every, **place)
    arctic.materialize("SELECT _group AS g, n FROM shop.totals", "shop.counts", **place)
    put(place, (3, "a", 1.0), (4, "c", 1.0))

    counts, totals = arctic.list_views(**place).to_pylist()
    assert (counts["view"], counts["source"]) == ("shop.counts", "shop.totals")
    assert (counts["commits_behind"], counts["refreshes_every"]) == (0, None)
    assert (totals["view"], totals["source"]) == ("shop.totals", "shop.orders")
    assert totals["statement"].startswith("SELECT")
    assert (totals["commits_behind"], totals["rows_behind"]) == (1, 4)
    assert totals["refreshes_every"] == timedelta(minutes=10)

    arctic.refresh("shop.totals", **place)
    arctic.drop_consumer("shop.totals", "view:shop.counts", **place)
    with pytest.raises(SystemExit):
        main(["views", "--output", "json", "--warehouse", place["warehouse"]])
    counts, totals = json.loads(capsys.readouterr().out)
    assert (counts["commits_behind"], counts["rows_behind"]) == (1, 4)
    assert (totals["commits_behind"], totals["refreshes_every"]) == (0, 600)
    assert totals["refreshed_at"] > counts["refreshed_at"]
    arctic.drop_table("shop.orders", **place)
    assert arctic.list_views(**place).column("commits_behind").to_pylist() == [1, None]

"""Views that keep what was: every version of a row, and the rows at the end of each day."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError, NotFoundError, UnsupportedError
from arctic.job.views import refresh_job, take_days

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("n", pa.int32())])
HISTORY = "SELECT id, upper(city) AS city FROM shop.users WHERE n > 0 OR n IS NULL"
AT_ONCE = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
TOO_OLD = {
    "data-expire.enabled": "true",
    "data-expire.field": "n",
    "data-expire.retention-time": "1h",
    "data-expire.datetime-number-format": "TIMESTAMP_S",
    "data-expire.level": "file",
}
"""Seconds since 1970, so every file without a null."""
KEEPS = ["expire", "age"]
Row = tuple[int, str | None, int | None]


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """A source without rows."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    arctic.create_table("shop.users", SCHEMA, primary_key="id", **place)
    return place


def put(place: dict[str, Any], *rows: Row, mode: str = "upsert") -> None:
    """Write rows of the source."""
    columns = list(map(list, zip(*rows, strict=True)))
    arctic.write("shop.users", pa.table(columns, schema=SCHEMA), mode=mode, **place)


def versions(place: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the versions of the view, one after the other."""
    rows = arctic.read("shop.versions", **place).read_all().to_pylist()
    return sorted(rows, key=lambda row: (row["id"], row["_version"]))


class Model:
    """What was, as a list of versions."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.shown: dict[int, str | None] = {}

    def see(self, place: dict[str, Any], when: datetime) -> None:
        """Take in the state after a commit."""
        rows = arctic.read("shop.users", **place).read_all().to_pylist()
        now = {
            row["id"]: None if row["city"] is None else row["city"].upper()
            for row in rows
            if row["n"] is None or row["n"] > 0
        }
        for key in self.shown.keys() | now.keys():
            if key in self.shown and (key not in now or now[key] != self.shown[key]):
                ended = next(each for each in self.made if each["id"] == key and each["is_current"])
                ended.update(valid_to=when, is_current=False)
            if key in now and (key not in self.shown or now[key] != self.shown[key]):
                self.made.append(
                    {
                        "id": key,
                        "city": now[key],
                        "valid_from": when,
                        "valid_to": None,
                        "is_current": True,
                    }
                )
        self.shown = now

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All of them, in order."""
        return sorted(self.made, key=lambda row: row["id"])


@pytest.mark.parametrize("seed", range(3))
def test_a_history_is_every_version_that_there_was(place: dict[str, Any], seed: int) -> None:
    """However many commits a refresh takes, with optimizing, overwrites and expiry between."""
    chance, model = random.Random(seed), Model()
    table = arctic.open_table("shop.users", **place)
    arctic.materialize(HISTORY, "shop.versions", kind="scd2", **place)
    for _ in range(14):
        does = chance.choice(["put"] * 4 + ["delete", "overwrite", "optimize", "refresh", *KEEPS])
        ids = chance.sample(range(5), chance.randrange(1, 5))
        rows: list[Row] = [
            (each, chance.choice(["Rome", "rome", "Oslo", None]), chance.choice([None, 0, 1]))
            for each in ids
        ]
        if does == "put":
            put(place, *rows)
        elif does == "delete":
            table.delete(f"id = {ids[0]}")
        elif does == "overwrite":
            put(place, *rows, mode="overwrite")
        elif does == "optimize":
            table.optimize(type=chance.choice(["minor", "full"]))
        elif does == "expire":
            table.expire(options=AT_ONCE)
        elif does == "age":
            table.expire(options=TOO_OLD)
        else:
            arctic.refresh("shop.versions", **place)
        times = table.history().column("committed_at").to_pylist()
        if does in ("put", "delete", "overwrite", "age") and times:
            model.see(place, times[-1])
    arctic.refresh("shop.versions", **place)
    found = [{name: row[name] for name in row if name != "_version"} for row in versions(place)]
    assert found == model.rows
    assert arctic.refresh("shop.versions", full=True, **place).upserts == 0


def test_what_nobody_saw_counts_as_one_change(place: dict[str, Any]) -> None:
    """Where history has expired: asked for in full, and refused else."""
    put(place, (1, "Rome", 1), (2, "Oslo", 1))
    arctic.materialize(HISTORY, "shop.versions", kind="scd2", **place)
    put(place, (1, "Bern", 1))
    put(place, (1, "Lima", 1))
    arctic.drop_consumer("shop.users", "view:shop.versions", **place)
    table = arctic.open_table("shop.users", **place)
    table.optimize(type="full")
    table.expire(options=AT_ONCE)
    with pytest.raises(NotFoundError, match="full=True"):
        arctic.refresh("shop.versions", **place)
    report = arctic.refresh("shop.versions", full=True, **place)
    assert (report.upserts, report.deletes) == (2, 0)
    assert [(row["city"], row["is_current"]) for row in versions(place)] == [
        ("ROME", False),
        ("LIMA", True),
        ("OSLO", True),
    ]


def test_a_history_that_dies_is_as_if_it_had_not_begun(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No version is told twice, whether it died before its commit or behind it."""
    put(place, (1, "Rome", 1))
    arctic.materialize(HISTORY, "shop.versions", kind="scd2", **place)
    for city, step in (("Bern", "commit_view"), ("Lima", "hold_sources")):
        put(place, (1, city, 1))
        with monkeypatch.context() as patched:
            patched.setattr(refresh_job, step, _dies)
            with pytest.raises(KeyboardInterrupt):
                arctic.refresh("shop.versions", **place)
    arctic.refresh("shop.versions", **place)
    assert [row["city"] for row in versions(place)] == ["ROME", "BERN", "LIMA"]
    spans = [(row["valid_from"], row["valid_to"]) for row in versions(place)]
    assert [end for _, end in spans] == [begin for begin, _ in spans[1:]] + [None]


def _dies(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_what_a_kind_cannot_keep_is_refused(place: dict[str, Any]) -> None:
    """With the reason, before anything is made."""
    with pytest.raises(UnsupportedError, match="of rows of one table, not of groups"):
        arctic.materialize(
            "SELECT city, count(*) FROM shop.users GROUP BY city", "shop.v", kind="scd2", **place
        )
    with pytest.raises(InvalidInputError, match="'valid_to' has a name"):
        arctic.materialize(
            "SELECT id, n AS valid_to FROM shop.users", "shop.v", kind="scd2", **place
        )
    with pytest.raises(InvalidInputError, match="what was cannot be computed anew"):
        arctic.materialize(HISTORY, "shop.v", kind="scd2", full=True, **place)
    with pytest.raises(InvalidInputError, match="expected one of rows, scd2, daily"):
        arctic.materialize(HISTORY, "shop.v", kind="hourly", **place)
    assert arctic.list_views(**place).num_rows == 0


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], int]:
    """Return what puts the clock some days ahead, and says which day it is then."""
    now, now_ns = time.time, time.time_ns
    shift = [0.0]
    monkeypatch.setattr(time, "time", lambda: now() + shift[0] * 86_400)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + int(shift[0] * 86_400 * 10**9))

    def put_ahead(days: float) -> int:
        shift[0] += days
        return int(time.time()) // 86_400

    return put_ahead


def days_of(place: dict[str, Any]) -> list[tuple[int, str, int]]:
    """Return the rows of the view of days."""
    rows = arctic.read("shop.daily", **place).read_all()
    numbers = rows.column("day").cast(pa.int32()).to_pylist()
    others = (rows.column(name).to_pylist() for name in ("city", "n"))
    return sorted(zip(numbers, *others, strict=True))


def test_a_view_of_days_has_each_day_once(
    place: dict[str, Any], later: Callable[[float], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its rows were at the end of it, also of days in which nothing was done at all."""
    counted = "SELECT city, count(*) AS n FROM shop.users GROUP BY city ORDER BY city"
    arctic.materialize(counted, "shop.daily", kind="daily", **place)
    assert days_of(place) == []
    first = later(1)
    put(place, (1, "Lima", 1), (2, "Lima", 1))
    put(place, (1, "Rome", 1))
    second = later(1)
    put(place, (1, "Lima", 1))
    table = arctic.open_table("shop.users", **place)
    table.optimize(type="full")
    table.expire(options=AT_ONCE)
    later(2)
    put(place, (3, "Bern", 1))
    with monkeypatch.context() as patched:
        patched.setattr(take_days, "hold_sources", _dies)
        with pytest.raises(KeyboardInterrupt):
            arctic.refresh("shop.daily", **place)
    arctic.refresh("shop.daily", **place)
    assert days_of(place) == [
        (first, "Lima", 1),
        (first, "Rome", 1),
        (second, "Lima", 2),
        (second + 1, "Lima", 2),
    ]
    assert arctic.refresh("shop.daily", **place).snapshot_id is None
    later(1)
    assert arctic.refresh("shop.daily", **place).upserts == 2


def test_what_groups_are_kept_by_is_in_no_view_of_them(place: dict[str, Any]) -> None:
    """A star means what their statement shows, so nothing else makes a version of a group."""
    put(place, (1, "Rome", 1), (2, "Oslo", 2))
    groups = "SELECT city, sum(n) AS n FROM shop.users WHERE city IS NOT NULL GROUP BY city"
    arctic.materialize(groups, "shop.totals", **place)
    for kind in ("rows", "scd2", "daily"):
        arctic.materialize("SELECT * FROM shop.totals", f"shop.{kind}", kind=kind, **place)
    star = "SELECT *, n * 2 AS total_rows FROM shop.totals"  # its name ends as one of those does
    arctic.materialize(star, "shop.whole", full=True, **place)
    arctic.materialize("SELECT city, _rows AS m FROM shop.totals", "shop.named", **place)
    put(place, (3, "Rome", 0))
    for name in ("totals", "rows", "scd2", "daily", "whole", "named"):
        arctic.refresh(f"shop.{name}", **place)

    names = {
        name: arctic.read(f"shop.{name}", **place).schema.names
        for name in ("rows", "scd2", "daily", "whole")
    }
    assert names == {
        "rows": ["city", "n"],
        "scd2": ["city", "n", "valid_from", "valid_to", "is_current", "_version"],
        "daily": ["city", "n", "day"],
        "whole": ["city", "n", "total_rows"],
    }
    counts = {name: arctic.read(f"shop.{name}", **place).read_all().num_rows for name in names}
    assert counts == {"rows": 2, "scd2": 2, "daily": 0, "whole": 2}
    named = arctic.read("shop.named", **place).read_all().to_pylist()
    assert {row["city"]: row["m"] for row in named} == {"Rome": 2, "Oslo": 1}


def test_a_day_that_nobody_knows_any_more_is_told(
    place: dict[str, Any], later: Callable[[float], int]
) -> None:
    """It is left out only where that is asked for."""
    put(place, (1, "Rome", 1))
    counted = "SELECT city, count(*) AS n FROM shop.users GROUP BY city"
    arctic.materialize(counted, "shop.daily", kind="daily", **place)
    arctic.drop_consumer("shop.users", "view:shop.daily", **place)
    later(2)
    put(place, (2, "Rome", 1))
    table = arctic.open_table("shop.users", **place)
    table.optimize(type="full")
    table.expire(options=AT_ONCE)
    last = later(1) - 1
    with pytest.raises(NotFoundError, match="full=True leaves such days out"):
        arctic.refresh("shop.daily", **place)
    arctic.refresh("shop.daily", full=True, **place)
    assert days_of(place) == [(last, "Rome", 2)]
    assert arctic.refresh("shop.daily", **place).snapshot_id is None


def test_a_view_of_days_outlives_columns_that_come_and_go(
    place: dict[str, Any], later: Callable[[float], int]
) -> None:
    """Days before are null where a column is new; one that went keeps what it was."""
    put(place, (1, "Rome", 7))
    first = later(1) - 1
    arctic.materialize("SELECT * FROM shop.users", "shop.daily", kind="daily", **place)
    table = arctic.open_table("shop.users", **place)
    table.evolve_schema(drop=["n"], add={"note": pa.string()})
    table = arctic.open_table("shop.users", **place)
    table.write(pa.table([[1], ["Oslo"], ["x"]], schema=table.schema), mode="upsert")
    second = later(1) - 1
    arctic.refresh("shop.daily", **place)
    rows = arctic.read("shop.daily", **place).read_all()
    days = rows.column("day").cast(pa.int32()).to_pylist()
    columns = ("city", "n", "note")
    found = zip(days, *(rows.column(name).to_pylist() for name in columns), strict=True)
    assert sorted(found) == [(first, "Rome", 7, None), (second, "Oslo", None, "x")]


@pytest.mark.parametrize("kind", ["rows", "scd2", "daily"])
def test_types_that_tables_hold_otherwise_are_those_of_the_table(
    place: dict[str, Any], kind: str
) -> None:
    """Seconds as microseconds, small numbers inside of lists as larger ones; at each refresh."""
    put(place, (1, "Rome", 1))
    made = "SELECT id, TIMESTAMP_S '2024-01-02' AS at, [n::TINYINT] AS ns FROM shop.users"
    arctic.materialize(made, "shop.v", kind=kind, **place)
    put(place, (2, "Oslo", 2))
    arctic.refresh("shop.v", **place)
    found = arctic.read("shop.v", columns=["id", "at", "ns"], **place).read_all().to_pylist()
    rows = [{"id": each, "at": datetime(2024, 1, 2), "ns": [each]} for each in (1, 2)]  # noqa: DTZ001
    assert sorted(found, key=lambda row: row["id"]) == ([] if kind == "daily" else rows)

"""Views beside DuckDB on the same rows, over random histories: equal after every refresh.

``make fuzz-layers ARGS="--only views --histories 500"`` lives more of them: as many as
``ARCTIC_HISTORIES`` says, from the seed ``ARCTIC_FIRST_SEED`` on.
"""

from __future__ import annotations

import math
import os
import random
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import arctic
from arctic.job.views import refresh_job
from tests.property.drawn import may_occur, occurred

ORDERS = pa.schema(
    [
        ("id", pa.int64()),
        ("user", pa.string()),
        ("city", pa.string()),
        ("amount", pa.decimal128(9, 2)),
        ("pieces", pa.int32()),
        ("weight", pa.float64()),
        ("seen", pa.timestamp("us")),
        pa.field("turn", pa.int64(), nullable=False),
    ]
)
LOG = pa.schema([("level", pa.string()), ("size", pa.int32())])
KINDS: tuple[dict[str, Any], ...] = (
    {"ordering_columns": ["turn"]},
    {"properties": {"write.merge-engine": "partial-update"}},
    {},
    {"partition_by": ["bucket(2, id)"]},
)
"""Of tables of orders: what is late loses in one, what is null leaves a value in another."""
FIRST = int(os.environ.get("ARCTIC_FIRST_SEED", 0))
SEEDS = range(FIRST, FIRST + int(os.environ.get("ARCTIC_HISTORIES", 2)))
DOES = [*["orders"] * 5, *["users"] * 2, "log", "log", "delete", "tidy", "expire"]
DOES += ["overwrite", "columns", "age"]
may_occur(*dict.fromkeys(DOES), "killed", "refreshed", "made anew")
AT_ONCE = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
TOO_OLD = {
    "data-expire.enabled": "true",
    "data-expire.retention-time": "1h",
    "data-expire.datetime-number-format": "TIMESTAMP_S",
    "data-expire.level": "file",
}
"""Whatever counts as seconds since 1970 here: every file without a null."""
USERS = pa.schema([("name", pa.string()), ("age", pa.int32()), ("city", pa.string())])
VIEWS = {
    "plain": "SELECT o.id AS number, upper(city) AS place, amount * 2 AS twice, weight "
    "FROM shop.orders o WHERE pieces > 1 OR city IS NULL",
    "sums": "SELECT city, count(*), count(amount), sum(amount), sum(pieces)::BIGINT AS pieces, "
    "avg(pieces), min(amount), max(seen) AS last, "
    "count(*) FILTER (WHERE pieces > 2) AS many FROM shop.orders GROUP BY city",
    "days": "SELECT date_trunc('day', seen) AS day, city IS NULL AS nowhere, sum(pieces), "
    "min(weight), max(weight) FROM shop.orders WHERE weight < 4 OR pieces < 3 GROUP BY ALL",
    "counted": "SELECT city, sum(weight), count(DISTINCT user) AS users, avg(weight), "
    "sum(amount) / count(*) AS mean FROM shop.orders GROUP BY 1",
    "known": "SELECT city, max(pieces), min(pieces) FROM shop.orders WHERE city IS NOT NULL "
    "GROUP BY city",
    "joined": "SELECT o.*, u.age, u.city AS home FROM shop.orders o JOIN shop.users u "
    "ON o.user = u.name WHERE u.age > 30",
    "beside": "SELECT id, amount, age FROM shop.orders LEFT JOIN shop.users "
    "ON users.name = orders.user",
    "logged": "SELECT level, count(*), sum(size), max(size) FROM shop.log GROUP BY level",
    "chained": "SELECT age, sum(amount), count(*) FROM shop.beside GROUP BY age",
}


def shown(table: arctic.Table | pa.Table, names: list[str]) -> list[tuple[Any, ...]]:
    """Return rows in an order of their own, floats rounded: sums of them hang on the order."""
    rows = table if isinstance(table, pa.Table) else table.read().read_all()
    return sorted(
        (tuple(map(_rounded, row.values())) for row in rows.select(names).to_pylist()), key=repr
    )


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.9g}") + 0.0
    return Decimal(value).normalize() if isinstance(value, Decimal) else value


def expected(sql: str, tables: dict[str, pa.Table]) -> pa.Table:
    """Return what DuckDB says of the rows."""
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA shop; SET TimeZone = 'UTC'")
        for name, rows in tables.items():
            connection.register("given", rows)
            connection.execute(f"CREATE TABLE shop.{name} AS SELECT * FROM given")
        return connection.execute(sql).to_arrow_table()


class History:
    """Three tables that are changed at random, one of them without a key."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        place: dict[str, Any] = {"warehouse": str(folder)}
        kind = KINDS[seed % len(KINDS)]
        self.replaces = "ordering_columns" not in kind
        self.ages = "properties" not in kind
        self.orders = arctic.create_table("shop.orders", ORDERS, primary_key="id", **kind, **place)
        self.users = arctic.create_table("shop.users", USERS, primary_key="name", **place)
        self.log = arctic.create_table("shop.log", LOG, **place)
        self.turn = 0
        self.schemas = 0
        """How often columns have changed."""
        self.aged = 0
        """How often rows may have become too old."""

    def step(self) -> None:
        """Do one thing."""
        chance = self.chance
        does = chance.choice(DOES)
        occurred(does)
        if does == "orders":
            self._put(self._orders(chance.randrange(1, 12)), "upsert")
        elif does == "users":
            self.users.write(self._users(), mode="upsert")
        elif does == "log":
            rows = [[chance.choice(["info", None]) for _ in range(3)], chance.sample(range(9), 3)]
            self.log.write(pa.table(rows, schema=LOG))
        elif does == "delete":
            self.orders.delete(chance.choice(["id < 5", "city = 'Rome'", "pieces is null"]))
            self.users.delete(f"name = '{chance.choice('abcd')}'")
        elif does == "tidy":
            self.orders.optimize(type=chance.choice(["minor", "full"]))
            for table in (self.users, self.log):
                table.optimize(type="full")
        elif does == "expire":
            for table in (self.orders, self.users, self.log):
                table.expire(options=AT_ONCE)
        elif does == "age":
            ages = [(self.users, "age"), (self.log, "size"), (self.orders, "turn")]
            for table, name in ages[: 2 + self.ages]:
                table.expire(options=AT_ONCE | TOO_OLD | {"data-expire.field": name})
            self.aged += 1
        elif does == "columns":
            self._columns()
        elif self.replaces:
            self._put(self._orders(15), "overwrite")

    def _put(self, rows: pa.Table, mode: str) -> None:
        self.orders.write(rows, mode=mode, options={"missing-columns": "null"})

    def _columns(self) -> None:
        """Change what views read, and what none does."""
        schema = self.orders.schema
        if self.chance.random() < 0.5 and "extra" not in schema.names:
            self.orders.evolve_schema(add={"extra": pa.string()})
            return
        wide = self.chance.choice([("pieces", pa.int64()), ("amount", pa.decimal128(11, 2))])
        if schema.field(wide[0]).type != wide[1]:
            self.orders.evolve_schema(widen=dict([wide]))
            self.schemas += 1

    def _orders(self, count: int) -> pa.Table:
        chance = self.chance
        ids = chance.sample(range(20), count)
        rows = [
            {
                "id": each,
                "user": chance.choice(["a", "b", "c", "d", "e", None]),
                "city": chance.choice(["Rome", "O'Slo", "", None]),
                "amount": chance.choice([None, Decimal(chance.randrange(-900, 900)) / 100]),
                "pieces": chance.choice([None, 1, 2, 3, 4]),
                "weight": chance.choice([None, 0.1, 0.7, -0.0, 3.5, math.nan, math.inf]),
                "seen": chance.choice([None, chance.randrange(3) * 86_400_000_000 + 5]),
                "turn": self._turn(),
            }
            for each in ids
        ]
        return pa.Table.from_pylist(rows, schema=ORDERS)

    def _turn(self) -> int:
        """Return the place of an event; one in four comes late."""
        self.turn += 1
        return self.turn - self.chance.choice([0, 0, 0, 30])

    def _users(self) -> pa.Table:
        chance = self.chance
        names = chance.sample("abcd", chance.randrange(1, 4))
        rows = [
            {"name": name, "age": chance.choice([None, 20, 40, 50]), "city": "Lima"}
            for name in names
        ]
        return pa.Table.from_pylist(rows, schema=USERS)


@pytest.mark.parametrize("seed", SEEDS)
def test_views_are_what_their_statements_say(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After whatever happened to the sources, by the rows that changed alone."""
    history = History(tmp_path, seed)
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    for _ in range(history.chance.randrange(4)):
        history.step()
    known, starred = dict.fromkeys(VIEWS, history.schemas), history.orders.schema.names
    known["logged"] += history.aged
    for name, sql in VIEWS.items():
        arctic.materialize(sql, f"shop.{name}", **place)
    for _ in range(3):
        for _ in range(history.chance.randrange(1, 4)):
            history.step()
        # A star means the columns that there were when the view was made.
        tables = {"orders": history.orders.read(columns=starred).read_all()}
        tables["users"] = history.users.read().read_all()
        tables["log"] = history.log.read().read_all()
        for name, sql in VIEWS.items():
            if history.chance.random() < 0.2 and name != "beside":
                continue
            if history.chance.random() < 0.2:
                _die(f"shop.{name}", history.chance, monkeypatch, place)
                occurred("killed")
            report = arctic.refresh(f"shop.{name}", **place)
            occurred("made anew" if report.is_full else "refreshed")
            made = history.schemas + (history.aged if name == "logged" else 0)
            assert not report.is_full or known[name] < made
            known[name] = made
            wanted = expected(sql, tables)
            view = arctic.open_table(f"shop.{name}", **place)
            found = view.read().read_all()
            names = [each for each in found.column_names if not each.startswith("_")]
            wanted = wanted.rename_columns(names)
            assert shown(found, names) == shown(wanted, names), (seed, name)
            if name == "beside":
                tables[name] = found
            if history.chance.random() < 0.2:
                # All columns, also those that aggregates are kept by.
                anew = arctic.refresh(f"shop.{name}", full=True, **place)
                assert (anew.upserts * (name != "counted"), anew.deletes) == (0, 0), (seed, name)


def _die(
    view: str, chance: random.Random, monkeypatch: pytest.MonkeyPatch, place: dict[str, Any]
) -> None:
    """Refresh a view, and be gone right before the commit or behind it."""
    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(refresh_job, chance.choice(["commit_view", "hold_sources"]), _gone)
        arctic.refresh(view, **place)


def _gone(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt

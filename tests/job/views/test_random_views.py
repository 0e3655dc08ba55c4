"""Views beside DuckDB on the same rows, over random histories: equal after every refresh."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import arctic

ORDERS = pa.schema(
    [
        ("id", pa.int64()),
        ("user", pa.string()),
        ("city", pa.string()),
        ("amount", pa.decimal128(9, 2)),
        ("pieces", pa.int32()),
        ("weight", pa.float64()),
        ("seen", pa.timestamp("us")),
    ]
)
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
    """Two tables that are changed at random."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        place: dict[str, Any] = {"warehouse": str(folder)}
        split = ["bucket(2, id)"] if seed % 2 else []
        self.orders = arctic.create_table(
            "shop.orders", ORDERS, primary_key="id", partition_by=split, **place
        )
        self.users = arctic.create_table("shop.users", USERS, primary_key="name", **place)

    def step(self) -> None:
        """Do one thing."""
        chance = self.chance
        does = chance.choice(["orders"] * 4 + ["users"] * 2 + ["delete", "tidy", "overwrite"])
        if does == "orders":
            self.orders.write(self._orders(chance.randrange(1, 12)), mode="upsert")
        elif does == "users":
            self.users.write(self._users(), mode="upsert")
        elif does == "delete":
            self.orders.delete(chance.choice(["id < 5", "city = 'Rome'", "pieces is null"]))
            self.users.delete(f"name = '{chance.choice('abcd')}'")
        elif does == "tidy":
            self.orders.optimize(type=chance.choice(["minor", "full"]))
            self.users.optimize(type="full")
        else:
            self.orders.write(self._orders(15), mode="overwrite")

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
            }
            for each in ids
        ]
        return pa.Table.from_pylist(rows, schema=ORDERS)

    def _users(self) -> pa.Table:
        chance = self.chance
        names = chance.sample("abcd", chance.randrange(1, 4))
        rows = [
            {"name": name, "age": chance.choice([None, 20, 40, 50]), "city": "Lima"}
            for name in names
        ]
        return pa.Table.from_pylist(rows, schema=USERS)


@pytest.mark.parametrize("seed", range(2))
def test_views_are_what_their_statements_say(tmp_path: Path, seed: int) -> None:
    """After whatever happened to the sources, by the rows that changed alone."""
    history = History(tmp_path, seed)
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    for _ in range(history.chance.randrange(4)):
        history.step()
    for name, sql in VIEWS.items():
        arctic.materialize(sql, f"shop.{name}", **place)
    for _ in range(4):
        for _ in range(history.chance.randrange(1, 4)):
            history.step()
        tables = {"orders": history.orders.read().read_all()}
        tables["users"] = history.users.read().read_all()
        for name, sql in VIEWS.items():
            if history.chance.random() < 0.2 and name != "beside":
                continue
            report = arctic.refresh(f"shop.{name}", **place)
            assert not report.is_full
            wanted = expected(sql, tables)
            view = arctic.open_table(f"shop.{name}", **place)
            found = view.read().read_all()
            names = [each for each in found.column_names if not each.startswith("_")]
            wanted = wanted.rename_columns(names)
            assert shown(found, names) == shown(wanted, names), (seed, name)
            if name == "beside":
                tables[name] = found
            if history.chance.random() < 0.2:
                assert arctic.refresh(f"shop.{name}", full=True, **place).deletes == 0

"""What a table holds after each commit, and what queries answer then, computed by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.drift.accounts import KEY, Accounts
from benchmarks.peers.oracle import Rows, differing_rows
from benchmarks.peers.systems.harness import plain

TABLE = "accounts"
ANSWERED = {
    "group-by": "select region, status, sum(amount) as amount, avg(discount) as discount, "
    f"sum(quantity) as quantity, count(*) as rows from {TABLE} group by region, status",
    "filter": "select count(*) as rows, sum(amount) as amount, max(weight_grams) as heaviest "
    f"from {TABLE} where region = 'asia' and quantity > 15",
    "one key": f"select {KEY}, customer_id, status, region, quantity, amount, comment "
    f"from {TABLE} where {KEY} = {{hot_key}}",
}
"""Queries whose answers are compared."""
ALL_COLUMNS = "all columns"
QUERIES = (*ANSWERED, ALL_COLUMNS)


def statement(query: str, accounts: Accounts) -> str:
    """Return the SQL of a query."""
    if query == ALL_COLUMNS:
        return f"select * from {TABLE}"
    return ANSWERED[query].format(hot_key=accounts.hot_key)


class Expected:
    """The rows in memory, and the answers after the commits at which systems are asked."""

    def __init__(self, accounts: Accounts, asked_after: Sequence[int]) -> None:
        self._accounts = accounts
        self._duckdb = duckdb.connect()
        self._duckdb.execute("set TimeZone = 'UTC'")
        self._duckdb.execute(f"create table {TABLE} as from {_files(accounts.load)}")
        self.answers: dict[tuple[int, str], Rows] = {}
        """By the number of commits and the query."""
        self._ask(0, asked_after)
        for commit, path in enumerate(accounts.upserts, start=1):
            rows = _files(path)
            self._duckdb.execute(
                f"delete from {TABLE} where {KEY} in (select {KEY} from {rows}); "
                f"insert into {TABLE} from {rows}"
            )
            self._ask(commit, asked_after)

    def difference(self, folder: Path) -> str:
        """Say how exported rows differ from those after the last commit; empty: not at all."""
        return differing_rows(self._duckdb, TABLE, folder, self._accounts.schema)

    def _ask(self, commit: int, asked_after: Sequence[int]) -> None:
        if commit in asked_after:
            for query in ANSWERED:
                found: list[Any] = self._duckdb.execute(statement(query, self._accounts)).fetchall()
                self.answers[commit, query] = [[plain(value) for value in row] for row in found]


def _files(path: Path) -> str:
    return f"read_parquet('{path}/*.parquet')"

"""Statements of two threads over the same rows: each version is what one of them made of the last.

Every statement leaves its name in the rows that it writes, so the versions of the table say in
which order they were committed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.errors import PySparkException

import arctic
from tests.spark.catalog.small_plans import small_plans
from tests.spark.catalog.sql import Sql

pytestmark = [pytest.mark.spark, pytest.mark.slow]

T = "arctic.shop.t"
ROUNDS = 3
Rows = list[tuple[int, int, str]]


def source_of(writer: int, number: int) -> dict[int, int]:
    """Return the keys that a MERGE has, three of which both writers share."""
    return {(number + step) % 4: 10 * writer + number for step in range(3)} | {50 + writer: number}


def statement(writer: int, number: int) -> str:
    """Return a MERGE that depends on what is there, and now and then an UPDATE."""
    by = f"'{writer}/{number}'"
    if number % 3 == 2:
        return f"UPDATE {T} SET n = n * 2 + 1, by = {by} WHERE n % 2 = {writer}"
    values = ", ".join(f"({id_}L, {n}L)" for id_, n in source_of(writer, number).items())
    return (
        f"MERGE INTO {T} t USING (SELECT * FROM VALUES {values} AS v(id, n)) s ON t.id = s.id "
        "WHEN MATCHED AND t.n % 5 = 4 THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET n = t.n + s.n, by = {by} "
        f"WHEN NOT MATCHED THEN INSERT (id, n, by) VALUES (s.id, s.n, {by})"
    )


def applied(rows: Rows, writer: int, number: int) -> Rows:
    """Return what the statement makes of rows."""
    by = f"{writer}/{number}"
    if number % 3 == 2:
        return [(k, n * 2 + 1, by) if n % 2 == writer else (k, n, b) for k, n, b in rows]
    source, there = source_of(writer, number), {row[0] for row in rows}
    kept = [row for row in rows if row[0] not in source]
    found = [(k, n + source[k], by) for k, n, _ in rows if k in source and n % 5 != 4]
    return [*kept, *found, *((k, n, by) for k, n in source.items() if k not in there)]


@pytest.mark.parametrize("key", ["id", ""], ids=["keyed", "keyless"])
def test_statements_are_as_if_each_ran_alone(sql: Sql, key: str) -> None:
    """In the order of their commits; one that gives up has changed nothing."""
    first = [(k, k, "first") for k in (*range(4), *(() if key else (2, 2)))]
    sql(f"CREATE TABLE {T} (id BIGINT, n BIGINT, by STRING{f', PRIMARY KEY ({key})' * bool(key)})")
    sql(f"INSERT INTO {T} VALUES {', '.join(map(str, first))}")

    def lands(writer: int, number: int) -> bool:
        try:
            sql.spark.sql(statement(writer, number)).collect()
        except PySparkException as error:
            if "run it again" not in str(error):
                raise
            return False
        return True

    def run(writer: int) -> set[str]:
        return {f"{writer}/{number}" for number in range(ROUNDS) if lands(writer, number)}

    with small_plans(sql.spark), ThreadPoolExecutor(2) as pool:
        landed = set().union(*pool.map(run, range(2)))

    rows, left = first, set(landed)
    versions = arctic.open_table("shop.t").versions()["version"].to_pylist()
    for version in versions[1:]:
        found = arctic.read("shop.t", version=version).read_all().to_pylist()
        state = sorted(tuple[Any, ...](row.values()) for row in found)
        same = [by for by in left if sorted(applied(rows, *map(int, by.split("/")))) == state]
        assert same, f"version {version} is what no statement makes of the one before"
        left.remove(same[0])
        rows = applied(rows, *map(int, same[0].split("/")))
    assert left <= {by for by in landed if by.endswith("/2")}, "only an UPDATE may find nothing"
    assert len(landed) >= ROUNDS

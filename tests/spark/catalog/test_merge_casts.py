"""A MERGE whose ON casts what its source has: the values are sought as the column has them.

Where they are many it is said between which they lie, and a cast need not keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark.catalog.small_plans import small_plans
from tests.spark.catalog.sql import Sql
from tests.spark.lake import with_settings

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
COUNT = 1_200
CASES = {
    "numbers as texts": ("STRING", f"SELECT CAST(id AS INT) AS x FROM range(1, {COUNT + 1})"),
    "fractions as texts": (
        "STRING",
        f"SELECT CAST(id / 8 AS DECIMAL(9, 3)) AS x FROM range(-500, {COUNT})",
    ),
    "floating numbers as texts": (
        "STRING",
        f"SELECT id / 8D AS x FROM range(-500, {COUNT})",
    ),
    "days as texts": (
        "STRING",
        "SELECT date_add(DATE '9998-01-01', CAST(id AS INT)) AS x FROM range(1, 1500)",
    ),
    # From 2 to 3 o'clock there was no time on that day: what is said so is an hour later.
    "times of a clock that is put forward": (
        "TIMESTAMP",
        "SELECT timestampadd(SECOND, CAST(id AS INT) * 7, TIMESTAMP_NTZ '2024-03-31 01:00:00') "
        "AS x FROM range(0, 1285)",
    ),
    # From 2 to 3 o'clock every time came twice.
    "times of a clock that is put back": (
        "TIMESTAMP_NTZ",
        "SELECT timestampadd(SECOND, CAST(id AS INT) * 7, TIMESTAMP '2024-10-27 01:00:00+02:00') "
        "AS x FROM range(0, 1285)",
    ),
    "wider numbers": ("DECIMAL(20, 2)", f"SELECT CAST(id AS INT) AS x FROM range(-9, {COUNT})"),
}


@pytest.fixture(autouse=True)
def cheap(sql: Sql) -> Iterator[None]:
    """Have few rows cost little, at a place where clocks are changed."""
    with (
        small_plans(sql.spark),
        with_settings(sql.spark, {"spark.sql.session.timeZone": "Europe/Berlin"}),
    ):
        yield


@pytest.mark.parametrize("key", [", PRIMARY KEY (k)", ""], ids=["keyed", "without a key"])
@pytest.mark.parametrize("name", CASES)
def test_rows_that_match_are_found_whatever_is_cast(sql: Sql, name: str, key: str) -> None:
    """Each is updated once, and none is taken for a new one."""
    kind, source = CASES[name]
    sql(
        f"CREATE TABLE {T} (k {kind} NOT NULL, n INT{key})",
        f"CREATE OR REPLACE TEMP VIEW cast_source AS {source}",
        "CREATE OR REPLACE TEMP VIEW cast_rows AS "
        f"SELECT min(x) AS x FROM cast_source GROUP BY CAST(x AS {kind})",
        f"INSERT INTO {T} SELECT k, 0 FROM (SELECT DISTINCT CAST(x AS {kind}) k FROM cast_source)",
    )
    count = sql(f"SELECT count(*) FROM {T}")[0][0]
    assert count > 1_000
    merge = f"MERGE INTO {T} t USING cast_rows s ON t.k = CAST(s.x AS {kind}) "
    insert = f"WHEN NOT MATCHED THEN INSERT (k, n) VALUES (CAST(s.x AS {kind}), 7)"

    sql(merge + f"WHEN MATCHED AND s.x IS NOT NULL THEN UPDATE SET n = t.n + 1 {insert}")
    assert sql(f"SELECT n, count(*) FROM {T} GROUP BY n") == [(1, count)]
    sql(merge + insert)
    assert sql(f"SELECT n, count(*) FROM {T} GROUP BY n") == [(1, count)]


def test_numbers_that_the_plan_holds_are_sought_as_texts(sql: Sql) -> None:
    """And who changes one of them meanwhile is in the way: the keys are those of the column."""
    values = ", ".join(f"({number})" for number in range(1, COUNT + 1))
    sql(
        f"CREATE TABLE {T} (k STRING NOT NULL, n INT, PRIMARY KEY (k))",
        f"INSERT INTO {T} SELECT CAST(id AS STRING), 0 FROM range(1, {COUNT + 1})",
        f"MERGE INTO {T} t USING (SELECT * FROM VALUES {values} v(x)) s "
        "ON t.k = CAST(s.x AS STRING) WHEN MATCHED AND s.x > 0 THEN UPDATE SET n = t.n + 1 "
        "WHEN NOT MATCHED THEN INSERT (k, n) VALUES (CAST(s.x AS STRING), 7)",
    )

    assert sql(f"SELECT n, count(*) FROM {T} GROUP BY n") == [(1, COUNT)]

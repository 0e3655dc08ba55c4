"""DELETE by metadata: the rows that go are those for which the condition is true, and no others."""

from __future__ import annotations

import pytest

import arctic
from arctic.spark.base.private_names import gateway, jvm
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
ROWS = [
    "(1, DATE '2024-01-01', 1, 1D), (2, DATE '2024-01-01', null, double('NaN'))",
    "(3, DATE '2024-02-01', 3, 3D), (4, DATE '2024-02-01', 4, null)",
    "(5, null, 5, 5D), (6, null, null, -0D)",
]
DECEMBER = "day = DATE '2023-12-01'"
CONDITIONS = {
    "day = DATE '2024-01-01'": True,
    "NOT (day = DATE '2024-01-01')": True,
    "day IN (DATE '2024-01-01', DATE '2024-02-01')": True,
    "day NOT IN (DATE '2024-01-01', null)": None,
    "day IS NULL": True,
    "day <=> null OR day >= DATE '2024-02-01'": None,
    "day < DATE '2024-02-01' AND v > 0": False,
    "day > DATE '2024-01-15' AND v > 0": None,
    "v > 2": False,
    "v IS NULL OR v < 2": False,
    "x < 9": False,
    "id = 1 OR day IN (SELECT day FROM arctic.shop.t WHERE id = 3)": False,
    "id % 2 = 0 AND day IS NOT NULL": False,
    DECEMBER: True,
}
"""Whether metadata is enough; None: both would do, and it depends on what has a key."""


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id, day)"], ids=["keyless", "keyed"])
def test_the_rows_that_go_are_those_of_the_condition(sql: Sql, key: str) -> None:
    """Not the ones of which it is null, in partitions or in bounds."""
    rows = [each.replace("null, 5", "DATE '2024-03-01', 5") for each in ROWS] if key else ROWS
    rows = [each.replace("(6, null", "(6, DATE '2024-03-01'") for each in rows] if key else rows
    sql(
        f"CREATE TABLE {T} (id INT, day DATE, v INT, x DOUBLE{key}) PARTITIONED BY (day) "
        "TBLPROPERTIES ('base.file-index.hash-bucket' = '1')",
        *(f"INSERT INTO {T} VALUES {each}" for each in rows),
    )
    if key:
        arctic.optimize("shop.t", type="full")
    table = arctic.open_table("shop.t")
    table.tag("full")
    for condition, by_metadata in CONDITIONS.items():
        stays = sql(f"SELECT * FROM {T} WHERE ({condition}) IS NOT TRUE")
        before = {path for store in ("base", "change") for path in _paths(store)}
        sql(f"DELETE FROM {T} WHERE {condition}")
        assert repr(sql.rows("shop.t")) == repr(sorted(stays, key=repr)), condition
        written = {path for store in ("base", "change") for path in _paths(store)} - before
        if by_metadata is not None:
            assert by_metadata == (not written), condition
        table.restore("full")


def test_a_condition_that_is_not_known_is_never_passed_over(sql: Sql) -> None:
    """Whoever asks for it without having asked whether it can be done is told so."""
    sql(f"CREATE TABLE {T} (id INT)", f"INSERT INTO {T} VALUES (1)")
    java = jvm(sql.spark)
    names = "org.apache.spark.sql.connector"
    strange = getattr(java, f"{names}.expressions.filter.Predicate")
    expression = getattr(java, f"{names}.expressions.Expression")
    years = gateway(sql.spark).new_array(expression, 1)
    years[0] = getattr(java, f"{names}.expressions.Expressions").years("id")
    predicates = gateway(sql.spark).new_array(strange, 1)
    predicates[0] = strange("IS_NULL", years)
    namespace = gateway(sql.spark).new_array(java.java.lang.String, 1)
    namespace[0] = "shop"
    identifier = getattr(java, f"{names}.catalog.Identifier").of(namespace, "t")
    catalogs = sql.spark._jsparkSession.sessionState().catalogManager()
    table = catalogs.catalog("arctic").loadTable(identifier)

    assert not table.canDeleteWhere(predicates)
    with pytest.raises(Exception, match="no row was deleted"):
        table.deleteWhere(predicates)
    assert sql.rows("shop.t") == [(1,)]


def _paths(store: str) -> list[str]:
    """Return the files of a store."""
    files = arctic.read("shop.t.files").read_all().to_pylist()
    return [file["path"] for file in files if file["store"] == store]

"""Branches of tables without a key, by statements: named in the table's name or by the session."""

from __future__ import annotations

import pytest

import arctic
from tests.spark.catalog.row_level.case import ROWS
from tests.spark.catalog.sql import Rows, Sql
from tests.spark.lake import with_settings

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
WAP = {"spark.wap.branch": "audit"}
SOURCE = "(SELECT * FROM VALUES (2L, 'B', 200), (4L, 'd', 40) AS s(id, v, n))"
COMMANDS: dict[str, tuple[str, Rows]] = {
    "DELETE": ("DELETE FROM {t} WHERE id = 2", [ROWS[0], ROWS[2]]),
    "DELETE of a partition": ("DELETE FROM {t} WHERE v = 'a'", ROWS[1:]),
    "DELETE of all": ("DELETE FROM {t}", []),
    "UPDATE": ("UPDATE {t} SET n = n + 1 WHERE id < 3", [(1, "a", 11), (2, "b", 21), ROWS[2]]),
    "MERGE": (
        f"MERGE INTO {{t}} t USING {SOURCE} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *",
        [ROWS[0], (2, "B", 200), ROWS[2], (4, "d", 40)],
    ),
    "MERGE by clauses": (
        f"MERGE INTO {{t}} t USING {SOURCE} s ON t.id = s.id WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND s.n > 50 THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN UPDATE SET n = 0",
        [ROWS[0], (3, None, 0)],
    ),
    "INSERT": ("INSERT INTO {t} VALUES (5L, 'e', 50)", [*ROWS, (5, "e", 50)]),
    "INSERT OVERWRITE": ("INSERT OVERWRITE {t} VALUES (5L, 'e', 50)", [(5, "e", 50)]),
}


@pytest.fixture
def begun(sql: Sql) -> Sql:
    """The table ``t`` with three rows in two files, whose writes may be audited."""
    sql(
        f"CREATE TABLE {T} (id BIGINT NOT NULL, v STRING, n INT) PARTITIONED BY (v) "
        "TBLPROPERTIES ('write.wap.enabled' = 'true')",
        f"INSERT INTO {T} VALUES (1, 'a', 10), (2, 'b', 20)",
        f"INSERT INTO {T} VALUES (3, NULL, 30)",
    )
    return sql


def rows_of(sql: Sql, table: str) -> Rows:
    """Return the rows as Spark sees them."""
    return sorted(sql(f"SELECT * FROM {table}"), key=repr)


def test_commands_on_a_branch_leave_the_table_as_it_is(begun: Sql) -> None:
    """Each command sees the branch and moves it alone; Spark and Python read the same rows."""
    for number, (statement, expected) in enumerate(COMMANDS.values()):
        branch = f"b{number}"
        arctic.open_table("shop.t").create_branch(branch)
        begun(statement.format(t=f"{T}.branch_{branch}"))

        assert rows_of(begun, f"{T}.branch_{branch}") == sorted(expected, key=repr), statement
        assert begun.rows(f"shop.t.branch_{branch}") == sorted(expected, key=repr)
        assert rows_of(begun, T) == begun.rows("shop.t") == sorted(ROWS, key=repr)
    assert rows_of(begun, f"{T} VERSION AS OF 'b1'") == sorted(ROWS[1:], key=repr)
    begun(f"INSERT INTO {T} VALUES (6, 'f', 60)")
    assert rows_of(begun, f"{T}.branch_b2") == []


def test_a_session_works_on_its_branch(begun: Sql) -> None:
    """It reads the table until its first write, which makes the branch; nobody else sees a row."""
    for statement, expected in COMMANDS.values():
        with with_settings(begun.spark, WAP):
            assert rows_of(begun, T) == sorted(ROWS, key=repr)
            begun(statement.format(t=T), f"INSERT INTO {T} VALUES (7, 'g', 70)")
            assert rows_of(begun, T) == sorted([*expected, (7, "g", 70)], key=repr), statement

        assert begun.rows("shop.t") == sorted(ROWS, key=repr), statement
        assert len(begun.rows("shop.t.branch_audit")) == len(expected) + 1
        arctic.open_table("shop.t").drop_branch("audit")


def test_a_session_with_a_branch_takes_no_other(begun: Sql) -> None:
    """Two branches are named then, and nothing is changed on either."""
    arctic.open_table("shop.t").create_branch("other")
    with with_settings(begun.spark, WAP):
        for statement, _ in COMMANDS.values():
            said = begun.refused(statement.format(t=f"{T}.branch_other"))
            assert "works on branch 'audit'" in said, statement
    assert begun.rows("shop.t.branch_other") == begun.rows("shop.t") == sorted(ROWS, key=repr)
    assert [each.name for each in arctic.open_table("shop.t").branches()] == ["main", "other"]


def test_a_sessions_branch_is_of_tables_that_ask_for_it(begun: Sql) -> None:
    """Where ``write.wap.enabled`` is not said, rows go to the table."""
    begun(f"ALTER TABLE {T} UNSET TBLPROPERTIES ('write.wap.enabled')")
    with with_settings(begun.spark, WAP):
        begun(f"DELETE FROM {T}")
    assert rows_of(begun, T) == []


def test_a_branch_becomes_the_table(begun: Sql) -> None:
    """By a fast-forward, which is refused where it would lose what the table has got since."""
    with with_settings(begun.spark, WAP):
        begun(f"UPDATE {T} SET n = 0 WHERE id = 1", "CALL arctic.system.optimize('shop.t')")
    assert rows_of(begun, T) == sorted(ROWS, key=repr)

    (said,) = begun("CALL arctic.system.fast_forward('shop.t', 'main', 'audit')")

    assert said[0] == "main"
    assert rows_of(begun, T) == [(1, "a", 0), ROWS[1], ROWS[2]]
    begun(
        f"INSERT INTO {T} VALUES (8, 'h', 80)",
        f"INSERT INTO {T}.branch_audit VALUES (9, 'i', 90)",
    )
    lost = begun.refused("CALL arctic.system.fast_forward('shop.t', 'main', 'audit')")
    assert "has commits that 'audit' lacks" in lost
    begun("CALL arctic.system.drop_branch('shop.t', 'audit')")
    assert "no branch 'audit'; there are 'main'" in begun.refused(
        "CALL arctic.system.drop_branch('shop.t', 'audit')"
    )
    assert "TABLE_OR_VIEW_NOT_FOUND" in begun.refused(f"SELECT * FROM {T}.branch_audit")
    assert "8" in str(rows_of(begun, T))


def test_what_is_no_write_of_rows_is_refused_on_a_branch(begun: Sql) -> None:
    """Columns and upkeep are the table's; a table with a key says what to do instead."""
    begun("CALL arctic.system.create_branch('shop.t', 'x')")
    for statement in (
        f"ALTER TABLE {T}.branch_x ADD COLUMN more INT",
        f"ALTER TABLE {T}.branch_x SET TBLPROPERTIES ('a' = 'b')",
        f"DROP TABLE {T}.branch_x",
        "CALL arctic.system.optimize('shop.t.branch_x')",
        "CALL arctic.system.expire('shop.t.branch_x')",
    ):
        assert "is a branch of table 'shop.t'" in begun.refused(statement), statement
    begun("CREATE TABLE arctic.shop.k (id BIGINT NOT NULL, PRIMARY KEY (id))")
    for statement in (
        "CALL arctic.system.create_branch('shop.k', 'x')",
        "INSERT INTO arctic.shop.k.branch_x VALUES (1)",
        "DELETE FROM arctic.shop.k.branch_x",
    ):
        assert "make a clone instead" in begun.refused(statement), statement
    begun("ALTER TABLE arctic.shop.k SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    with with_settings(begun.spark, WAP):
        assert "make a clone" in begun.refused("INSERT INTO arctic.shop.k VALUES (1)")
    assert begun.rows("shop.k") == []

"""Commands on a table that vouches for its partitions, which its key does not decide.

What it vouches for goes for rows that are written to it. A row that a command deletes or moves goes
from where it is stored, and nothing is looked up where the command has seen that.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import arctic
from arctic.job.write import command_write, write_job
from arctic.spark.write import spread
from tests.spark.catalog.small_plans import small_plans
from tests.spark.catalog.sql import Rows, Sql
from tests.spark.lake import with_settings

pytestmark = pytest.mark.spark

T = "arctic.shop.t"
SCHEMA = pa.schema(
    [("id", pa.int64()), ("part", pa.string()), ("n", pa.int64()), ("v", pa.string())]
)
A, B, C, D = (1, "x", 10, "a"), (2, "x", 20, "b"), (3, "y", 30, "c"), (4, None, 40, "d")
STABLE = {"write.upsert.cross-partition": "assume-stable"}
SOURCE = "(SELECT * FROM VALUES {} v(id, part, n, op)) s"


def merge(on: str, clauses: str, *rows: str) -> str:
    """Return a MERGE of some rows."""
    return f"MERGE INTO {T} t USING {SOURCE.format(', '.join(rows))} ON {on} {clauses}"


BY_KEY = "t.id = s.id"
DELETED, UPDATED = "(1L, null, 0L, 'D')", "(3L, 'y', 5L, 'U')"
NEW = "(9L, 'z', 9L, 'U')"
ADDS = "WHEN MATCHED THEN UPDATE SET n = t.n + s.n"
SETS = "WHEN MATCHED THEN UPDATE SET id = s.id, part = s.part, n = s.n, v = s.op"
INSERTS = "THEN INSERT (id, part, n, v) VALUES (s.id, s.part, s.n, s.op)"
COMMANDS = {
    "a delete": (f"DELETE FROM {T} WHERE upper(v) = 'A'", [B, C, D]),
    "a delete from the partition of nulls": (f"DELETE FROM {T} WHERE upper(v) = 'D'", [A, B, C]),
    "a delete by what others have": (
        f"DELETE FROM {T} WHERE id IN (SELECT id + 1 FROM VALUES (0L), (2L) v(id))",
        [B, D],
    ),
    "a delete by plain values": (f"DELETE FROM {T} WHERE v = 'a' OR n = 30", [B, D]),
    "an update": (
        f"UPDATE {T} SET n = n + 1 WHERE upper(v) = 'A'",
        [(1, "x", 11, "a"), B, C, D],
    ),
    "an update of partitions": (
        f"UPDATE {T} SET part = concat('z', v) WHERE upper(v) IN ('A', 'C', 'D')",
        [(1, "za", 10, "a"), B, (3, "zc", 30, "c"), (4, "zd", 40, "d")],
    ),
    "an update of some partitions to what they are": (
        f"UPDATE {T} SET part = if(upper(v) = 'A', 'y', part), n = n + 1",
        [(1, "y", 11, "a"), (2, "x", 21, "b"), (3, "y", 31, "c"), (4, None, 41, "d")],
    ),
    "an update of a partition by plain values": (
        f"UPDATE {T} SET part = 'y' WHERE id = 1",
        [(1, "y", 10, "a"), B, C, D],
    ),
    "an update of partitions by what others have": (
        f"UPDATE {T} SET part = (SELECT max(p) FROM VALUES ('y'), ('x') v(p)) "
        "WHERE id IN (SELECT id FROM VALUES (1L) v(id))",
        [(1, "y", 10, "a"), B, C, D],
    ),
    "a merge that deletes and updates": (
        merge(BY_KEY, f"WHEN MATCHED AND s.op = 'D' THEN DELETE {ADDS}", DELETED, UPDATED),
        [B, (3, "y", 35, "c"), D],
    ),
    "a merge that deletes, updates and inserts": (
        merge(
            BY_KEY,
            f"WHEN MATCHED AND t.n = 10 THEN DELETE {ADDS} WHEN NOT MATCHED {INSERTS}",
            DELETED,
            UPDATED,
            NEW,
        ),
        [B, (3, "y", 35, "c"), D, (9, "z", 9, "U")],
    ),
    "a merge that deletes what it finds by another column": (
        merge("t.v = s.op", "WHEN MATCHED THEN DELETE", "(0L, 'y', 0L, 'd'), (0L, '', 0L, 'b')"),
        [A, C],
    ),
    "a merge that deletes what its source has not": (
        merge(
            BY_KEY,
            f"{ADDS} WHEN NOT MATCHED BY SOURCE AND t.n < 40 THEN DELETE "
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET part = 'gone'",
            UPDATED,
        ),
        [(3, "y", 35, "c"), (4, "gone", 40, "d")],
    ),
    "a merge that moves rows": (
        merge(
            BY_KEY,
            "WHEN MATCHED AND t.n > s.n THEN UPDATE SET part = s.part, n = s.n",
            "(1L, 'z', 1L, 'U')",
            "(3L, 'y', 2L, 'U')",
            "(4L, 'x', 99L, 'U')",
        ),
        [(1, "z", 1, "a"), B, (3, "y", 2, "c"), D],
    ),
    "a merge that moves some rows, deletes and inserts others": (
        merge(
            BY_KEY,
            "WHEN MATCHED AND t.n = 20 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET part = concat(coalesce(t.part, ''), s.part), n = t.n "
            f"WHEN NOT MATCHED {INSERTS}",
            "(1L, 'z', 1L, 'U')",
            "(2L, null, 0L, 'D')",
            "(4L, 'z', 0L, 'U')",
            NEW,
        ),
        [(1, "xz", 10, "a"), C, (4, "z", 40, "d"), (9, "z", 9, "U")],
    ),
    "a merge of columns by the key": (
        merge(BY_KEY, f"{ADDS}, part = s.part", "(1L, 'z', 1L, 'U')"),
        [(1, "z", 11, "a"), B, C, D],
    ),
    "a merge that inserts": (
        merge(BY_KEY, f"WHEN NOT MATCHED {INSERTS}", UPDATED, NEW),
        [A, B, C, D, (9, "z", 9, "U")],
    ),
    "a merge that only inserts and updates": (
        merge(BY_KEY, f"{ADDS} WHEN NOT MATCHED {INSERTS}", UPDATED, NEW),
        [A, B, (3, "y", 35, "c"), D, (9, "z", 9, "U")],
    ),
    "a blind merge": (
        merge(BY_KEY, f"{SETS} WHEN NOT MATCHED {INSERTS}", UPDATED, NEW),
        [A, B, (3, "y", 5, "U"), D, (9, "z", 9, "U")],
    ),
}
"""Of which nothing is looked up: a statement, and the rows after it."""
LOOKING = {
    "a merge that deletes alone": (
        merge(BY_KEY, "WHEN MATCHED THEN DELETE", DELETED, "(4L, 'no', 0L, 'D')"),
        [B, C],
    ),
    "a blind merge that deletes": (
        merge(
            BY_KEY,
            f"WHEN MATCHED AND s.op = 'D' THEN DELETE {SETS} "
            f"WHEN NOT MATCHED AND NOT (s.op = 'D') {INSERTS}",
            DELETED,
            "(4L, 'no', 0L, 'D')",
            UPDATED,
            NEW,
        ),
        [B, (3, "y", 5, "U"), (9, "z", 9, "U")],
    ),
    "keys that are swapped": (
        f"UPDATE {T} SET id = CASE id WHEN 1 THEN 3 WHEN 3 THEN 1 ELSE 8 END WHERE id <> 2",
        [(1, "y", 30, "c"), B, (3, "x", 10, "a"), (8, None, 40, "d")],
    ),
    "a merge that changes keys": (
        merge(
            BY_KEY,
            "WHEN MATCHED THEN UPDATE SET id = s.n",
            "(1L, '', 3L, '')",
            "(3L, '', 1L, '')",
        ),
        [(1, "y", 30, "c"), B, (3, "x", 10, "a"), D],
    ),
}


@pytest.fixture
def begun(sql: Sql) -> Iterator[Sql]:
    """A table of four rows in three partitions."""
    begin(STABLE)
    with small_plans(sql.spark):
        yield sql


@pytest.fixture
def many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have few rows sent to several tasks, those of other partitions to others."""
    monkeypatch.setattr(spread, "is_narrow", lambda *_, **__: False)


def begin(properties: dict[str, str]) -> None:
    """Make the table."""
    table = arctic.create_table(
        "shop.t", SCHEMA, primary_key=["id"], partition_by=["part"], properties=properties
    )
    columns = list(map(list, zip(A, B, C, D, strict=True)))
    table.write(pa.table(columns, schema=SCHEMA), mode="upsert")


def stored(sql: Sql) -> Rows:
    """Return all rows, in the order of their keys."""
    return sorted(sql.rows("shop.t"))


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_take_rows_from_where_they_are(
    begun: Sql, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they have read says it, so nothing is looked up."""
    _check_unsought(begun, name, monkeypatch)


@pytest.mark.parametrize(
    "name",
    [
        "a delete",
        "an update of some partitions to what they are",
        "a merge that moves some rows, deletes and inserts others",
    ],
)
@pytest.mark.usefixtures("many_tasks")
def test_tasks_take_rows_out_of_partitions_of_others(
    begun: Sql, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task that has a row from now on."""
    _check_unsought(begun, name, monkeypatch)


def _check_unsought(sql: Sql, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statement, rows = COMMANDS[name]
    for module in (write_job, command_write):
        monkeypatch.setattr(module, "locate_rows", _refused)

    sql(statement)

    assert stored(sql) == rows


@pytest.mark.parametrize("name", LOOKING)
def test_commands_look_up_what_they_have_not_read(begun: Sql, name: str) -> None:
    """Whatever the table vouches for: rows of a source need not say where those are that go."""
    statement, rows = LOOKING[name]

    begun(statement)

    assert stored(begun) == rows


@pytest.mark.usefixtures("many_tasks")
def test_keys_change_across_tasks(begun: Sql) -> None:
    """Each key has one task, whatever the partitions are that it comes from and goes to."""
    statement, rows = LOOKING["keys that are swapped"]

    begun(statement)

    assert stored(begun) == rows


@pytest.mark.usefixtures("many_tasks")
def test_a_key_for_two_rows_is_refused_wherever_they_are(begun: Sql) -> None:
    """Also where they are in partitions of two tasks."""
    with pytest.raises(PySparkException, match="several rows have the key"):
        begun(f"UPDATE {T} SET id = 7 WHERE upper(v) IN ('A', 'C')")

    assert stored(begun) == [A, B, C, D]


@pytest.mark.parametrize("name", ["an update of partitions", "a merge that moves rows", "a delete"])
def test_changes_are_told_as_of_a_table_that_looks_rows_up(
    sql: Sql, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that moved was updated, and is told as it was."""
    told: list[list[dict[str, Any]]] = []
    for properties in (STABLE, {}):
        if told:
            sql(f"DROP TABLE {T}")
        begin(properties)
        sql(COMMANDS[name][0])
        asked = {"start-version": "1", "change-rows": "commits"}
        rows = arctic.open_table("shop.t").read_changes(options=asked).read_all()
        told.append(sorted(rows.drop_columns("_commit_timestamp").to_pylist(), key=repr))

    assert told[0] == told[1]


def test_days_are_those_of_what_is_stored(sql: Sql) -> None:
    """Wherever the session is, and beside a part of the key that partitions are made of."""
    sql(
        f"CREATE TABLE {T} (id BIGINT NOT NULL, at TIMESTAMP NOT NULL, v STRING, PRIMARY KEY (id)) "
        "PARTITIONED BY (bucket(2, id), days(at)) "
        "TBLPROPERTIES ('write.upsert.cross-partition' = 'assume-stable')"
    )
    with with_settings(sql.spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        sql(
            f"INSERT INTO {T} SELECT id, timestampadd(HOUR, CAST(id AS INT) * 5, "
            "TIMESTAMP '2024-02-28 20:00:00'), CAST(id AS STRING) FROM range(12)",
            f"UPDATE {T} SET at = timestampadd(HOUR, 9, at) WHERE length(v) = 1",
            f"DELETE FROM {T} WHERE length(v) = 2",
            f"MERGE INTO {T} t USING (SELECT id, 'x' AS v FROM range(0, 20, 3)) s ON t.id = s.id "
            "WHEN MATCHED AND t.id = 0 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET at = timestampadd(DAY, 1, t.at), v = s.v",
        )

    first = datetime(2024, 2, 28, 11, tzinfo=timezone.utc)
    assert stored(sql) == [
        (n, first + timedelta(hours=n * 5 + 9 + (0 if n % 3 else 24)), str(n) if n % 3 else "x")
        for n in range(1, 10)
    ]


def _refused(*_: Any, **__: Any) -> None:
    raise AssertionError("rows are looked up")

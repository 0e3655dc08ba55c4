"""What commits did to the rows of a table, asked for in SQL and by Spark's readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

import arctic
from tests.spark.catalog.sql import Rows, Sql

pytestmark = pytest.mark.spark

USERS = "arctic.shop.users"
TOLD = f"SELECT id, city, _change_type, _commit_version FROM {USERS} CHANGES"


@pytest.fixture
def users(sql: Sql) -> Sql:
    """Four versions of a table."""
    sql(
        f"CREATE TABLE {USERS} (id BIGINT, city STRING, PRIMARY KEY (id))",
        f"INSERT INTO {USERS} VALUES (1, 'Rome'), (2, 'Oslo')",
        f"INSERT INTO {USERS} VALUES (2, 'Bern'), (3, 'Lima')",
        f"DELETE FROM {USERS} WHERE id = 1",
        f"UPDATE {USERS} SET city = 'Kyiv' WHERE id = 2",
    )
    return sql


def test_sql_tells_rows_of_a_range_of_versions(users: Sql) -> None:
    """Ends count unless they are exclusive; options and other tables go with it."""
    second: Rows = [(2, "Bern", "insert", 2), (2, "Oslo", "delete", 2), (3, "Lima", "insert", 2)]
    third: Rows = [(1, "Rome", "delete", 3)]
    fourth: Rows = [(2, "Bern", "delete", 4), (2, "Kyiv", "insert", 4)]
    assert sorted(users(f"{TOLD} FROM VERSION 2")) == sorted(second + third + fourth)
    assert users(f"{TOLD} FROM VERSION 2 EXCLUSIVE TO VERSION 4 EXCLUSIVE") == third
    net = "WITH ('deduplicationMode' = 'netChanges', 'computeUpdates' = 'true')"
    assert sorted(users(f"{TOLD} FROM VERSION 2 TO VERSION 4 {net}")) == [
        (1, "Rome", "delete", 3),
        (2, "Kyiv", "update_postimage", 4),
        (2, "Oslo", "update_preimage", 2),
        (3, "Lima", "insert", 2),
    ]
    [(first, last)] = users(
        "SELECT string(min(_commit_timestamp)), string(max(_commit_timestamp)) "
        f"FROM {USERS} CHANGES FROM VERSION 2 TO VERSION 3"
    )
    at = f"FROM TIMESTAMP '{first}' TO TIMESTAMP '{last}'"
    assert sorted(users(f"{TOLD} {at}")) == sorted(second + third)
    assert users(f"SELECT count(*) FROM {USERS} CHANGES FROM VERSION 2 WHERE id > 1") == [(5,)]
    assert users(
        f"SELECT c.city, u.city FROM {USERS} CHANGES FROM VERSION 1 TO VERSION 1 c "
        f"JOIN {USERS} u ON u.id = c.id"
    ) == [("Oslo", "Kyiv")]


def test_what_cannot_be_told_is_refused_with_its_name(users: Sql) -> None:
    """While the statement is analysed or planned."""
    assert "has no version and no snapshot 9" in users.refused(f"{TOLD} FROM VERSION 9")
    assert "before it starts" in users.refused(f"{TOLD} FROM VERSION 4 TO VERSION 1")
    assert "a metadata table has none" in users.refused(
        f"SELECT * FROM {USERS}.files CHANGES FROM VERSION 1"
    )
    assert "TABLE_OR_VIEW_NOT_FOUND" in users.refused(
        "SELECT * FROM arctic.shop.nobody CHANGES FROM VERSION 1"
    )
    assert "option change-rows" in users.refused(
        f"{TOLD} FROM VERSION 1 WITH ('change-rows' = 'events')"
    )


def test_rows_that_are_replaced_are_told_as_their_difference(users: Sql) -> None:
    """What stays as it is, is none."""
    users(f"INSERT OVERWRITE {USERS} VALUES (3, 'Lima'), (5, 'Baku')")
    replaced: Rows = [(2, "Kyiv", "delete", 5), (5, "Baku", "insert", 5)]
    assert sorted(users(f"{TOLD} FROM VERSION 5")) == replaced
    net = "WITH ('deduplicationMode' = 'netChanges')"
    assert sorted(users(f"{TOLD} FROM VERSION 4 {net}")) == [
        (2, "Bern", "delete", 5),
        (5, "Baku", "insert", 5),
    ]


def test_readers_tell_batches_and_streams(users: Sql, tmp_path: Path) -> None:
    """A stream goes on behind its checkpoint, and refuses what a batch of it cannot be."""
    updates = {"computeUpdates": "true"}
    read = users.spark.read.options(startingVersion="4", **updates).changes(USERS)
    assert sorted(row["_change_type"] for row in read.collect()) == [
        "update_postimage",
        "update_preimage",
    ]
    told: list[list[Any]] = []

    def take(rows: DataFrame, _: int) -> None:
        told.append(sorted(tuple(row)[:4] for row in rows.drop("_commit_timestamp").collect()))

    def run(**options: str) -> None:
        stream = users.spark.readStream.options(startingVersion="3", **options).changes(USERS)
        writing = stream.writeStream.foreachBatch(take).trigger(availableNow=True)
        query = writing.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        query.awaitTermination()

    run(**updates)
    arctic.open_table("shop.users").optimize(type="full")
    users(f"INSERT INTO {USERS} VALUES (3, 'Quito')")
    run(**updates)
    assert told == [
        [
            (1, "Rome", "delete", 3),
            (2, "Bern", "update_preimage", 4),
            (2, "Kyiv", "update_postimage", 4),
        ],
        [(3, "Lima", "update_preimage", 6), (3, "Quito", "update_postimage", 6)],
    ]
    with pytest.raises(Exception, match="deduplicationMode = netChanges for a stream"):
        run(deduplicationMode="netChanges")

"""Procedures of the catalog ``arctic``: what CALL takes, does, returns and refuses."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.spark.base.private_names import jvm_context
from tests.job.adopt.test_repair_job import Plain as Sink
from tests.job.adopt.test_repair_job import row
from tests.spark.catalog.sql import Sql

pytestmark = pytest.mark.spark

AT_ONCE = (
    "map('snapshot.keep.duration', '0', 'change.data.ttl.minutes', '0', "
    "'clean-orphan-file.min-existing-time-minutes', '0')"
)


@pytest.fixture
def orders(sql: Sql) -> Sql:
    """A table with three commits: two rows, one more, one of them anew."""
    sql(
        "CREATE TABLE arctic.shop.orders (id BIGINT, city STRING, PRIMARY KEY (id))",
        "INSERT INTO arctic.shop.orders VALUES (1, 'Rome'), (2, 'Oslo')",
        "INSERT INTO arctic.shop.orders VALUES (3, 'Lima')",
        "INSERT INTO arctic.shop.orders VALUES (1, 'Bern')",
    )
    return sql


def test_a_table_is_optimized_cleaned_and_looked_at(orders: Sql) -> None:
    """Optimizing runs as jobs of Spark; each call returns what it did, by position and by name."""
    jobs = jvm_context(orders.spark.sparkContext).dagScheduler().numTotalJobs
    looked = orders("CALL arctic.system.status('shop.orders')")[0]
    assert (looked[0], looked[2]) == ("", None)
    assert looked[7] > 0
    assert looked[-1].startswith("1 node: all files hold ")
    before = jobs()

    done = orders("CALL arctic.system.optimize(type => 'full', table => 'arctic.shop.orders')")[0]
    assert done[:3] == ("shop.orders", "full", 1)
    assert jobs() > before
    assert orders.rows("shop.orders") == [(1, "Bern"), (2, "Oslo"), (3, "Lima")]
    again = orders("CALL arctic.system.optimize('shop.orders')")[0]
    assert again[:3] == ("shop.orders", None, 0)

    planned = orders(f"CALL arctic.system.expire('shop.orders', true, {AT_ONCE})")
    states = len(orders("CALL arctic.system.versions('shop.orders')"))
    gone = orders(f"CALL arctic.system.expire(table => 'shop.orders', options => {AT_ONCE})")
    assert {row[0]: row[1] for row in planned}["snapshot"] > 0
    assert {row[0]: row[1] for row in gone}["change file"] > 0
    assert len(orders("CALL arctic.system.versions('shop.orders')")) < states
    assert orders(f"CALL arctic.system.clean_orphans('shop.orders', false, {AT_ONCE})") == []
    arctic.consumer("shop.orders", "copy", options={"stream-from": "latest"})
    (listed,) = orders("CALL arctic.system.consumers('shop.orders')")
    assert (listed[0], *listed[2:]) == ("copy", 0, 0, 0.0, True)
    assert orders("CALL arctic.system.drop_consumer('shop.orders', 'copy')") == [("copy",)]
    assert orders("CALL arctic.system.consumers('shop.orders')") == []
    plan = orders(
        "CALL arctic.system.explain('shop.orders', filter => 'id = 2', columns => array('city'))"
    )
    assert any("base" in row[0] for row in plan)
    assert orders.rows("shop.orders") == [(1, "Bern"), (2, "Oslo"), (3, "Lima")]


def test_a_view_is_made_and_refreshed(orders: Sql) -> None:
    """From the rows that changed, and computed anew where that is asked for."""
    made = orders(
        "CALL arctic.system.materialize('shop.long', 'SELECT id, city FROM shop.orders "
        "WHERE length(city) = 4', properties => map('self-refreshing.interval', '10m'))"
    )
    assert [row[:4] for row in made] == [("shop.long", True, 3, 0)]
    orders("DELETE FROM arctic.shop.orders WHERE id = 2")
    (kept,) = orders("CALL arctic.system.refresh('shop.long')")
    assert kept[:4] == ("shop.long", False, 0, 1)
    (anew,) = orders("CALL arctic.system.refresh(table => 'shop.long', full => true)")
    assert anew[:4] == ("shop.long", True, 0, 0)


def test_states_are_named_and_brought_back(orders: Sql) -> None:
    """By version, tag, snapshot and time; each is a new state, and both stores go together."""
    versions = orders("CALL arctic.system.versions('shop.orders')")
    history = orders("CALL arctic.system.history('shop.orders')")
    assert [row[0] for row in versions] == [1, 2, 3]
    assert [row[0] for row in history] == ["change"] * 3
    assert isinstance(versions[0][1], datetime)

    tagged = orders("CALL arctic.system.create_tag('shop.orders', 'first', 1)")
    assert tagged == [("first", None, versions[0][5])]
    assert orders("CALL arctic.system.versions('shop.orders')")[0][6] == ["first"]
    cloned = orders("CALL arctic.system.clone('shop.orders', 'shop.copy', version => 'first')")
    assert cloned == [("shop.orders", "shop.copy", None, versions[0][5])]
    again = orders("CALL arctic.system.clone('arctic.shop.orders', 'arctic.shop.copy2')")
    assert again[0][:2] == ("shop.orders", "shop.copy2")
    assert arctic.list_tables() == ["shop.copy", "shop.copy2", "shop.orders"]
    assert orders.rows("shop.copy") == [(1, "Rome"), (2, "Oslo")]
    orders("CALL arctic.system.restore('shop.orders', 'first')")
    assert orders.rows("shop.orders") == [(1, "Rome"), (2, "Oslo")]
    orders("CALL arctic.system.set_current_version('shop.orders', 3)")
    assert orders.rows("shop.orders") == [(1, "Bern"), (2, "Oslo"), (3, "Lima")]
    orders(f"CALL arctic.system.rollback_to_snapshot('shop.orders', {versions[1][5]})")
    assert orders.rows("shop.orders") == [(1, "Rome"), (2, "Oslo"), (3, "Lima")]
    at = versions[0][1].astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%fZ")
    back = orders(f"CALL arctic.system.rollback_to_timestamp('shop.orders', TIMESTAMP'{at}')")
    assert back[0][:3] == ("shop.orders", None, versions[0][5])
    assert orders.rows("shop.orders") == [(1, "Rome"), (2, "Oslo")]
    assert orders("CALL arctic.system.drop_tag('shop.orders', 'first')") == [("first",)]
    assert "no tag 'first'" in orders.refused("CALL arctic.system.drop_tag('shop.orders', 'first')")


def test_columns_are_changed_all_at_once(orders: Sql) -> None:
    """Types are written as in CREATE TABLE."""
    columns = orders(
        "CALL arctic.system.evolve_schema('shop.orders', add => map('price', 'decimal(9, 2)'), "
        "rename => map('city', 'town'))"
    )

    assert columns == [
        ("id", "int64", False),
        ("town", "string", True),
        ("price", "decimal128(9, 2)", True),
    ]
    orders("CALL arctic.system.evolve('shop.orders', drop => array('price'))")
    assert arctic.open_table("shop.orders").schema.names == ["id", "town"]
    for wrong in ("no such type", "int NOT NULL", "int, y int"):
        call = f"CALL arctic.system.evolve_schema('shop.orders', add => map('x', '{wrong}'))"
        assert wrong.split()[-1].upper() in orders.refused(call).upper()
    assert arctic.open_table("shop.orders").schema.names == ["id", "town"]


def test_a_table_is_shared_with_other_engines(orders: Sql) -> None:
    """Shown as a plain Iceberg table; and it becomes one itself, and a table with a key again."""
    shown = orders("CALL arctic.system.publish('shop.orders', output => 'clean')")[0]
    assert shown[:2] == ("shop.orders", "shop.orders_fresh")
    assert shown[5] > 0
    assert "published" in orders.refused("CALL arctic.system.release('shop.orders')")
    assert orders("CALL arctic.system.unpublish('shop.orders')") == [("shop.orders_fresh",)]
    shown = orders("CALL arctic.system.publish('shop.orders', 'arctic.shop.seen', 'clean')")[0]
    assert shown[:2] == ("shop.orders", "shop.seen")
    ended = "CALL arctic.system.unpublish('shop.orders', 'arctic.shop.seen')"
    assert orders(ended) == [("shop.seen",)]

    assert "not merged" in orders.refused("CALL arctic.system.release('shop.orders')")
    orders("CALL arctic.system.optimize('shop.orders', 'full')")
    assert orders("CALL arctic.system.release('shop.orders')") == [("shop.orders",)]
    wrong = "CALL arctic.system.adopt('shop.orders', array('town'))"
    assert "town" in orders.refused(wrong)
    adopted = orders("CALL arctic.system.adopt('shop.orders', array('id'))")
    assert adopted == [("shop.orders", ["id"])]
    orders("INSERT INTO arctic.shop.orders VALUES (1, 'Kyiv')")
    assert orders.rows("shop.orders") == [(1, "Kyiv"), (2, "Oslo"), (3, "Lima")]


def test_deletes_of_another_writer_become_positions(sql: Sql) -> None:
    """Of a plain Iceberg table, as the verb does it, and then it may be adopted."""
    sink = Sink(Path(sql.warehouse))
    sink.commit([row(1), row(2)], [])
    sink.commit([], [("id", [row(1)])])
    adopting = "CALL arctic.system.adopt('db.t', array('id'))"
    assert "equality deletes" in sql.refused(adopting)
    (done,) = sql("CALL arctic.system.repair('db.t')")
    assert (done[0], done[2:5]) == ("db.t", (1, 1, 1))
    (again,) = sql("CALL arctic.system.repair('arctic.db.t')")
    assert again[1:5] == (None, 0, 0, 0)
    sql(adopting)
    assert sql.rows("db.t") == [tuple(row(2).values())]


def test_a_job_waits_for_event_time(sql: Sql) -> None:
    """It is told whether all writers are there, and which are not."""
    sql(
        "CREATE TABLE arctic.shop.seen (id BIGINT, at TIMESTAMP, PRIMARY KEY (id)) TBLPROPERTIES "
        "('table.event-time-field' = 'at', 'table.watermark-allowed-lateness-second' = '0')",
    )
    row = [(1, datetime(2026, 3, 1, 12, tzinfo=timezone.utc))]
    table = arctic.open_table("shop.seen")
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*row, strict=True), table.schema, strict=True)
    ]
    table.write(pa.table(columns, schema=table.schema), options={"writer-id": "eu"})
    call = "CALL arctic.system.ready('shop.seen', TIMESTAMP'2026-03-01 {}:00:00Z'{})"

    [(is_ready, watermark, behind)] = sql(call.format(12, ""))
    assert (is_ready, behind) == (True, [])
    assert sql(call.format(13, ", wait => 1")) == [(False, watermark, ["eu"])]
    assert sql(call.format(12, ", writers => array('us')")) == [(False, watermark, ["us"])]
    refused = sql.refused("CALL arctic.system.ready('shop.seen', NULL)")
    assert "argument until is null" in refused


def test_procedures_are_listed_and_described(sql: Sql) -> None:
    """All of them in one namespace."""
    listed = sql("SHOW PROCEDURES IN arctic.system")

    assert len(listed) == 29
    assert all(row[:2] == ("arctic", ["system"]) for row in listed)
    assert sql("SHOW PROCEDURES IN arctic") == listed
    assert sql("SHOW PROCEDURES IN arctic.shop") == []
    described = "\n".join(row[0] for row in sql("DESCRIBE PROCEDURE arctic.system.expire"))
    assert "dry_run BOOLEAN DEFAULT false" in described
    assert "Removes merged changes" in described


REFUSED = [
    (
        "system.optimise('shop.orders')",
        "there are system.adopt, system.clean_orphans, system.clone, ",
    ),
    ("shop.optimize('shop.orders')", "there are system.adopt, system.clean_orphans"),
    ("system.optimize('shop.order')", "did you mean shop.orders"),
    ("system.optimize('orders')", "expected 'namespace.table'"),
    ("system.optimize(NULL)", "argument table is null; expected namespace.table"),
    ("system.expire('shop.orders', NULL)", "argument dry_run is null"),
    ("system.optimize('shop.orders', 'tiny')", "'tiny'"),
    ("system.optimize('shop.orders', kind => 'full')", "`type`"),
    ("system.optimize()", "table"),
    ("system.expire('shop.orders', 'perhaps')", "perhaps"),
    ("system.expire('shop.orders', options => map('snapshot.kept', '1'))", "snapshot.kept"),
    ("system.expire('shop.orders', options => map('path', 'shop.o'))", "option path"),
    ("system.restore('shop.orders')", "either a version or a time"),
    ("system.restore('shop.orders', 99)", "99"),
    ("system.rollback_to_snapshot('shop.orders', 99)", "99"),
    ("system.create_tag('shop.orders', '')", "tag"),
]


def test_what_is_not_understood_is_refused(orders: Sql) -> None:
    """By its name, with what there is instead."""
    for call, said in REFUSED:
        assert said in orders.refused(f"CALL arctic.{call}"), call

"""What a write through Spark does that says no mode, and one that does."""

from __future__ import annotations

import pytest

import arctic
from tests.spark.lake import NAME, SCHEMA, Lake
from tests.spark.stream_input import Source

pytestmark = pytest.mark.spark


def test_sql_and_insert_into_never_add_a_second_row_of_a_key(lake: Lake) -> None:
    """Both replace the row; append is said in the options of the view, or by ``save()``."""
    lake.create()
    lake.put([(1, "eu", 1.0), (2, "us", 2.0)])
    lake.view("events_by_default")
    lake.view("events_to_append", **{"write-mode": "append"})
    lake.spark.sql("INSERT INTO events_by_default VALUES (1, 'eu', 10.0), (3, 'ap', 3.0)")
    lake.frame([(2, "us", 20.0)]).write.mode("append").insertInto("events_by_default")
    assert lake.rows() == [(1, "eu", 10.0), (2, "us", 20.0), (3, "ap", 3.0)]

    lake.spark.sql("INSERT INTO events_to_append VALUES (3, 'ap', 30.0)")
    lake.save(lake.frame([(1, "eu", 11.0)]), "append")

    assert lake.rows() == [
        (1, "eu", 10.0), (1, "eu", 11.0), (2, "us", 20.0), (3, "ap", 3.0), (3, "ap", 30.0),
    ]  # fmt: skip


def test_sql_adds_rows_to_a_table_without_a_key(lake: Lake) -> None:
    """There is no key whose row could be replaced."""
    lake.create(primary_key=())
    lake.view("log")
    for _ in range(2):
        lake.spark.sql("INSERT INTO log VALUES (1, 'eu', 10.0)")

    assert lake.rows() == [(1, "eu", 10.0)] * 2


@pytest.mark.parametrize("registered", [True, False])
def test_a_stream_without_a_mode_upserts(lake: Lake, source: Source, registered: bool) -> None:
    """Also where Spark itself calls the sink."""
    lake.create()
    source.put((1, "eu", 1.0), (2, "us", 2.0))
    source.put((1, "eu", 10.0))
    writer = source.frame().writeStream.format("arctic").options(**source.options(lake))
    # As install_stream_modes leaves it, or as if it had not been called.
    writer.__dict__["_arctic_asked"].is_native = not registered
    writer.trigger(availableNow=True).start(NAME).awaitTermination()

    assert lake.arrow_rows() == [(1, "eu", 10.0), (2, "us", 2.0)]


def test_a_stream_makes_a_table_without_a_key_where_it_is_told(lake: Lake, source: Source) -> None:
    """By an empty key; ``toTable`` as ``start``."""
    source.put((1, "eu", 1.0), (1, "eu", 1.0))
    writer = source.frame().writeStream.format("arctic").trigger(availableNow=True)
    writer.options(**source.options(lake, primaryKey="")).toTable(NAME).awaitTermination()
    lake.save(lake.frame([(1, "eu", 1.0)]), "append")

    assert not lake.table().is_keyed
    assert lake.arrow_rows() == [(1, "eu", 1.0)] * 3


def test_save_makes_a_table_without_a_key_where_it_is_told(lake: Lake) -> None:
    """And not by a name that is mistyped."""
    rows = lake.frame([(1, "eu", 1.0)])
    with pytest.raises(arctic.NotFoundError, match="primaryKey=''"):
        lake.save(rows, "append")
    lake.save(rows, "append", primaryKey="")

    assert lake.table().schema.names == SCHEMA.names
    assert not lake.table().is_keyed

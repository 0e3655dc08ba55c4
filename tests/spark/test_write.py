"""Writing through Spark: every mode, in the forms a user can say it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrameWriter

import arctic
from arctic.errors import (
    AlreadyExistsError,
    ArcticError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from tests.spark.lake import NAME, Lake

pytestmark = pytest.mark.spark

FIRST = [(1, "eu", 1.0), (2, "us", 2.0), (3, "eu", 3.0)]


def test_upsert_replaces_keys_and_delete_removes_them(lake: Lake) -> None:
    """The merged view is what a dict would be after the same calls, in Spark and without it."""
    lake.create()
    lake.save(lake.frame(FIRST), "upsert")
    lake.save(lake.frame([(2, "ap", 20.0), (4, "us", 4.0)]), "upsert")
    lake.save(lake.frame([(1,)], "id long"), "delete")
    expected = [(2, "ap", 20.0), (3, "eu", 3.0), (4, "us", 4.0)]

    assert lake.rows() == expected
    assert lake.arrow_rows() == expected


def test_append_adds_rows_to_a_table_without_a_key(lake: Lake) -> None:
    """Twice the same row is two rows."""
    lake.create(primary_key=())
    lake.save(lake.frame(FIRST[:1]), "append")
    lake.save(lake.frame(FIRST[:1]), "append")

    assert lake.rows() == [FIRST[0], FIRST[0]]


def test_overwrite_replaces_the_table(lake: Lake) -> None:
    """Changes that were not merged yet go too."""
    lake.create()
    lake.save(lake.frame(FIRST), "upsert")
    lake.save(lake.frame([(9, "ap", 9.0)]), "overwrite")
    lake.save(lake.frame([(9, "ap", 10.0)]), "upsert")

    assert lake.rows() == [(9, "ap", 10.0)]


def test_dynamic_overwrite_replaces_the_partitions_it_has_rows_for(lake: Lake) -> None:
    """The other partitions keep their rows, merged or not."""
    lake.create(primary_key=("id", "region"), partition_by=("region",))
    lake.save(lake.frame(FIRST), "upsert")
    lake.save(lake.frame([(7, "eu", 7.0)]), "overwrite", partitionOverwriteMode="dynamic")

    assert lake.rows() == [(2, "us", 2.0), (7, "eu", 7.0)]


def test_a_row_follows_its_partition_column(lake: Lake) -> None:
    """Where the key does not decide the partition, the old row is found and deleted."""
    lake.create(partition_by=("region",))
    lake.save(lake.frame(FIRST), "upsert")
    lake.save(lake.frame([(1, "us", 10.0)]), "upsert")

    assert lake.rows() == [(1, "us", 10.0), (2, "us", 2.0), (3, "eu", 3.0)]


def test_an_action_column_says_what_each_row_does(lake: Lake) -> None:
    """A replay of changes in the order of the frame, not of its shuffle."""
    lake.create()
    changes = [
        (1, "eu", 1.0, "I"),
        (2, "eu", 2.0, "I"),
        (1, "eu", 1.5, "U"),
        (2, "eu", None, "D"),
        (3, "eu", 3.0, "I"),
        (3, "eu", None, "D"),
        (3, "us", 3.5, "I"),
    ]
    frame = lake.frame(changes, "id long, region string, amount double, op string")
    lake.save(frame.coalesce(1), "upsert", **{"action-column": "op"})

    assert lake.rows() == [(1, "eu", 1.5), (3, "us", 3.5)]


def test_the_ordering_column_decides_which_event_of_a_key_is_last(lake: Lake) -> None:
    """However the events are spread over the frame's partitions."""
    lake.create(schema=pa.schema({"id": pa.int64(), "at": pa.int64(), "what": pa.string()}))
    events = [
        (key, (at * 7) % 20, f"{key}@{(at * 7) % 20}") for key in range(5) for at in range(20)
    ]
    frame = lake.frame(events, "id long, at long, what string").repartition(7)
    lake.save(frame, "upsert", **{"ordering-column": "at"})

    assert lake.rows() == [(key, 19, f"{key}@19") for key in range(5)]


def test_without_an_ordering_column_the_last_row_of_the_frame_wins(lake: Lake) -> None:
    """The shuffle must not reorder the events of a key."""
    lake.create()
    frame = lake.spark.range(0, 3000, 1, 3).selectExpr(
        "id % 100 AS id", "'eu' AS region", "CAST(id AS double) AS amount"
    )
    lake.save(frame, "upsert")

    assert lake.rows() == [(key, "eu", 2900.0 + key) for key in range(100)]


def test_a_write_creates_the_table_that_its_options_describe(lake: Lake) -> None:
    """Key and partition fields come from options or from the writer's own methods."""
    writer = lake.frame(FIRST).write.partitionBy("region").mode("Upsert")
    writer = writer.option("primaryKey", "id, region").option("warehouse", lake.warehouse)
    writer.format("Arctic").save(NAME)
    table = arctic.open_table(NAME, warehouse=lake.warehouse)

    assert lake.rows() == FIRST
    assert table.primary_key == ("id", "region")
    assert table.partition_by == ("region",)


def test_the_modes_of_spark_for_a_new_table_create_it_once(lake: Lake) -> None:
    """Without a mode a save makes a new table, and ``ignore`` leaves one that is there."""
    writer = lake.frame(FIRST).write.format("arctic").option("warehouse", lake.warehouse)
    writer.option("primaryKey", "id").save(NAME)
    lake.save(lake.frame([(9, "us", 1.0)]), "ignore")

    assert lake.rows() == FIRST
    assert lake.count("snapshots") == 1


SAYINGS: dict[str, Callable[[DataFrameWriter, dict[str, str]], None]] = {
    "mode first": lambda writer, where: (
        writer.mode("upsert").format("arctic").options(**where).save(NAME)
    ),
    "all in save": lambda writer, where: writer.options(path=NAME, **where).save(
        format="arctic", mode="upsert"
    ),
    "by position": lambda writer, where: writer.save(NAME, "arctic", "upsert", None, **where),
    "write-mode option": lambda writer, where: (
        writer.format("arctic").option("write-mode", "upsert").save(NAME, mode="append", **where)
    ),
}


@pytest.mark.parametrize("saying", SAYINGS)
def test_upsert_can_be_said_in_any_order(lake: Lake, saying: str) -> None:
    """The mode is only decided when the format is known."""
    lake.create()
    for amount in (1.0, 2.0):
        SAYINGS[saying](lake.frame([(1, "eu", amount)]).write, {"warehouse": lake.warehouse})

    assert lake.rows() == [(1, "eu", 2.0)]


def test_the_files_of_a_write_do_not_multiply_with_its_tasks(lake: Lake) -> None:
    """At most one insert and one delete file for each partition and node."""
    lake.create(
        primary_key=("id", "region"),
        partition_by=("region",),
        properties={"change.file-index.hash-bucket": "2"},
    )
    frame = lake.spark.range(0, 4000, 1, 16).selectExpr(
        "id", "if(id % 3 = 0, 'eu', 'us') AS region", "CAST(id AS double) AS amount"
    )
    lake.save(frame, "upsert")

    assert lake.load().count() == 4000
    assert lake.count("files") <= 2 * 2 * 2


def test_a_frame_without_rows_commits_nothing(lake: Lake) -> None:
    """And is no error."""
    lake.create()
    lake.save(lake.frame([]), "upsert")

    assert lake.rows() == []
    assert lake.count("snapshots") == 0


def test_short_integers_and_narrower_types_are_widened(lake: Lake) -> None:
    """What loses nothing needs no cast."""
    lake.create()
    lake.save(lake.frame([(1, "eu", 1.5)], "id short, region string, amount float"), "upsert")

    assert lake.rows() == [(1, "eu", 1.5)]


WRONG: dict[str, tuple[type[ArcticError], str, Callable[[Lake], None]]] = {
    "null key": (
        InvalidInputError,
        "'id' .* is part of the key, but null",
        lambda lake: lake.save(lake.frame([(None, "eu", 1.0)]), "upsert"),
    ),
    "unknown column": (
        InvalidInputError,
        "did you mean 'region'",
        lambda lake: lake.save(lake.frame(FIRST, "id long, regio string, amount double"), "upsert"),
    ),
    "lossy type": (
        InvalidInputError,
        "'amount'",
        lambda lake: lake.save(
            lake.frame([(1, "eu", 5)], "id long, region string, amount long"), "upsert"
        ),
    ),
    "no key column": (
        InvalidInputError,
        "'id'",
        lambda lake: lake.save(lake.frame([("eu",)], "region string"), "delete"),
    ),
    "type without a home": (
        UnsupportedError,
        "'amount': Spark type interval",
        lambda lake: lake.save(
            lake.spark.sql("SELECT 1L id, 'eu' region, INTERVAL 1 DAY amount"), "upsert"
        ),
    ),
    "null type": (
        UnsupportedError,
        "'amount': Spark type void",
        lambda lake: lake.save(lake.spark.sql("SELECT 1L id, 'eu' region, null amount"), "upsert"),
    ),
    "unknown option": (
        InvalidInputError,
        "did you mean 'ordering-column'",
        lambda lake: lake.save(lake.frame(FIRST), "upsert", **{"ordering-colum": "id"}),
    ),
    "option of another format": (
        InvalidInputError,
        r"'overwriteSchema'; .*arctic\.evolve_schema",
        lambda lake: lake.save(lake.frame(FIRST), "upsert", overwriteSchema="true"),
    ),
    "option in its spelling": (
        InvalidInputError,
        "unknown write option 'zZzZ'",
        lambda lake: lake.save(lake.frame(FIRST), "upsert", zZzZ="1"),
    ),
    "two modes": (
        InvalidInputError,
        "write-mode = 'delete' with mode\\('upsert'\\)",
        lambda lake: lake.save(lake.frame(FIRST), "upsert", **{"write-mode": "delete"}),
    ),
    "Spark's default": (
        AlreadyExistsError,
        "'db.events' already exists, and mode 'error' .* expected mode 'upsert'",
        lambda lake: (
            lake.frame(FIRST).write.format("arctic").option("warehouse", lake.warehouse).save(NAME)
        ),
    ),
    "unknown table": (
        NotFoundError,
        "'db.other'",
        lambda lake: (
            lake.frame(FIRST)
            .write.format("arctic")
            .mode("upsert")
            .save("db.other", warehouse=lake.warehouse)
        ),
    ),
    "layout": (
        InvalidInputError,
        r"bucketBy\(\)",
        lambda lake: lake.frame(FIRST).write.format("arctic").bucketBy(4, "id").save(NAME),
    ),
    "another partition": (
        InvalidInputError,
        "partitionBy = 'region': table 'db.events' exists with partitions 'none'",
        lambda lake: lake.save(lake.frame(FIRST), "upsert", partitionBy="region"),
    ),
    "reserved column": (
        InvalidInputError,
        "'_arctic_task': the name is reserved",
        lambda lake: lake.save(lake.frame([(1, 2)], "id long, _arctic_task int"), "upsert"),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_write_is_a_named_error_and_commits_nothing(lake: Lake, wrong: str) -> None:
    """The caller catches the class and reads what to do; the table is as before."""
    kind, message, write = WRONG[wrong]
    lake.create()
    lake.save(lake.frame(FIRST), "upsert")
    with pytest.raises(ArcticError, match=message) as caught:
        write(lake)

    assert type(caught.value) is kind
    assert lake.arrow_rows() == FIRST
    assert lake.count("snapshots") == 1


def test_an_unknown_mode_gets_sparks_own_error(lake: Lake) -> None:
    """For our format as for any other."""
    lake.create()

    with pytest.raises(AnalysisException, match="INVALID_SAVE_MODE"):
        lake.save(lake.frame(FIRST), "merge")


OTHERS: dict[str, Callable[[DataFrameWriter, str], None]] = {
    "mode first": lambda writer, path: writer.mode("upsert").format("parquet").save(path),
    "in save": lambda writer, path: writer.format("parquet").save(path, mode="upsert"),
    "short": lambda writer, path: writer.mode("upsert").parquet(path),
    "in short": lambda writer, path: writer.parquet(path, mode="delete"),
    "table": lambda writer, path: writer.mode("upsert").saveAsTable("other"),
    "insert": lambda writer, path: writer.mode("delete").insertInto("other"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_other_formats_do_not_learn_our_modes(lake: Lake, tmp_path: Path, other: str) -> None:
    """They fail as they would without us, before anything is written."""
    path = tmp_path / "other"
    with pytest.raises(AnalysisException, match="INVALID_SAVE_MODE"):
        OTHERS[other](lake.frame(FIRST).write, str(path))

    assert not path.exists()


def test_other_formats_write_as_ever(lake: Lake, tmp_path: Path) -> None:
    """Also when a mode of ours was taken back, or said of another writer."""
    path = str(tmp_path / "other")
    lake.frame(FIRST).write.mode("upsert").mode("overwrite").partitionBy("region").parquet(path)
    lake.frame(FIRST).write.format("parquet").option("compression", "gzip").save(
        path, mode="append", partitionBy=["region"]
    )

    assert lake.spark.read.parquet(path).count() == 6

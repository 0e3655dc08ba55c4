"""Reading through Spark: what a load() sees, in every form that it offers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import types as st

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_schema
from arctic.spark.base.spark_types import arrow_schema
from tests.spark.base.test_spark_types import KNOWN
from tests.spark.lake import NAME, Lake

pytestmark = pytest.mark.spark

PLACE = st.StructType(
    [
        st.StructField("lat", st.DoubleType()),
        st.StructField("path", st.ArrayType(st.MapType(st.IntegerType(), st.DateType()))),
    ]
)
STORED = st.StructType([*KNOWN.fields[:-1], st.StructField("place", PLACE)])
ROWS = [(1, "eu", 1.0), (2, "us", 2.0), (3, "eu", None)]


def test_every_type_survives_the_way_through_a_table(lake: Lake) -> None:
    """Values come back as they went in, far from UTC, before 1900, nested and null."""
    instant = datetime(1883, 11, 18, 12, 3, 58, 123456, tzinfo=timezone.utc)
    full = (
        True,
        -(2**31),
        2**63 - 1,
        float("inf"),
        -0.0,
        Decimal("12345678901234567890.123456789012345678"),
        "a\u0000ß𝄞",
        bytearray(b"\x00\xff"),
        date(1582, 10, 15),
        instant,
        datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001 - a wall clock has no zone
        ["a", ""],
        {"k": 0},
        (0.5, [{1: date(1, 1, 1)}, None]),
    )
    empty = (None, 7, *[None] * 12)
    lake.create(schema=arrow_schema(STORED), primary_key=("whole",))
    lake.save(lake.spark.createDataFrame([full, empty], STORED), "upsert")
    read = lake.load().orderBy("whole")
    first, second = read.collect()

    assert read.schema == STORED
    assert tuple(first)[:9] == full[:9]
    assert first["instant"].astimezone(timezone.utc) == instant
    assert tuple(first)[10:] == full[10:]
    assert tuple(second) == empty


def test_columns_can_be_named_by_option_or_by_schema(lake: Lake) -> None:
    """In the order that was asked for."""
    lake.create()
    lake.put(ROWS)
    by_schema = lake.spark.read.schema("amount double, id long").format("arctic")
    by_schema = by_schema.option("warehouse", lake.warehouse)

    assert lake.load(columns="amount, id").columns == ["amount", "id"]
    assert lake.rows(columns="region, id") == [("eu", 1), ("eu", 3), ("us", 2)]
    assert [tuple(row) for row in by_schema.load(NAME).where("id = 2").collect()] == [(2.0, 2)]


def test_one_store_can_be_looked_at_alone(lake: Lake) -> None:
    """With its transaction columns: here an insert and a delete of one upsert."""
    lake.create()
    lake.put(ROWS[:1])
    change = lake.load(store="change")

    assert change.columns == ["id", "region", "amount", *change.columns[3:]]
    assert change.columns[3:] == ["_transaction_id", "_file_offset", "_change_action"]
    assert change.where("id = 1").count() == 2
    assert lake.load(store="base").count() == 0


def test_the_past_can_be_read_by_snapshot_and_by_time(lake: Lake) -> None:
    """Of what was there, not of what was overwritten or upserted later."""
    lake.create()
    lake.put(ROWS)
    (snapshot,) = lake.load(f"{NAME}.snapshots").where("store = 'change'").collect()
    lake.put([(1, "eu", 100.0)])
    lake.put([(9, "eu", 9.0)], "overwrite")
    milliseconds = int(snapshot["committed_at"].timestamp() * 1000)

    assert lake.load(**{"snapshot-id": str(snapshot["snapshot_id"])}).count() == 3
    assert lake.load(**{"as-of-timestamp": str(milliseconds)}).count() == 3
    assert lake.rows() == [(9, "eu", 9.0)]


@pytest.mark.parametrize("name", ["snapshots", "files", "partitions", "nodes", "history", "refs"])
def test_metadata_tables_are_frames_like_others(lake: Lake, name: str) -> None:
    """They can be filtered and projected, and say what a reader without Spark says."""
    lake.create()
    lake.put(ROWS)
    frame = lake.load(f"{NAME}.{name}")
    column = frame.columns[0]

    assert frame.columns == lake.table().inspect(name).column_names
    assert frame.count() == lake.table().inspect(name).num_rows
    assert frame.where(f"`{column}` IS NULL").select(column).count() == 0


def test_a_table_without_rows_is_a_frame_without_rows(lake: Lake) -> None:
    """Nothing to read is one empty task, not an error."""
    lake.create()

    assert lake.rows() == []
    assert lake.load().count() == 0


WRONG: dict[str, tuple[str, str, Callable[[Lake], object]]] = {
    "unknown table": ("NotFoundError", "'db.none' not found", lambda lake: lake.load("db.none")),
    "no namespace": (
        "InvalidInputError",
        "expected 'namespace.table'",
        lambda lake: lake.load("t"),
    ),
    "unknown column": (
        "NotFoundError",
        "no column 'nope'; it has id, region, amount",
        lambda lake: lake.load(columns="id, nope"),
    ),
    "unknown option": (
        "InvalidInputError",
        "did you mean 'columns'",
        lambda lake: lake.load(colums="id"),
    ),
    "bad value": (
        "InvalidInputError",
        "option store = 'both': expected one of merged, base, change",
        lambda lake: lake.load(store="both"),
    ),
    "unknown snapshot": (
        "NotFoundError",
        "snapshot 5",
        lambda lake: lake.load(**{"snapshot-id": "5"}).collect(),
    ),
    "another type": (
        "InvalidInputError",
        "column 'id' is int64 in the table, but the given schema says string",
        lambda lake: (
            lake.spark.read.format("arctic")
            .schema("id string")
            .load(NAME, warehouse=lake.warehouse)
            .collect()
        ),
    ),
    "no null": (
        "InvalidInputError",
        "column 'region' may be null in the table, but the given schema says NOT NULL",
        lambda lake: (
            lake.spark.read.format("arctic")
            .schema("id long, region string not null")
            .load(NAME, warehouse=lake.warehouse)
            .collect()
        ),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_read_begins_with_the_message_of_a_named_error(lake: Lake, wrong: str) -> None:
    """Before any traceback."""
    kind, message, read = WRONG[wrong]
    lake.create()
    with pytest.raises(AnalysisException) as caught:
        read(lake)
    first_line = str(caught.value).splitlines()[0]

    assert f"arctic.errors.{kind}: " in first_line
    assert message in first_line


def test_bytes_of_a_fixed_length_are_plain_ones_at_every_depth(lake: Lake) -> None:
    """Spark has no type for them, alone or within others."""
    fixed = pa.binary(2)
    schema = pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("u", fixed),
            pa.field("s", pa.struct([("u", fixed)])),
            pa.field("l", pa.list_(fixed)),
            pa.field("m", pa.map_(pa.string(), pa.struct([("u", fixed)]))),
        ]
    )
    lake.create(schema=schema)
    row = {"id": 1, "u": b"ab", "s": {"u": b"cd"}, "l": [b"ef", None], "m": [("k", {"u": b"gh"})]}
    rows = pa.Table.from_pylist([row, {"id": 2, "u": None}], schema)
    arctic.write(NAME, rows, mode="upsert", warehouse=lake.warehouse)

    found = lake.load().orderBy("id").collect()
    lake.save(lake.load().where("id = 1").selectExpr("id + 2 AS id", "u", "s", "l", "m"), "upsert")

    assert found == [
        (1, b"ab", (b"cd",), [b"ef", None], {"k": (b"gh",)}),
        (2, None, None, None, None),
    ]
    stored = arctic.read(NAME, filter="id = 3", warehouse=lake.warehouse).read_all()
    assert stored.to_pylist() == [{**row, "id": 3}]
    for columns in (("u || u AS u", "s"), ("u", "struct(u || u AS u) AS s")):
        longer = lake.load().selectExpr("id", *columns, "l", "m")
        with pytest.raises(arctic.InvalidInputError, match=r"cannot hold: .* with key \(id="):
            lake.save(longer, "upsert")


@pytest.mark.parametrize("key", [(), ("id",)], ids=["no key", "key"])
def test_a_frame_from_before_a_column_took_null_reads_on(lake: Lake, key: tuple[str, ...]) -> None:
    """Told that it has none, Spark would read 0, find none that IS NULL, and count them."""
    columns = [pa.field(name, pa.int64(), nullable=False) for name in ("id", "n")]
    lake.create(schema=pa.schema(columns), primary_key=key)
    place: dict[str, Any] = {"warehouse": lake.warehouse}
    arctic.write(NAME, pa.table({"id": [1], "n": [5]}, pa.schema(columns)), mode="append", **place)
    frame = lake.load()
    frame.createOrReplaceTempView("before")
    lake.view("stored")
    lake.view("told", **{"change-rows": "commits", "start-version": "0"})
    assert [field.nullable for field in frame.schema] == [not key, True]

    change = SchemaChange(optional=("n",))
    table = evolve_schema(CatalogConfig.from_options(place), NAME, change)
    rows = pa.table({"id": [2], "n": [None]}, table.arrow_schema)
    arctic.write(NAME, rows, mode="append", **place)

    for view in ("before", "stored", "told"):
        for query, expected in (
            ("SELECT id, n FROM {}", [(1, 5), (2, None)]),
            ("SELECT id FROM {} WHERE n IS NULL", [(2,)]),
            ("SELECT count(n) FROM {}", [(1,)]),
            ("SELECT id, count(n), sum(n) FROM {} GROUP BY id", [(1, 1, 5), (2, 0, None)]),
        ):
            assert sorted(lake.spark.sql(query.format(view)).collect()) == expected
    assert sorted(frame.collect()) == [(1, 5), (2, None)]


def test_a_frame_of_the_catalog_from_before_a_column_took_null_is_refused(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what the table says, so it is to be made anew, as what SQL says is each time."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", lake.warehouse)
    columns = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in ("id", "n")])
    lake.create(schema=columns, primary_key=())
    arctic.write(NAME, pa.table({"id": [1], "n": [5]}, columns), mode="append")
    frame = lake.spark.table(f"arctic.{NAME}")
    frame.createOrReplaceTempView("before")
    lake.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW said AS SELECT * FROM arctic.{NAME}")

    lake.spark.sql(f"ALTER TABLE arctic.{NAME} ALTER COLUMN n DROP NOT NULL")
    arctic.write(NAME, pa.table({"id": [2], "n": pa.nulls(1, pa.int64())}), mode="append")

    others = ("n IS NOT NULL", "n > 0", "id > 0")
    for asked in (
        frame,
        frame.select("id", "n"),
        frame.selectExpr("count(n)"),
        frame.selectExpr("id", "n IS NULL"),
        *(frame.where(condition).selectExpr("count(n)") for condition in others),
        frame.groupBy("id").agg({"n": "sum"}),
    ):
        with pytest.raises(AnalysisException, match="column 'n' may be null in the table"):
            asked.collect()
    with pytest.raises(AnalysisException):  # by Spark itself where it looks
        lake.spark.sql("SELECT * FROM before").collect()
    assert lake.spark.sql("SELECT id FROM said WHERE n IS NULL").collect() == [(2,)]
    assert lake.spark.sql("SELECT count(n) FROM said").collect() == [(1,)]


def test_a_view_made_in_sql_is_read_and_inserted_into(lake: Lake) -> None:
    """A later query sees the insert."""
    lake.create(primary_key=())
    lake.view("seen")
    lake.spark.sql("INSERT INTO seen VALUES (1, 'eu', 1.5)")
    before = lake.spark.sql("SELECT * FROM seen").collect()
    lake.spark.sql("INSERT INTO seen SELECT id + 1, 'us', amount * 2 FROM seen")
    lake.frame([(3, "ap", 3.0)]).write.insertInto("seen")
    after = lake.spark.sql("SELECT id, amount FROM seen ORDER BY id").collect()

    assert [tuple(row) for row in before] == [(1, "eu", 1.5)]
    assert [tuple(row) for row in after] == [(1, 1.5), (2, 3.0), (3, 3.0)]


def test_a_view_upserts_where_its_options_say_so(lake: Lake) -> None:
    """Options of a write do not disturb the reads of the same view."""
    lake.create()
    lake.view("kept", **{"write-mode": "upsert"})
    for amount in (1.0, 2.0):
        lake.spark.sql(f"INSERT INTO kept VALUES (1, 'eu', {amount}), (2, 'us', {amount})")

    assert lake.spark.sql("SELECT sum(amount) FROM kept").collect() == [(4.0,)]


def test_an_overwrite_in_sql_replaces_the_table(lake: Lake) -> None:
    """As mode overwrite does."""
    lake.create()
    lake.put(ROWS)
    lake.view("replaced")
    lake.spark.sql("INSERT OVERWRITE replaced VALUES (7, 'eu', 7.0)")

    assert lake.rows() == [(7, "eu", 7.0)]


def test_a_part_of_a_struct_can_be_selected_and_filtered(lake: Lake) -> None:
    """Spark asks for the part alone; the column is read whole."""
    schema = st.StructType([st.StructField("id", st.LongType()), st.StructField("place", PLACE)])
    lake.create(schema=arrow_schema(schema), primary_key=("id",))
    rows = [(1, (0.5, None)), (2, (2.5, None)), (3, None)]
    lake.save(lake.spark.createDataFrame(rows, schema), "upsert")
    read = lake.load()

    assert read.where("place.lat > 1").select("id", "place.lat").collect() == [(2, 2.5)]
    assert read.selectExpr("sum(place.lat)", "count(id)").collect() == [(3.0, 3)]


def test_workers_keep_what_they_fetch_in_one_folder(lake: Lake, tmp_path: Path) -> None:
    """Rows that wait to be merged are read by Python, in processes that share what one has read."""
    lake.create()
    lake.put(ROWS)
    lake.put([(1, "us", 9.0)])
    kept = tmp_path / "kept"
    cached = {
        "read.cache": "disk",
        "read.cache.path": str(kept),
        "read.cache.local-files": "true",
    }
    for _ in range(2):
        assert lake.rows(**cached) == lake.rows()
        assert list(kept.rglob("*-0"))

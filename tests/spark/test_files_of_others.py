"""Adopted tables through Spark: its own scan reads files of others, or EXPLAIN says why not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType, StructType, TimestamptzType

import arctic
from tests.iceberg.plain_readers import plain_catalog
from tests.spark.lake import NAME, Lake, shown_plan, with_settings

pytestmark = pytest.mark.spark

COLUMNS = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "region", StringType(), required=False),
    NestedField(3, "unit price", LongType(), required=False),
)
BY_ROW_NUMBERS = {"read.deletion-vector.min-rows": "1"}


def rows(ids: range, price: int) -> pa.Table:
    """Return rows of two regions."""
    regions = [("a b", "ü/%20")[number % 2] for number in ids]
    return pa.table({"id": list(ids), "region": regions, "unit price": [price] * len(ids)})


def adopted(
    lake: Lake,
    spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
    fill: Callable[[Any], None] = lambda table: table.append(rows(range(100), 1)),
) -> None:
    """Make a plain table beside others, adopt it and change a tenth of its rows."""
    arctic.create_table("db.other", pa.schema([("id", pa.int64())]), warehouse=lake.warehouse)
    with plain_catalog(lake.warehouse) as catalog:
        fill(catalog.create_table(NAME, COLUMNS, partition_spec=spec))
    arctic.adopt(NAME, primary_key="id", warehouse=lake.warehouse)


def upsert(lake: Lake) -> None:
    """Change rows of a file of others, and bring some that are new."""
    arctic.write(NAME, rows(range(90, 110), 2), mode="upsert", warehouse=lake.warehouse)


def check(lake: Lake, *columns: str, is_scan: bool, is_python: bool) -> str:
    """Compare rows by row numbers and merged, with those of Arctic's reader; return the plan."""
    expected = arctic.read(NAME, columns=columns, warehouse=lake.warehouse).read_all()
    due = sorted(zip(*expected.to_pydict().values(), strict=True))
    frame = lake.load(**BY_ROW_NUMBERS).select(*[f"`{name}`" for name in columns])
    plan = shown_plan(frame)
    assert sorted(map(tuple, frame.collect())) == due
    assert ("FileScan parquet" in plan, "BatchScan" in plan) == (is_scan, is_python), plan
    return plan


def test_spark_reads_files_that_an_iceberg_writer_wrote(lake: Lake) -> None:
    """As they were adopted, and with rows that a change has taken."""
    bucket = PartitionSpec(PartitionField(1, 1000, BucketTransform(2), "id_bucket"))
    adopted(lake, bucket)
    check(lake, "id", "region", is_scan=True, is_python=False)

    upsert(lake)
    plan = check(lake, "id", "region", is_scan=True, is_python=False)
    assert "does not read" not in plan


def test_columns_that_writers_spell_in_their_way_are_arctic_s_own(lake: Lake) -> None:
    """PyIceberg's files call it ``unit_x20price``: by its name Spark would find null."""
    adopted(lake)
    upsert(lake)

    plan = check(lake, "id", "unit price", is_scan=True, is_python=True)

    assert (
        "Spark does not read its files: 1 of other writers, column 'unit price': its name may be "
        "spelt otherwise in a file"
    ) in plan


def test_columns_that_a_partition_gives_are_arctic_s_own(lake: Lake) -> None:
    """Iceberg lets files leave them out; a query without them is Spark's."""
    adopted(lake, PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region")))

    plan = check(lake, "id", "region", is_scan=False, is_python=True)

    assert "2 of other writers, column 'region': its value may stand in the partition" in plan
    check(lake, "id", is_scan=True, is_python=False)


def test_files_that_were_registered_are_arctic_s_own(lake: Lake, tmp_path: Path) -> None:
    """They have no field ids; what their columns are says the name mapping."""
    path = tmp_path / "given.parquet"
    pq.write_table(rows(range(100), 1), path)
    adopted(lake, fill=lambda table: table.add_files([f"file://{path}"]))

    plan = check(lake, "id", "region", is_scan=False, is_python=True)

    assert "Spark does not read its files: column 'id': schema.name-mapping.default says" in plan


def test_fields_that_were_renamed_keep_their_values(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In files without ids, by every way to read them; SQL keeps up what their columns are."""
    path = tmp_path / "given.parquet"
    pq.write_table(pa.table({"id": [1, 2], "place": [{"city": "Rome"}, {"city": "Oslo"}]}), path)
    arctic.create_table("db.other", pa.schema([("id", pa.int64())]), warehouse=lake.warehouse)
    city = NestedField(3, "city", StringType(), required=False)
    place = NestedField(2, "place", StructType(city), required=False)
    with plain_catalog(lake.warehouse) as catalog:
        table = catalog.create_table(NAME, Schema(COLUMNS.fields[0], place))
        table.add_files([f"file://{path}"])
        with table.update_schema() as update:
            update.rename_column("place.city", "town")
    arctic.adopt(NAME, primary_key="id", warehouse=lake.warehouse)

    rows = lake.load()
    assert sorted(rows.select("id", "place.town").collect()) == [(1, "Rome"), (2, "Oslo")]
    assert rows.where("place.town = 'Oslo'").select("id").collect() == [(2,)]
    assert sorted(rows.groupBy("place.town").count().collect()) == [("Oslo", 1), ("Rome", 1)]
    monkeypatch.setenv("ARCTIC_WAREHOUSE", lake.warehouse)
    lake.spark.sql(f"ALTER TABLE arctic.{NAME} RENAME COLUMN place TO spot")
    later = pa.table({"id": [3], "spot": [{"town": "Bern"}]})
    path = tmp_path / "later.parquet"
    pq.write_table(later, path)
    with plain_catalog(lake.warehouse) as catalog:
        catalog.load_table(NAME).add_files([f"file://{path}"])
    found = lake.load().select("id", "spot.town").collect()

    assert sorted(found) == [(1, "Rome"), (2, "Oslo"), (3, "Bern")]


def test_times_of_96_bits_are_the_same_to_both_readers(lake: Lake) -> None:
    """Instants of every year, whichever calendar a session takes for such files."""
    arctic.create_table("db.other", pa.schema([("id", pa.int64())]), warehouse=lake.warehouse)
    at = NestedField(2, "at", TimestamptzType(), required=False)
    with plain_catalog(lake.warehouse) as catalog:
        catalog.create_table(NAME, Schema(COLUMNS.fields[0], at))
    times = [datetime(year, 2, 28, tzinfo=timezone.utc) for year in (1, 1500, 1600, 2024, 9999)]
    instants = pa.array(times, pa.timestamp("us", "UTC"))
    columns = of_others(("id", 1, [1, 2, 3, 4, 5]), ("at", 2, times)).schema
    rows = pa.table([pa.array([1, 2, 3, 4, 5]), instants], columns)
    append_file(lake, rows, use_deprecated_int96_timestamps=True)
    arctic.adopt(NAME, primary_key="id", warehouse=lake.warehouse)
    due = list(zip([1, 2, 3, 4, 5], instants.cast(pa.int64()).to_pylist(), strict=True))

    found = arctic.read(NAME, warehouse=lake.warehouse).read_all()
    assert found.column("at").cast(pa.int64()).to_pylist() == [number for _, number in due]
    old = {f"spark.sql.parquet.{name}RebaseModeInRead": "LEGACY" for name in ("int96", "datetime")}
    for asked, is_scan in ((BY_ROW_NUMBERS, True), ({"store": "base"}, False)):
        with with_settings(lake.spark, old):
            frame = lake.load(**asked).selectExpr("id", "unix_micros(at)")
            assert ("FileScan parquet" in shown_plan(frame)) is is_scan
            assert sorted(frame.collect()) == due

    # Spark's own scan would take them for times of the session's zone.
    told = {"spark.sql.parquet.int96TimestampConversion": "true"}
    with with_settings(lake.spark, told | {"spark.sql.session.timeZone": "America/New_York"}):
        frame = lake.load(**BY_ROW_NUMBERS).selectExpr("id", "unix_micros(at)")
        assert "FileScan parquet" not in shown_plan(frame)
        assert sorted(frame.collect()) == due


def test_columns_that_changed_are_told(lake: Lake) -> None:
    """Of tables of ours, too."""
    lake.create()
    lake.put([(1, "eu", 1.0)])
    lake.table().evolve_schema(rename={"region": "area"})

    plan = check(lake, "id", "area", is_scan=False, is_python=True)

    assert "column 'area': it was called 'region' before" in plan


def append_file(lake: Lake, rows: pa.Table, **how: Any) -> None:
    """Commit a file as another engine does, whatever it says of its columns."""
    path = f"{lake.warehouse}/of-others.parquet"
    pq.write_table(rows, path, **how)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=Path(path).stat().st_size,
    )
    file.spec_id = 0
    with plain_catalog(lake.warehouse) as catalog:
        change = catalog.load_table(NAME).transaction()
        with change.update_snapshot().fast_append() as snapshot:
            snapshot.append_data_file(file)
        change.commit_transaction()


def of_others(*columns: tuple[str, int | None, list[Any]]) -> pa.Table:
    """Return rows of columns that have these names, and ids or none."""
    return pa.table(
        [pa.array(values) for _, _, values in columns],
        schema=pa.schema(
            pa.field(
                name,
                pa.array(values).type,
                metadata=None if number is None else {"PARQUET:field_id": str(number)},
            )
            for name, number, values in columns
        ),
    )


def test_columns_of_other_writers_go_by_their_ids(lake: Lake) -> None:
    """A file may call them as it likes, in any order, and leave some out."""
    adopted(lake)
    append_file(lake, of_others(("place", 2, ["eu", "us"]), ("id", 1, [200, 201])))

    check(lake, "id", "region", is_scan=True, is_python=False)
    assert lake.load().filter("region = 'eu'").select("id").collect() == [(200,)]


def test_a_file_that_says_nothing_of_its_columns_is_refused(lake: Lake) -> None:
    """Without ids and a name mapping nobody knows: the one reader says so as the other does."""
    adopted(lake)
    append_file(lake, of_others(("id", None, [200]), ("region", None, ["eu"])))

    with pytest.raises(arctic.FormatError, match="no column has a field id"):
        arctic.read(NAME, columns=["id", "region"], warehouse=lake.warehouse).read_all()
    frame = lake.load().select("id", "region")
    assert "FileScan parquet" in shown_plan(frame)
    with pytest.raises(Exception, match="doesn't contain any field Ids"):
        frame.collect()

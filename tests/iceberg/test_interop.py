"""Other engines read the base store: what we commit is plain Iceberg."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.files import FileKind
from tests.iceberg.plain_readers import scanned_by_duckdb
from tests.iceberg.stores import (
    append,
    commit_files,
    make,
    overwrite,
    position_delete,
    row,
    written,
)

ROWS = [
    row(1, "eu", price=Decimal("1.50"), day=19782, score=0.5),
    row(2, "eu west", price=Decimal("-2.25"), day=None, score=None),
    row(3, None, price=None, day=-1, score=-1.5),
]
Reader = Callable[[OpenTable], list[dict[str, Any]]]


def by_pyiceberg(opened: OpenTable) -> list[dict[str, Any]]:
    """Read the base store through a catalog that knows nothing of Arctic."""
    folder = opened.config.warehouse
    catalog = SqlCatalog(
        "arctic", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
    )
    try:
        found: list[dict[str, Any]] = catalog.load_table("db.t").scan().to_arrow().to_pylist()
    finally:
        catalog.close()
    return sorted(found, key=lambda each: each["id"])


def by_duckdb(opened: OpenTable) -> list[dict[str, Any]]:
    """Read the newest metadata file of the base store with DuckDB."""
    location = urlparse(refresh(opened.base).metadata_location).path
    found: list[dict[str, Any]] = scanned_by_duckdb(location).to_pylist()
    return sorted(found, key=lambda each: each["id"])


def expected(opened: OpenTable, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Return rows as a reader gives them back."""
    found: list[dict[str, Any]] = pa.Table.from_pylist(
        list(rows), schema=opened.arrow_schema
    ).to_pylist()
    return found


@pytest.fixture(params=[by_pyiceberg, by_duckdb], ids=["pyiceberg", "duckdb"])
def read(request: pytest.FixtureRequest) -> Reader:
    """Return each of the readers in turn."""
    reader: Reader = request.param
    return reader


def test_an_overwritten_base_store_holds_exactly_the_rows(tmp_path: Path, read: Reader) -> None:
    """Types, nulls and partitions with odd names survive."""
    opened = make(tmp_path)
    append(opened, ROWS)
    overwrite(opened, ROWS, up_to=1)

    assert read(opened) == expected(opened, *ROWS)


def test_replaced_partitions_are_gone_for_everybody(tmp_path: Path, read: Reader) -> None:
    """Dynamic, then static, then empty: deleted entries, rewritten and empty manifests."""
    opened = make(tmp_path)
    overwrite(opened, ROWS)
    overwrite(opened, [row(9, "eu")], dynamic=True)
    assert [each["id"] for each in read(opened)] == [2, 3, 9]

    overwrite(opened, [row(7, "asia")])
    assert [each["id"] for each in read(opened)] == [7]

    overwrite(opened, [])
    assert read(opened) == []


def test_a_snapshot_without_files_is_readable(tmp_path: Path, read: Reader) -> None:
    """An overwrite that only hides changes commits a snapshot with no manifest at all."""
    opened = make(tmp_path)
    append(opened, ROWS)
    overwrite(opened, [], up_to=1, change_partitions=frozenset({("eu",)}))

    assert read(opened) == []
    overwrite(opened, ROWS[:1], up_to=1)
    assert [each["id"] for each in read(opened)] == [1]


def test_many_merged_manifests_hold_every_row(tmp_path: Path, read: Reader) -> None:
    """A table without a key, appended to in small commits, with manifests merged on the way."""
    opened = make(
        tmp_path, key=(), partition_by=(), **{"commit__manifest__min-count-to-merge": "3"}
    )
    for number in range(12):
        append(opened, [row(number)])

    snapshot = refresh(opened.base).current_snapshot()
    assert snapshot is not None
    assert len(snapshot.manifests(opened.base.io)) < 8
    assert [each["id"] for each in read(opened)] == list(range(12))


def test_position_deletes_beside_our_files_apply(tmp_path: Path, read: Reader) -> None:
    """Delete files that another Iceberg writer adds are applied, listed, and replaced."""
    opened = make(tmp_path, partition_by=())
    overwrite(opened, [row(1), row(2), row(3)])
    (data,) = list_files(opened, pin(opened.refreshed()), field_ids=(), row_filter=None).base
    commit_files(opened.base, position_delete(opened, [(data.path, 1)], (), "foreign.parquet"))

    (delete,) = list_files(
        opened, pin(opened.refreshed()), field_ids=(), row_filter=None
    ).position_deletes
    assert (delete.kind, delete.referenced_path) == (FileKind.POS_DELETE, data.path)
    assert [each["id"] for each in read(opened)] == [1, 3]

    overwrite(opened, [row(1), row(2)])
    assert [each["id"] for each in read(opened)] == [1, 2]


def test_pyiceberg_prunes_by_our_metrics_and_partitions(tmp_path: Path) -> None:
    """Bounds and partition values in our manifests are those that the spec means."""
    opened = make(tmp_path, partition_by=("bucket(4, id)", "day"))
    overwrite(opened, [row(number, day=number) for number in range(20)])
    table = refresh(opened.base)

    for number in (0, 7, 19):
        scan = table.scan(row_filter=f"id = {number}")
        assert scan.to_arrow()["id"].to_pylist() == [number]
        assert len(list(scan.plan_files())) == 1


def test_stock_pyiceberg_can_append_to_our_base_store(tmp_path: Path) -> None:
    """What it adds is listed as foreign files, and nothing of ours is lost."""
    opened = make(tmp_path)
    append(opened, ROWS)
    overwrite(opened, ROWS, up_to=1)
    extra = pa.Table.from_pylist([row(9, "eu")], schema=opened.arrow_schema)

    refresh(opened.base).append(extra)

    snapshot = pin(opened.refreshed())
    files = list_files(opened, snapshot, field_ids=(), row_filter=None)
    assert sorted(file.transaction_id for file in files.base) == [0, 1, 1, 1]
    assert snapshot.optimized_sequence == {("eu",): 1, ("eu west",): 1, (None,): 1}
    assert [each["id"] for each in by_pyiceberg(opened)] == [1, 2, 3, 9]


def test_the_metadata_names_no_blob_type(tmp_path: Path) -> None:
    """One unknown type would lock every PyIceberg user out of the base store."""
    opened = make(tmp_path)
    append(opened, ROWS)
    overwrite(opened, ROWS, up_to=1)

    path = Path(urlparse(refresh(opened.base).metadata_location).path)
    (statistics,) = json.loads(path.read_text())["statistics"]
    assert statistics["blob-metadata"] == []
    assert (
        Path(urlparse(statistics["statistics-path"]).path).stat().st_size
        == (statistics["file-size-in-bytes"])
    )


def test_change_files_are_plain_data_files(tmp_path: Path) -> None:
    """The format keeps inserts and deletes apart by name only: Iceberg sees rows."""
    opened = make(tmp_path)
    append(opened, ROWS, ROWS[:1])

    assert opened.change is not None
    assert len(refresh(opened.change).scan().to_arrow()) == 4
    assert written(opened, ROWS[:1], FileKind.INSERT)

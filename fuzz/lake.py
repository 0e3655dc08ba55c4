"""A small lake with every kind of file, its true rows, and the files that a read depends on."""

from __future__ import annotations

import contextlib
import gzip
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
from pyiceberg.table import Table as Store

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.metadata.entries import live_entries, live_manifests
from arctic.iceberg.storage import checked_io, puffin
from arctic.iceberg.tables.open_table import open_table
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.scan.changes.change_limit import ChangeLimit
from arctic.table import footer_checksum
from arctic.table.property_names import OPTIMIZED_SEQUENCE
from arctic.table.streams.stream_position import StreamPosition

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("amount", pa.decimal128(12, 2)),
        pa.field("note", pa.string()),
        pa.field("flag", pa.bool_()),
        pa.field("score", pa.float64()),
    ]
)
TABLES = ("db.plain", "db.packed")
OLD_CATALOG = "catalog.old.db"
"""The catalog as it was before the second table: a whole file, to be swapped."""
"""The base store of the second one ends in compressed metadata, as another engine may write it;
the two give each other files to swap."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A file that can be damaged."""

    kind: str
    table: str
    path: Path


def make_lake(folder: Path, *, foreign: bool) -> None:
    """Write two tables with the same history, and a stream's offset in each.

    Args:
        folder: the warehouse.
        foreign: without any checksum, as other engines write.
    """
    if foreign:
        _write_no_checksums()
    for name in TABLES:
        properties = {
            "write.parquet.row-group-size-bytes": "20000",
            "read.verify-checksums": "true",
        }
        table = arctic.create_table(
            name,
            SCHEMA,
            primary_key=["id"],
            partition_by=["region"],
            properties=properties,
            warehouse=str(folder),
        )
        table.write(_rows(name, range(1_200), 0), mode="overwrite")
        for step in range(1, 3):
            table.write(_rows(name, range(step, 1_400, 7), step), mode="upsert")
            table.write(_rows(name, range(step * 5, 900, 97), 0).select(["id", "region"]),
                        mode="delete")  # fmt: skip
        table.optimize(type="minor")
        changes = Changes(AskedChanges.of({"path": name, "warehouse": str(folder)}))
        offset = changes.beginning()
        for step in range(4, 6):
            table.write(_rows(name, range(step, 1_500, 11), step), mode="upsert")
        table.write(_rows(name, range(3, 1_000, 61), 0).select(["id", "region"]), mode="delete")
        (folder / f"{name}.offset").write_text(json.dumps(offset.to_json()))
        if name == TABLES[0]:
            (folder / OLD_CATALOG).write_bytes((folder / "catalog.db").read_bytes())

    _compress(folder, TABLES[1])


def _compress(folder: Path, name: str) -> None:
    opened = open_table(CatalogConfig.from_options({"warehouse": str(folder)}), name)
    plain = _local(opened.base.metadata_location)
    packed = plain.with_name(plain.name.replace(".metadata", ".gz.metadata"))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    with contextlib.closing(sqlite3.connect(folder / "catalog.db")) as database, database:
        database.execute(
            "update iceberg_tables set metadata_location = replace(metadata_location, ?, ?)",
            (plain.name, packed.name),
        )


def _write_no_checksums() -> None:
    """Have this process write as other engines do."""

    def plain(_: str, content: Any, **_of: Any) -> Any:
        return content

    setattr(checked_io, "sealed", plain)  # noqa: B010 - not exported there
    setattr(puffin, "CHECKSUM", "none")  # noqa: B010
    setattr(footer_checksum, "sealed", plain)  # noqa: B010
    footer_checksum.KEY, footer_checksum.INDEX_KEY = "none", "none of the indexes"


def rows_of(table: arctic.Table, **arguments: Any) -> list[str]:
    """Return rows as sorted texts, which any values compare by."""
    return sorted(map(repr, table.read(**arguments).read_all().to_pylist()))


def changes_of(folder: Path, name: str) -> list[str]:
    """Return the events after a stream's offset, as Spark's source would read them."""
    start = StreamPosition.from_json(_parsed((folder / f"{name}.offset").read_bytes()))
    changes = Changes(AskedChanges.of({"path": name, "warehouse": str(folder)}))
    end = changes.advance(start, limit=ChangeLimit())
    return sorted(map(repr, changes.plan(start, end, columns=None).table().to_pylist()))


def _parsed(text: bytes) -> Mapping[str, Any]:
    """Return an offset as Spark hands it over: it parses the text itself, and stops the query."""
    try:
        values: Mapping[str, Any] = json.loads(text)
    except ValueError as error:
        raise arctic.InvalidInputError(f"stream offset: Spark cannot parse it: {error}") from error
    return values


def targets(folder: Path) -> list[Target]:
    """Return the files that a read of a table depends on, in a stable order."""
    found = []
    for name in TABLES:
        opened = open_table(CatalogConfig.from_options({"warehouse": str(folder)}), name)
        for store in (opened.base, opened.change):
            if store is not None:
                found += [Target(kind=kind, table=name, path=path) for kind, path in _files(store)]
        found.append(Target(kind="checkpoint", table=name, path=folder / f"{name}.offset"))
        found.append(Target(kind="sqlite", table=name, path=folder / "catalog.db"))
    return sorted(found, key=lambda each: (each.kind, each.table, each.path.stat().st_mtime_ns))


def _files(store: Store) -> Iterator[tuple[str, Path]]:
    snapshot = store.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    yield "metadata", _local(store.metadata_location)
    yield "list", _local(snapshot.manifest_list)
    if snapshot.summary[OPTIMIZED_SEQUENCE]:
        yield "puffin", _local(str(snapshot.summary[OPTIMIZED_SEQUENCE]))
    for manifest in live_manifests(store, snapshot):
        yield "manifest", _local(manifest.manifest_path)
        for entry in live_entries(store.io, manifest):
            path = _local(entry.data_file.file_path)
            is_delete = path.name.split("-")[1] in ("ED", "PD")
            yield "delete" if is_delete else "data", path


def _local(location: str) -> Path:
    return Path(urlparse(location).path)


def _rows(name: str, ids: range, step: int) -> pa.Table:
    rows = [
        {
            "id": number,
            "region": ("eu", "us", None)[number % 3],
            "amount": None if number % 10 == 9 else number + step,
            "note": None if number % 5 == 4 else f"{name} {step} {number * 7919 % 1_000}",
            "flag": number % 2 == 0,
            "score": number / 7 + step,
        }
        for number in ids
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)

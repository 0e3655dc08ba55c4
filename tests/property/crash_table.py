"""The table that crashes are tried on, what is done to it, and how it is read afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import StaticTable, Table

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.table.node_trees import NodeTrees

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("region", pa.string()), ("by", pa.string())]
)
REGIONS = ["eu", "us"]
AT_ONCE = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
}
# No file is so small that it counts as a fragment: a minor writes position deletes for it. One of
# them is more than a node holds, four files of the target size, so runs divide nodes.
PROPERTIES = {
    "self-optimizing.target-size": "150",
    "self-optimizing.sort-columns": "by",
    "change.file-index.hash-bucket": "1",
    "self-optimizing.fragment-ratio": "1000000",
    "self-optimizing.major.trigger.duplicate-ratio": "0.01",
}
Rows = list[tuple[Any, ...]]


def rows_of(numbers: range, by: str, shift: int = 0) -> pa.Table:
    """Return one row for each number; another shift moves them to the other region."""
    rows = [{"id": n, "region": REGIONS[(n + shift) % 2], "by": by} for n in numbers]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def keys_of(numbers: range) -> pa.Table:
    """Return the keys alone."""
    return rows_of(numbers, "").select(["id"])


def prepare(lake: str) -> None:
    """Make a table with segments, position deletes and unmerged changes."""
    table = arctic.create_table(
        "c.t",
        SCHEMA,
        primary_key=["id"],
        partition_by=["region"],
        properties=PROPERTIES,
        warehouse=lake,
    )
    table.write(rows_of(range(24), "first"), mode="overwrite")
    table.write(rows_of(range(4), "second"), mode="upsert")
    table.optimize(type="minor")
    table.write(rows_of(range(3, 9), "third", shift=1), mode="upsert")
    table.write(keys_of(range(8, 11)), mode="delete")
    kinds = Counter(table.inspect("files").column("kind").to_pylist())
    assert kinds.keys() == {"B", "PD", "I", "ED"}, kinds


def upsert(table: arctic.Table) -> None:
    """Rows of base, of changes and new ones; some move."""
    table.write(rows_of(range(2, 30, 3), "upsert", shift=1), mode="upsert")


def batch(table: arctic.Table) -> None:
    """Rows that would be there twice if the batch of a stream landed twice."""
    options = {"stream-query-id": "q", "stream-batch-id": "0"}
    table.write(rows_of(range(40, 46), "batch"), mode="append", options=options)


def delete(table: arctic.Table) -> None:
    """Keys of base, of changes and of nobody."""
    table.write(keys_of(range(0, 40, 4)), mode="delete")


def overwrite(table: arctic.Table) -> None:
    """Everything is replaced."""
    table.write(rows_of(range(15, 27), "overwrite"), mode="overwrite")


def minor(table: arctic.Table) -> None:
    """Changes become base files and position deletes."""
    table.optimize(type="minor", runner=LocalRunner(1))


def major(table: arctic.Table) -> None:
    """Worn segments are rewritten too."""
    table.optimize(type="major", runner=LocalRunner(1))


def full(table: arctic.Table) -> None:
    """Everything is rewritten."""
    table.optimize(type="full", runner=LocalRunner(1))


def outgrown(table: arctic.Table) -> None:
    """A node is divided that its base alone does not fill, only what is to be merged into it."""
    options = {"self-optimizing.target-size": "250"}
    table.optimize(type="minor", options=options, runner=LocalRunner(1))


def shrink(table: arctic.Table) -> None:
    """Everything is rewritten into larger files, which fewer nodes are enough for."""
    options = {"self-optimizing.target-size": "1000000"}
    table.optimize(type="full", options=options, runner=LocalRunner(1))


def expire(table: arctic.Table) -> None:
    """All of the past goes, and what nobody refers to."""
    table.expire(options=AT_ONCE)


OPERATIONS: tuple[Callable[[arctic.Table], None], ...] = (
    upsert, batch, delete, overwrite, minor, outgrown, major, full, shrink, expire,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What can be read of a table."""

    rows: Rows
    """The merged view."""
    base: Rows
    """The base store alone, as PyIceberg reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the rows lie, which is another one where a second try divides once more."""

    leaves: int
    """Of the trees of both regions."""
    is_sorted: bool
    """Whether each base file has its rows in the order of the sort column."""


def run(operation: Callable[[arctic.Table], None], lake: str) -> None:
    """Open the table and do something to it."""
    operation(arctic.open_table("c.t", warehouse=lake))


def stores(lake: str) -> list[Table]:
    """Load both stores, past Arctic."""
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": lake}))
    return [catalog.load_table(name) for name in sorted(catalog.list_tables("c"))]


def look(lake: str) -> State:
    """Read a table."""
    table = arctic.open_table("c.t", warehouse=lake)
    return State(rows=as_rows(table.read().read_all()), base=as_rows(_base(lake).scan().to_arrow()))


def shape(lake: str) -> Shape:
    """Look at the nodes and the files of a table."""
    trees = NodeTrees.of(arctic.open_table("c.t", warehouse=lake).properties, is_keyed=True)
    files = [urlparse(task.file.file_path).path for task in _base(lake).scan().plan_files()]
    orders = [pq.read_table(path, columns=["by"]).column("by").to_pylist() for path in files]
    return Shape(
        leaves=sum(len(trees.tree(f"region={region}").leaves) for region in REGIONS),
        is_sorted=all(by == sorted(by) for by in orders),
    )


def _base(lake: str) -> StaticTable:
    return StaticTable.from_metadata(stores(lake)[0].metadata_location)


def as_rows(table: pa.Table) -> Rows:
    """Return rows in a defined order."""
    return sorted((row["id"], row["region"], row["by"]) for row in table.to_pylist())


def reachable(lake: str) -> set[str]:
    """Return the files that the metadata of both stores refers to, as PyIceberg reads it."""
    paths: set[str] = set()
    for store in stores(lake):
        metadata = store.metadata
        paths.add(store.metadata_location)
        paths.update(entry.metadata_file for entry in metadata.metadata_log)
        paths.update(entry.statistics_path for entry in metadata.statistics)
        paths.update(snapshot.manifest_list for snapshot in metadata.snapshots)
        for snapshot in metadata.snapshots:
            for manifest in snapshot.manifests(store.io):
                paths.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(store.io, discard_deleted=True)
                paths.update(entry.data_file.file_path for entry in entries)
    return {urlparse(path).path for path in paths}


def on_disk(lake: str) -> set[str]:
    """Return the files in the folders of both stores."""
    return {str(path) for path in Path(lake, "c").rglob("*") if path.is_file()}

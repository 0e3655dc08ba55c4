"""What the commands print that look: a table with its stores, nodes and first rows; commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from arctic.api.table import Table
from arctic.cli.printed.render import print_facts, print_rows, python_rows

_NODE_COLUMNS = (
    "partition",
    "node_id",
    "base_files",
    "base_rows",
    "insert_files",
    "insert_rows",
    "change_delete_files",
    "change_delete_rows",
)
"""What fits a terminal; JSON has every column."""

_ADDED = {
    "files": ("added-data-files", "added-delete-files"),
    "rows": ("added-records", "added-position-deletes"),
    "bytes": ("added-files-size",),
}
"""Columns, and the entries of a snapshot's summary that they add up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Everything that is shown of one table."""

    name: str
    primary_key: tuple[str, ...]
    partition_by: tuple[str, ...]
    columns: pa.Table
    stores: pa.Table
    nodes: pa.Table
    rows: pa.Table | None
    """None: none were asked for."""

    def document(self) -> dict[str, Any]:
        """Return it as one value for JSON."""
        document = {
            "table": self.name,
            "primary_key": list(self.primary_key),
            "partition_by": list(self.partition_by),
            "columns": self.columns.to_pylist(),
            "stores": self.stores.to_pylist(),
            "nodes": self.nodes.to_pylist(),
        }
        return document if self.rows is None else {**document, "rows": python_rows(self.rows)}

    def print(self) -> None:
        """Print it for people."""
        print_facts(
            {
                "table": self.name,
                "primary key": ", ".join(self.primary_key) or "none",
                "partitions": ", ".join(self.partition_by) or "none",
            }
        )
        print_rows(self.columns, title="columns")
        print_rows(self.stores, title="stores")
        shown = [name for name in _NODE_COLUMNS if name != "partition" or self.partition_by]
        print_rows(self.nodes.select(shown), title="nodes")
        if self.rows is not None:
            print_rows(self.rows, title=f"first {self.rows.num_rows} rows")


def describe(
    table: Table, *, row_count: int, columns: Sequence[str] | None, row_filter: str | None
) -> Description:
    """Collect everything that is shown of a table.

    Args:
        table: an open table.
        row_count: the most rows to fetch; reading stops there.
        columns: the columns of these rows, in this order; None: all.
        row_filter: only rows that match it are fetched; None: any.
    """
    rows = None
    if row_count:
        rows = table.head(row_count, columns=columns, filter=row_filter)
    return Description(
        name=table.name,
        primary_key=table.primary_key,
        partition_by=table.partition_by,
        columns=columns_of(table),
        stores=_stores(table),
        nodes=table.inspect("nodes"),
        rows=rows,
    )


def columns_of(table: Table) -> pa.Table:
    """Return a row for each column of a table."""
    return pa.Table.from_pylist(
        [
            {"name": field.name, "type": str(field.type), "nullable": field.nullable}
            for field in table.schema
        ],
        schema=pa.schema([("name", pa.string()), ("type", pa.string()), ("nullable", pa.bool_())]),
    )


def _stores(table: Table) -> pa.Table:
    """Return a row for each store: its newest snapshot, and the files that a read uses."""
    snapshots, files = table.inspect("snapshots"), table.inspect("files")
    unmerged = files.filter(pc.invert(pc.fill_null(files["merged"], False)))
    rows = []
    for store in ("base", "change") if table.is_keyed else ("base",):
        own = snapshots.filter(pc.equal(snapshots["store"], store))
        read = unmerged.filter(pc.equal(unmerged["store"], store))
        newest = own.slice(own.num_rows - 1).to_pylist() if own.num_rows else []
        rows.append(
            {
                "store": store,
                "snapshots": own.num_rows,
                "newest": newest[0]["snapshot_id"] if newest else None,
                "committed_at": newest[0]["committed_at"] if newest else None,
                "files": read.num_rows,
                "rows": pc.sum(read["record_count"]).as_py() or 0,
                "bytes": pc.sum(read["size_bytes"]).as_py() or 0,
            }
        )
    return pa.Table.from_pylist(rows, schema=_STORES)


_STORES = pa.schema(
    [
        ("store", pa.string()),
        ("snapshots", pa.int64()),
        ("newest", pa.int64()),
        ("committed_at", pa.timestamp("us", tz="UTC")),
        ("files", pa.int64()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
    ]
)


def commit_lines(commits: pa.Table) -> pa.Table:
    """Return one row for each commit of both stores, with the columns that fit a terminal."""
    rows = [_commit_line(row) for row in commits.to_pylist(maps_as_pydicts="strict")]
    return pa.Table.from_pylist(
        rows,
        schema=pa.schema(
            [
                ("committed_at", pa.string()),
                ("store", pa.string()),
                ("operation", pa.string()),
                ("sequence", pa.int64()),
                *((f"added_{name}", pa.int64()) for name in _ADDED),
                ("snapshot_id", pa.int64()),
            ]
        ),
    )


def _commit_line(row: dict[str, Any]) -> dict[str, Any]:
    summary = row["summary"]
    added = {
        f"added_{name}": sum(int(summary.get(entry, 0)) for entry in entries)
        for name, entries in _ADDED.items()
    }
    return {
        "committed_at": row["committed_at"].isoformat(sep=" ", timespec="seconds"),
        "store": row["store"],
        "operation": row["operation"],
        "sequence": row["sequence_number"],
        **added,
        "snapshot_id": row["snapshot_id"],
    }

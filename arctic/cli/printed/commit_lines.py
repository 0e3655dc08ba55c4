"""What ``arctic history`` says: every commit of both stores, and what it added."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_ADDED = {
    "files": ("added-data-files", "added-delete-files"),
    "rows": ("added-records", "added-position-deletes"),
    "bytes": ("added-files-size",),
}
"""Columns, and the entries of a snapshot's summary that they add up."""


def commit_lines(commits: pa.Table) -> pa.Table:
    """Return one row for each commit, with the columns that fit a terminal."""
    rows = [_line(row) for row in commits.to_pylist(maps_as_pydicts="strict")]
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


def _line(row: dict[str, Any]) -> dict[str, Any]:
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

"""Writing a million rows, upserting some of them, and reading the merged view."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import arctic
from benchmarks.report import Figure

ROWS = 1_000_000
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("amount", pa.float64()),
        pa.field("updated_at", pa.timestamp("us", tz="UTC")),
    ]
)


def merge_figures(warehouse: Path) -> list[Figure]:
    """Return a load, then an upsert and a read for each share of updated rows."""
    figures = []
    for percent in (0, 1, 10, 100):
        name = f"bench.upsert_{percent}"
        table = arctic.create_table(name, SCHEMA, primary_key=["id"], warehouse=str(warehouse))
        load, change = _rows(range(ROWS)), _rows(range(0, ROWS, 100 // percent) if percent else ())
        if percent == 0:
            figures.append(_write(table, load, mode="overwrite", title=f"load {ROWS:,} rows"))
        else:
            table.write(load, mode="overwrite")
            title = f"upsert {change.num_rows:,} rows ({percent} %)"
            figures.append(_write(table, change, mode="upsert", title=title))
        figures.append(_read(table, title=f"read after {percent} % upserted"))
    return figures


def _write(table: arctic.Table, rows: pa.Table, *, mode: str, title: str) -> Figure:
    return Figure(
        title=title,
        run=lambda: table.write(rows, mode=mode),
        count=rows.num_rows,
        noun="rows",
        runs=1,
    )


def _read(table: arctic.Table, *, title: str) -> Figure:
    return Figure(title=title, run=lambda: table.read().read_all(), count=ROWS, noun="rows")


def _rows(ids: range | tuple[int, ...]) -> pa.Table:
    keys = np.asarray(ids, dtype=np.int64)
    return pa.table(
        {
            "id": keys,
            "name": pa.array([f"customer {key % 5_000}" for key in keys.tolist()], pa.string()),
            "amount": keys * 0.25,
            "updated_at": pa.array(keys, pa.timestamp("us", tz="UTC")),
        },
        schema=SCHEMA,
    )

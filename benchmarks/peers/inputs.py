"""The workload's input, written once as Parquet for every system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.orders import SCHEMA, base_rows, change_rows

BATCHES = 5
BATCH_SHARE = 0.02
DELETE_SHARE = 0.005
RANGE_SHARE = 0.01
FIRST_USE_ROWS = 1_000

_CURRENCIES = np.array(["EUR", "USD", "JPY", "KES"])
WIDE_SCHEMA = SCHEMA.append(pa.field("currency", pa.string())).append(
    pa.field("weight_grams", pa.int32())
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The files of one run; every path is a folder of Parquet files."""

    rows: int
    """In the load."""
    load: Path
    upserts: tuple[Path, ...]
    delete: Path
    """Keys alone."""
    first_use: tuple[Path, Path, Path]
    """A small load, upsert and delete, for another table."""
    key_range: tuple[int, int]
    """First key inclusive, last exclusive."""
    key: int
    """Of a row that is never deleted."""

    @property
    def batch_rows(self) -> int:
        """Rows of each upsert."""
        return int(self.rows * BATCH_SHARE)


def write_inputs(folder: Path, rows: int, *, batches: int = BATCHES) -> Inputs:
    """Generate the files, the same for the same number of rows."""
    batch_rows = int(rows * BATCH_SHARE)
    for number, chunk in enumerate(base_rows(rows)):
        _write(folder / "load" / f"{number}.parquet", chunk)
    upserts = tuple(folder / f"upsert{number}" for number in range(batches))
    for number, path in enumerate(upserts):
        _write(path / "0.parquet", change_rows(rows, batch_rows, number=number))
    first_use = (folder / "first_load", folder / "first_upsert", folder / "first_delete")
    few = next(base_rows(FIRST_USE_ROWS))
    for path in first_use[:2]:
        _write(path / "0.parquet", few)
    first_use[2].mkdir()
    pq.write_table(few.select(["order_id"]).slice(0, 10), first_use[2] / "0.parquet")
    key = rows // 2
    low = rows // 3
    random = np.random.default_rng(2_000)
    others = np.delete(np.arange(rows), key)
    deleted = random.choice(others, int(rows * DELETE_SHARE), replace=False)
    keys = pa.table({"order_id": deleted}, schema=pa.schema([SCHEMA.field("order_id")]))
    (folder / "delete").mkdir()
    pq.write_table(keys, folder / "delete" / "0.parquet")
    return Inputs(
        rows=rows,
        load=folder / "load",
        upserts=upserts,
        delete=folder / "delete",
        first_use=first_use,
        key_range=(low, low + max(1, int(rows * RANGE_SHARE))),
        key=key,
    )


def _write(path: Path, orders: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(widened(orders), path, compression="zstd")


def widened(orders: pa.Table) -> pa.Table:
    """Add two plain columns to orders, computed from those that are there."""
    ids = orders.column("order_id").to_numpy()
    quantity = orders.column("quantity").to_numpy()
    currency = pa.array(_CURRENCIES[ids % len(_CURRENCIES)], pa.string())
    weight = pa.array(quantity * 250 + ids % 100, pa.int32())
    columns = [*orders.columns, currency, weight]
    return pa.Table.from_arrays(columns, schema=WIDE_SCHEMA)

"""PyIceberg's ``upsert`` on a SQLite catalog."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import BooleanExpression, In

from benchmarks.peers.systems.arrow_reads import ArrowSystem, Batches
from benchmarks.peers.systems.harness import serve


class PyicebergUpsert(ArrowSystem):
    """A format 2 table that is rewritten by copy-on-write."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.catalog = SqlCatalog(
            "bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
        )

    def versions(self) -> dict[str, str]:
        return {
            "pyiceberg": version("pyiceberg"),
            "pyarrow": version("pyarrow"),
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        rows = pq.read_table(source)
        self.catalog.create_namespace_if_not_exists("bench")
        self.catalog.create_table(self.table, rows.schema).append(rows)

    def upsert(self, source: str) -> None:
        table = self.catalog.load_table(self.table)
        table.upsert(pq.read_table(source), join_cols=["order_id"])

    def delete(self, source: str) -> None:
        keys = pq.read_table(source).column("order_id").to_pylist()
        self.catalog.load_table(self.table).delete(_one_of(keys))

    def scan(self, columns: Sequence[str] | None, keys: tuple[int, int] | None) -> Batches:
        chosen = "true" if keys is None else f"order_id >= {keys[0]} and order_id < {keys[1]}"
        scan = self.catalog.load_table(self.table).scan(
            row_filter=chosen, selected_fields=tuple(columns or ["*"])
        )
        rows: Batches = scan.to_arrow_batch_reader()
        return rows

    def compact(self) -> str:
        return "PyIceberg has no compaction"


def _one_of(keys: list[int]) -> BooleanExpression:
    # Pydantic's signature hides the one that PyIceberg documents.
    return In("order_id", keys)  # type: ignore[call-arg,arg-type]


if __name__ == "__main__":
    serve(PyicebergUpsert)

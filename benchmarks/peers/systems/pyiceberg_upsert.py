"""PyIceberg's ``upsert`` on a SQLite catalog."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import And, BooleanExpression, GreaterThanOrEqual, In, LessThan
from pyiceberg.table import ALWAYS_TRUE

from benchmarks.peers.systems.arrow_reads import ArrowSystem
from benchmarks.peers.systems.harness import serve

TABLE = "bench.orders"


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
        self.catalog.create_namespace("bench")
        self.catalog.create_table(TABLE, rows.schema).append(rows)

    def upsert(self, source: str) -> None:
        table = self.catalog.load_table(TABLE)
        table.upsert(pq.read_table(source), join_cols=["order_id"])

    def delete(self, source: str) -> None:
        keys = pq.read_table(source).column("order_id").to_pylist()
        self.catalog.load_table(TABLE).delete(In("order_id", keys))

    def scan(
        self, columns: Sequence[str] | None, keys: tuple[int, int] | None
    ) -> Iterable[pa.RecordBatch]:
        chosen: BooleanExpression = ALWAYS_TRUE
        if keys is not None:
            chosen = And(GreaterThanOrEqual("order_id", keys[0]), LessThan("order_id", keys[1]))
        scan = self.catalog.load_table(TABLE).scan(
            row_filter=chosen, selected_fields=tuple(columns or ["*"])
        )
        return scan.to_arrow_batch_reader()

    def compact(self) -> str:
        return "PyIceberg has no compaction"


if __name__ == "__main__":
    serve(PyicebergUpsert)

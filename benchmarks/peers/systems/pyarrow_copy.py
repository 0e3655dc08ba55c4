"""The raw limit: pyarrow reads and writes the same bytes, and merges nothing."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.peers.systems.arrow_reads import ArrowSystem, Batches
from benchmarks.peers.systems.harness import serve


class PyarrowCopy(ArrowSystem):
    """Parquet files side by side: a batch is copied, the reads see all that was copied."""

    merges = False

    compacted = False

    def versions(self) -> dict[str, str]:
        return {"pyarrow": version("pyarrow"), "python": platform.python_version()}

    def load(self, source: str) -> None:
        self._copy(source, self._rows())

    def upsert(self, source: str) -> None:
        self._copy(source, self._rows())

    def delete(self, source: str) -> None:
        self._copy(source, self.folder / self.table / "keys")

    def scan(self, columns: Sequence[str] | None, keys: tuple[int, int] | None) -> Batches:
        order_id = ds.field("order_id")
        chosen = None if keys is None else (order_id >= keys[0]) & (order_id < keys[1])
        rows: Batches = ds.dataset(self._rows()).to_batches(columns=columns, filter=chosen)
        return rows

    def compact(self) -> str:
        unmerged = self._rows()
        self.compacted = True
        self._copy(str(unmerged), self._rows())
        return ""

    def _rows(self) -> Path:
        return self.folder / self.table / ("compacted" if self.compacted else "rows")

    def _copy(self, source: str, target: Path) -> None:
        rows = ds.dataset(source)
        target.mkdir(parents=True, exist_ok=True)
        name = f"{len(list(target.iterdir()))}.parquet"
        with pq.ParquetWriter(target / name, rows.schema, compression="zstd") as writer:
            for batch in rows.to_batches():
                writer.write_batch(batch)


if __name__ == "__main__":
    serve(PyarrowCopy)

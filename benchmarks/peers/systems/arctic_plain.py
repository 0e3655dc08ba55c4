"""Arctic without Spark."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version

import pyarrow as pa
import pyarrow.dataset as ds

import arctic
from benchmarks.peers.systems.arrow_reads import ArrowSystem, Batches
from benchmarks.peers.systems.harness import serve


class ArcticPlain(ArrowSystem):
    """A keyed table, written and read in this process."""

    def versions(self) -> dict[str, str]:
        return {
            "arctic": arctic.__version__,
            "pyarrow": version("pyarrow"),
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        rows = ds.dataset(source)
        arctic.create_table(
            self.table, rows.schema, primary_key=["order_id"], warehouse=str(self.folder)
        )
        self._write(source, "overwrite")

    def upsert(self, source: str) -> None:
        self._write(source, "upsert")

    def delete(self, source: str) -> None:
        self._write(source, "delete")

    def scan(self, columns: Sequence[str] | None, keys: tuple[int, int] | None) -> Batches:
        condition = None if keys is None else f"order_id >= {keys[0]} and order_id < {keys[1]}"
        rows: Batches = arctic.read(
            self.table, columns=columns, filter=condition, warehouse=str(self.folder)
        )
        return rows

    def compact(self) -> str:
        arctic.optimize(self.table, type="full", warehouse=str(self.folder))
        return ""

    def _write(self, source: str, mode: str) -> None:
        rows = ds.dataset(source)
        reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
        arctic.write(self.table, reader, mode=mode, warehouse=str(self.folder))


if __name__ == "__main__":
    serve(ArcticPlain)

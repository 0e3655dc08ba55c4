"""Arctic without Spark."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

import arctic
from benchmarks.peers.systems.arrow_reads import ArrowSystem, Batches
from benchmarks.peers.systems.harness import plain, serve


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
            self.table, rows.schema, primary_key=self.keys, warehouse=str(self.folder)
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

    def ask(self, statement: str) -> list[list[Any]]:
        return [[plain(value) for value in row] for row in self._query(statement).fetchall()]

    def drain(self, statement: str) -> None:
        for _ in self._query(statement).to_arrow_reader():
            pass

    def _query(self, statement: str) -> duckdb.DuckDBPyConnection:
        """Let DuckDB read the tables of the namespace, each as it is now."""
        namespace = self.table.partition(".")[0]
        connection = duckdb.connect()
        connection.execute("set TimeZone = 'UTC'")
        for name in arctic.list_tables(namespace, warehouse=str(self.folder)):
            rows = arctic.dataset(name, warehouse=str(self.folder))
            connection.register(name.partition(".")[2], rows)
        return connection.execute(statement)

    def compact(self) -> str:
        arctic.optimize(self.table, type="full", warehouse=str(self.folder))
        return ""

    def upkeep(self) -> str:
        arctic.optimize(self.table, warehouse=str(self.folder))
        return ""

    def _write(self, source: str, mode: str) -> None:
        rows = ds.dataset(source)
        reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
        arctic.write(self.table, reader, mode=mode, warehouse=str(self.folder))


if __name__ == "__main__":
    serve(ArcticPlain)

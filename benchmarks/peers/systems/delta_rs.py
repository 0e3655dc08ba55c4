"""Delta without Spark: the ``deltalake`` package."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from benchmarks.peers.systems.arrow_reads import ArrowSystem, Batches
from benchmarks.peers.systems.harness import serve

SAME_KEY = "target.order_id = source.order_id"


class DeltaRs(ArrowSystem):
    """A table that ``merge`` rewrites by copy-on-write."""

    def versions(self) -> dict[str, str]:
        return {
            "deltalake": version("deltalake"),
            "pyarrow": version("pyarrow"),
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        rows = ds.dataset(source)
        reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
        write_deltalake(str(self.folder / self.table), reader)

    def upsert(self, source: str) -> None:
        merge = self._merge(source).when_matched_update_all()
        merge.when_not_matched_insert_all().execute()

    def delete(self, source: str) -> None:
        self._merge(source).when_matched_delete().execute()

    def scan(self, columns: Sequence[str] | None, keys: tuple[int, int] | None) -> Batches:
        order_id = ds.field("order_id")
        chosen = None if keys is None else (order_id >= keys[0]) & (order_id < keys[1])
        rows: Batches = (
            self._table().to_pyarrow_dataset().to_batches(columns=columns, filter=chosen)
        )
        return rows

    def compact(self) -> str:
        self._table().optimize.compact()
        return ""

    def _table(self) -> DeltaTable:
        return DeltaTable(str(self.folder / self.table))

    def _merge(self, source: str):  # type: ignore[no-untyped-def]
        rows = pq.read_table(source)
        return self._table().merge(rows, SAME_KEY, source_alias="source", target_alias="target")


if __name__ == "__main__":
    serve(DeltaRs)

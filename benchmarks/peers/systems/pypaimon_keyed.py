"""Paimon without Spark: a primary-key table of ``pypaimon``."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import PyarrowFieldParser

from benchmarks.peers.systems.arrow_reads import ArrowSystem, Batches
from benchmarks.peers.systems.harness import serve

KIND = "row_kind"
OPTIONS = {"bucket": "4", "rowkind.field": KIND}


class PypaimonKeyed(ArrowSystem):
    """Four fixed buckets, and one more column: a delete is a row that says so."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.catalog = CatalogFactory.create({"warehouse": str(folder)})

    def versions(self) -> dict[str, str]:
        return {
            "pypaimon": version("pypaimon"),
            "pyarrow": version("pyarrow"),
            "python": platform.python_version(),
        }

    def load(self, source: str) -> None:
        schema = ds.dataset(source).schema.append(pa.field(KIND, pa.string()))
        self.catalog.create_database("bench", True)
        made = Schema.from_pyarrow_schema(schema, primary_keys=["order_id"], options=OPTIONS)
        self.catalog.create_table(self.table, made, False)
        self._write(ds.dataset(source).to_batches(), "+I")

    def upsert(self, source: str) -> None:
        self._write(ds.dataset(source).to_batches(), "+I")

    def delete(self, source: str) -> None:
        keys = pq.read_table(source).column("order_id").combine_chunks()
        rows = [
            keys if field.name == "order_id" else pa.nulls(len(keys), field.type)
            for field in self._schema()
        ]
        self._write([pa.RecordBatch.from_arrays(rows, schema=self._schema())], "-D")

    def scan(self, columns: Sequence[str] | None, keys: tuple[int, int] | None) -> Batches:
        builder = self._table().new_read_builder()
        if keys is not None:
            make = builder.new_predicate_builder()
            low = make.greater_or_equal("order_id", keys[0])
            bounds = [low, make.less_than("order_id", keys[1])]
            if keys[1] == keys[0] + 1:
                bounds = [make.equal("order_id", keys[0])]
            builder = builder.with_filter(make.and_predicates(bounds))
        builder = builder.with_projection(list(columns or self._schema().names))
        splits = builder.new_scan().plan().splits()
        reader: Batches = builder.new_read().to_arrow_batch_reader(splits)
        return reader

    def compact(self) -> str:
        return "pypaimon has no compaction"

    def _table(self) -> Any:
        return self.catalog.get_table(self.table)

    def _schema(self) -> pa.Schema:
        fields = self._table().table_schema.fields
        schema = PyarrowFieldParser.from_paimon_schema(fields)
        return pa.schema([field for field in schema if field.name != KIND])

    def _write(self, batches: Batches, kind: str) -> None:
        builder = self._table().new_batch_write_builder()
        write = builder.new_write()
        commit = builder.new_commit()
        schema = PyarrowFieldParser.from_paimon_schema(self._table().table_schema.fields)
        for batch in batches:
            kinds = pa.array([kind] * batch.num_rows, pa.string())
            rows = pa.RecordBatch.from_arrays([*batch.columns, kinds], schema=schema)
            write.write_arrow_batch(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()


if __name__ == "__main__":
    serve(PypaimonKeyed)

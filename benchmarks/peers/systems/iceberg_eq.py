"""Iceberg as Flink's sink fills it: each batch is one commit with equality deletes.

Neither Spark's SQL nor PyIceberg writes such deletes. So pyarrow writes the files, and the Java
classes in Iceberg's runtime jar commit them; no Spark job runs.

Rules: an upsert deletes the key of each of its rows, whether the table has it or not, as a sink in
upsert mode does without looking. Equality deletes apply to earlier commits alone, so the rows that
come with them stay; for that no batch may hold a key twice, and none does.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.systems.harness import serve
from benchmarks.peers.systems.iceberg import CATALOG, Iceberg


class IcebergEq(Iceberg):
    """The same table, reads and compaction; upserts and deletes without ``MERGE INTO``."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "mor")
        context: Any = self.spark.sparkContext
        self.gateway = context._gateway
        self.iceberg = self.gateway.jvm.org.apache.iceberg

    def versions(self) -> dict[str, str]:
        return {**super().versions(), "pyarrow": version("pyarrow")}

    def upsert(self, source: str) -> None:
        rows = pq.read_table(source)
        table = self._table()
        delta = table.newRowDelta().addRows(self._data_file(table, rows))
        delta.addDeletes(self._delete_file(table, rows.select(list(self.keys)))).commit()

    def delete(self, source: str) -> None:
        table = self._table()
        keys = pq.read_table(source, columns=list(self.keys))
        table.newRowDelta().addDeletes(self._delete_file(table, keys)).commit()

    def _table(self) -> Any:
        # The session's own catalog, so that its next read sees what is committed here.
        session = self.spark._jsparkSession
        return self.iceberg.spark.Spark3Util.loadIcebergTable(session, f"{CATALOG}.{self.table}")

    def _data_file(self, table: Any, rows: pa.Table) -> Any:
        return self._written(self.iceberg.DataFiles.builder(table.spec()), table, rows)

    def _delete_file(self, table: Any, keys: pa.Table) -> Any:
        ids = self.gateway.new_array(self.gateway.jvm.int, len(self.keys))
        for place, key in enumerate(self.keys):
            ids[place] = table.schema().findField(key).fieldId()
        builder = self.iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(ids)
        return self._written(builder, table, keys)

    def _written(self, builder: Any, table: Any, rows: pa.Table) -> Any:
        """Write a file and describe it, with the bounds of its columns, as Iceberg's writers do."""
        schema = table.schema()
        ids = {name: schema.findField(name).fieldId() for name in rows.column_names}
        path = table.locationProvider().newDataLocation(f"{uuid4()}.parquet")
        write_parquet(path, rows, ids)
        file = table.io().newInputFile(path)
        config = self.iceberg.MetricsConfig.forTable(table)
        metrics = self.iceberg.parquet.ParquetUtil.fileMetrics(file, config)
        builder.withPath(path).withFormat("PARQUET").withFileSizeInBytes(file.getLength())
        return builder.withMetrics(metrics).build()


def write_parquet(path: str, rows: pa.Table, field_ids: Mapping[str, int]) -> None:
    """Write rows with the ids by which Iceberg knows the columns of a file."""
    schema = pa.schema(
        [
            field.with_metadata({"PARQUET:field_id": str(field_ids[field.name])})
            for field in rows.schema
        ]
    )
    pq.write_table(rows.cast(schema), path, compression="zstd")


if __name__ == "__main__":
    serve(IcebergEq)

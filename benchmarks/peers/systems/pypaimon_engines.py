"""What ``pypaimon`` reads of tables with merge engines: a history in a line, its rows in a line."""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema


def rows_of(history: dict[str, Any]) -> list[dict[str, Any]]:
    """Write a history into a table of its own, and read it."""
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            *(pa.field(name, pa.int64()) for name in history["numbers"]),
            *(pa.field(name, pa.string()) for name in history["texts"]),
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        catalog = CatalogFactory.create({"warehouse": folder})
        catalog.create_database("d", True)
        options = {"bucket": "2", **history["options"]}
        made = Schema.from_pyarrow_schema(schema, primary_keys=["id"], options=options)
        catalog.create_table("d.t", made, False)
        table = catalog.get_table("d.t")
        for rows in history["writes"]:
            builder = table.new_batch_write_builder()
            write, commit = builder.new_write(), builder.new_commit()
            write.write_arrow(pa.Table.from_pylist(rows, schema=schema))
            commit.commit(write.prepare_commit())
            write.close()
            commit.close()
        read = table.new_read_builder()
        found: pa.Table = read.new_read().to_arrow(read.new_scan().plan().splits())
        return sorted(found.to_pylist(), key=lambda row: int(row["id"]))


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(rows_of(json.loads(line))), flush=True)

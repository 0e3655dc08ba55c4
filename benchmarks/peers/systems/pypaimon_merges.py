"""Tables of ``pypaimon`` that merge rows: a call in a line, its seconds in a line."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pypaimon import CatalogFactory, Schema


class Merges:
    """One table after another, each in a folder of its own."""

    def create(self, folder: str, source: str, options: dict[str, str]) -> None:
        """Create a table with the columns of a Parquet file."""
        catalog = CatalogFactory.create({"warehouse": folder})
        catalog.create_database("d", True)
        schema = pq.read_schema(source).remove_metadata()
        made = Schema.from_pyarrow_schema(
            schema, primary_keys=["id"], options={"bucket": "4", **options}
        )
        catalog.create_table("d.t", made, False)
        self._table = catalog.get_table("d.t")

    def write(self, source: str) -> None:
        """Write the rows of a Parquet file in one commit."""
        builder = self._table.new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(pq.read_table(source))
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    def read(self, target: str) -> None:
        """Read every row, and keep what was found as a Parquet file."""
        builder = self._table.new_read_builder()
        found: pa.Table = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        self._found, self._target = found, target

    def keep(self) -> None:
        """Write down what was read last; no part of the time."""
        pq.write_table(self._found, self._target)


def main() -> None:
    """Answer calls until there are no more."""
    merges = Merges()
    for line in sys.stdin:
        call: dict[str, Any] = json.loads(line)
        verb = call.pop("verb")
        started = time.perf_counter()
        getattr(merges, verb)(**call)
        seconds = time.perf_counter() - started
        if verb == "read":
            merges.keep()
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()

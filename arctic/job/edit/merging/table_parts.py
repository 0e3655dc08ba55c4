"""The rows of a table that is being edited, in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from arctic.job.edit.commit_edit import EditedTable

_PART_ROWS = 1_000_000
"""Rows of the table that are compared with the source at a time."""


def parts_of(table: EditedTable, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows, part by part, one at least.

    Args:
        table: in one state.
        columns: in this order.
    """
    job = table.read(columns)
    part: list[pa.RecordBatch] = []
    for batch in job.batches():
        part.append(batch)
        if sum(each.num_rows for each in part) >= _PART_ROWS:
            yield pa.Table.from_batches(part)
            part = []
    yield pa.Table.from_batches(part, schema=job.schema)

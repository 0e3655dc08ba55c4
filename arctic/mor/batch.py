"""Make a batch of columns, even of none: then only a struct array knows how many rows there are."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def make_batch(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a batch of exactly this schema and number of rows."""
    if columns:
        return pa.RecordBatch.from_arrays(list(columns), schema=schema)
    bare = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
    return pa.RecordBatch.from_struct_array(bare)

"""Make a batch of columns, even of none: then only a struct array knows how many rows there are."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

BATCH_BYTES = 32 * 2**20
"""Of one batch at most, but for a row that is larger itself: rows may be of any width."""


def make_batch(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a batch of exactly this schema and number of rows."""
    if columns:
        return pa.RecordBatch.from_arrays(list(columns), schema=schema)
    bare = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
    return pa.RecordBatch.from_struct_array(bare)


def beside(batch: pa.RecordBatch, more: pa.Table) -> pa.RecordBatch:
    """Return one batch with the columns of a table of as many rows behind those of a batch."""
    arrays = [pa.concat_arrays(column.chunks) for column in more.columns]
    return pa.RecordBatch.from_arrays(
        [*batch.columns, *arrays], names=[*batch.schema.names, *more.column_names]
    )


def decoded(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the same rows, with values for dictionaries of columns that have none in a schema."""
    for place, field in enumerate(batch.schema):
        if pa.types.is_dictionary(field.type):
            plain = schema.field(field.name)
            if not pa.types.is_dictionary(plain.type):
                batch = batch.set_column(place, plain, batch.column(place).dictionary_decode())
    return batch

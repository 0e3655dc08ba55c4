"""Batches of a reader: made of columns, joined, put beside others, decoded, masked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.field_ids import child_fields

BATCH_BYTES = 32 * 2**20
"""Of one batch at most, but for a row that is larger itself: rows may be of any width."""
FEW_DROPPED = 128
"""Below one row in so many, copying runs of rows is faster than picking them one by one."""
_FEW_ROWS = 256
"""Of so few, to choose a way for each column takes longer than any of them."""


def make_batch(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a batch of exactly this schema and number of rows, even one without columns."""
    if columns:
        return pa.RecordBatch.from_arrays(list(columns), schema=schema)
    # Then only a struct array knows how many rows there are.
    bare = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
    return pa.RecordBatch.from_struct_array(bare)


def coalesce(batches: Iterable[pa.RecordBatch], *, max_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in the same order, without empty and with fewer small batches.

    Handing one over costs the same, however few rows it has.

    Args:
        batches: of one schema, none above ``max_rows``. One of at least half as many rows, or half
            as many bytes as a batch may have, is handed on as it is; smaller ones are copied
            together.
        max_rows: upper bound for the rows of a batch, inclusive.
    """
    waiting: list[pa.RecordBatch] = []
    rows, size = 0, 0
    for batch in batches:
        if not batch.num_rows:
            continue
        more = batch.nbytes
        large = 2 * batch.num_rows >= max_rows or 2 * more >= BATCH_BYTES
        full = rows + batch.num_rows > max_rows or size + more > BATCH_BYTES
        if waiting and (large or full):
            yield joined(waiting)
            waiting, rows, size = [], 0, 0
        if large:
            yield batch
            continue
        waiting.append(batch)
        rows += batch.num_rows
        size += more
    if waiting:
        yield joined(waiting)


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of some batches of one schema, at least one batch, as one."""
    schema, rows = batches[0].schema, sum(batch.num_rows for batch in batches)
    if len(batches) == 1 or not rows:
        return batches[0]
    if not len(schema):
        return make_batch((), schema, rows)
    # By far faster than to make an object of each column of each batch.
    (every,) = pa.Table.from_batches(batches, schema=schema).combine_chunks().to_batches()
    return every


def at_least_one(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches; an empty one where there are none, for the schema's sake."""
    is_empty = True
    for batch in batches:
        is_empty = False
        yield batch
    if is_empty:
        yield pa.RecordBatch.from_pylist([], schema=schema)


def beside(batch: pa.RecordBatch, more: pa.Table) -> pa.RecordBatch:
    """Return one batch with the columns of a table of as many rows behind those of a batch."""
    arrays = [
        column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
        for column in more.columns
    ]
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


def kept(batch: pa.RecordBatch, mask: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    """Return the rows where the mask is true.

    Measured on batches of 64 k rows of 12 columns, of which a tenth or a fiftieth are dropped:
    columns of one width are taken by row number in half the time of a mask, text is copied by mask
    in a third of the time of row numbers; that is 40 % less than a filter of the whole batch.

    Args:
        batch: columns of any type.
        mask: one truth for each row.
    """
    left = int(np.count_nonzero(mask))
    if left == len(mask):
        return batch
    if not batch.num_columns:
        return make_batch([], batch.schema, left)
    truths = pa.array(mask)
    if len(mask) <= _FEW_ROWS:
        return batch.filter(truths)
    rows: pa.Array | None = None
    if (len(mask) - left) * FEW_DROPPED > len(mask):
        rows = pa.array(np.flatnonzero(mask).astype(np.uint32))
    few = 2 * left < len(mask)
    columns = []
    for column in batch.columns:
        if rows is not None and (few or _has_one_width(column.type)):
            columns.append(column.take(rows))
        else:
            columns.append(column.filter(truths))
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _has_one_width(kind: pa.DataType) -> bool:
    if child_fields(kind):
        return False
    try:
        return bool(kind.bit_width > 1)
    except ValueError:
        return False

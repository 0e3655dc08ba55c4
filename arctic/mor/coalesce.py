"""Join small neighbouring batches: handing one over costs the same, however few rows it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from arctic.mor.batch import BATCH_BYTES, make_batch


def coalesce(batches: Iterable[pa.RecordBatch], *, max_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in the same order, without empty and with fewer small batches.

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
    if len(batches) == 1:
        return batches[0]
    schema = batches[0].schema
    columns = [
        pa.concat_arrays([batch.column(at) for batch in batches]) for at in range(len(schema))
    ]
    return make_batch(columns, schema, sum(batch.num_rows for batch in batches))


def at_least_one(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches; an empty one where there are none, for the schema's sake."""
    is_empty = True
    for batch in batches:
        is_empty = False
        yield batch
    if is_empty:
        yield pa.RecordBatch.from_pylist([], schema=schema)

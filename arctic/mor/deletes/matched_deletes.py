"""Rows of data files, looked up among deletes: what that takes of them, and which are dead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from arctic.columns.integers.integer_index import IntArray
from arctic.mor.deletes.delete_files import known_offsets
from arctic.mor.deletes.delete_index import DeleteIndex
from arctic.mor.deletes.row_weights import row_weights
from arctic.mor.files.file_columns import FileColumns, Projection
from arctic.mor.request import FILE_OFFSET_FIELD, ReadRequest
from arctic.table.files import FileKind, TableFile


class FoundRows(NamedTuple):
    """Rows of a batch whose keys an index of deletes has."""

    first_row: int
    """The number of the batch's first row in the whole file."""
    row_count: int
    """Of the batch."""
    rows: IntArray
    """Their numbers in the batch, ascending."""
    codes: IntArray
    """What the index calls their keys."""
    weights: tuple[IntArray, ...]


def merge_columns(
    columns: FileColumns,
    request: ReadRequest,
    kind: FileKind,
    index: DeleteIndex | None,
    *,
    is_outdone: bool = False,
) -> Projection:
    """Return the key, the ordering columns, and the file offset where rows have their own.

    Args:
        columns: of a file.
        request: the read.
        kind: of the file.
        index: the deletes that rows are looked up in; None: they are not, which takes no columns.
        is_outdone: whether every delete outdoes every row, whatever its order.
    """
    if index is None:
        return columns.project([])
    ordering = () if is_outdone else request.ordering
    offset = (FILE_OFFSET_FIELD,) if kind is FileKind.INSERT else ()
    return columns.project([*request.key, *ordering, *offset])


def dead_rows(
    batch: pa.RecordBatch,
    merge: Projection,
    index: DeleteIndex,
    request: ReadRequest,
    file: TableFile,
    transaction_id: int | IntArray,
) -> IntArray:
    """Return the numbers of the rows of a batch that deletes kill.

    Args:
        batch: rows as they are stored.
        merge: what ``merge_columns`` returned for their file.
        index: the deletes.
        request: the read.
        file: where they are from, or the first of several of one kind.
        transaction_id: that of every row, or of each.
    """
    arrays, offsets = merge.arrays(batch), None
    if file.kind is FileKind.INSERT:
        offsets = known_offsets(arrays.pop(), file.path)
    if len(request.ordering) and len(arrays) == len(request.key):
        return index.match(arrays)[0]
    rows, codes, weights = found_rows(arrays, index, request, transaction_id, offsets)
    if offsets is not None:
        offsets = offsets[rows]
    dead = index.are_dead(codes, _at(transaction_id, rows), offsets, weights)
    return rows if dead.all() else rows[dead]


def found_rows(
    arrays: Sequence[pa.Array],
    index: DeleteIndex,
    request: ReadRequest,
    transaction_id: int | IntArray,
    offsets: IntArray | None,
) -> tuple[IntArray, IntArray, tuple[IntArray, ...]]:
    """Return the rows whose keys an index has, what it calls these, and the rows' weights.

    Few rows are found as a rule, so the weights of the others are never made.
    """
    keys, ordering = arrays[: len(request.key)], arrays[len(request.key) :]
    rows, codes = index.match(keys)
    if request.dies_by_deletes_alone:
        return rows, codes, ()
    weights = row_weights(
        request.engine,
        [column.take(pa.array(rows)) for column in ordering],
        transaction_id=_at(transaction_id, rows),
        file_offsets=None if offsets is None else offsets[rows],
        count=len(rows),
    )
    return rows, codes, weights


def _at(transaction_id: int | IntArray, rows: IntArray) -> int | IntArray:
    return transaction_id if isinstance(transaction_id, int) else transaction_id[rows]

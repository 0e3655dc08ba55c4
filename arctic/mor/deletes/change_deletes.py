"""Change deletes of a task: for every deleted key, the greatest of its deletes.

Strategy: delete files are read batch by batch into a buffer. When it is full, deletes of one key
are reduced to the newest; if that frees less than half, the buffer becomes an index of its own
and the next one begins. A row dies iff *some* index kills it, so the indexes can be applied one
after the other, in any order, and no delete is read twice.

Rules:
    - Deletes in memory stay below ``max_delete_bytes``, but for one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from arctic.mor.deletes.delete_files import DeleteFiles, KeptDeletes
from arctic.mor.deletes.delete_index import DeleteIndex, DeleteRows
from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.touched import Touched
from arctic.table.files import TableFile

_PIECE_ROWS = 1_024
"""Pieces of fewer rows cost more each than copying them."""


@dataclass(frozen=True, slots=True)
class DeletePiece:
    """As many of a task's deletes as fit in memory."""

    index: DeleteIndex
    is_last: bool
    """Whether all deletes have been seen now."""


def delete_pieces(
    files: Sequence[TableFile],
    request: ReadRequest,
    open_file: OpenFile,
    touched: Touched,
    kept: KeptDeletes,
) -> Iterator[DeletePiece]:
    """Read delete files into one index after the other; the caller forgets each before the next.

    Args:
        files: of one task.
        request: the read.
        open_file: how a path is opened.
        touched: what to add counts to.
        kept: what other tasks of the read have found in small files.

    Raises:
        FormatError: a file without a key column or without file offsets.
    """
    buffer: list[DeleteRows] = []
    used_bytes = 0
    touched.delete_files += len(files)
    # In the order of their transactions, deletes need no sorting.
    ordered = sorted(files, key=lambda file: (file.transaction_id, file.path))
    reader = DeleteFiles(request, open_file)
    for rows in chain.from_iterable(kept.of(file, reader.rows_of) for file in ordered):
        touched.delete_rows += len(rows.file_offsets)
        taken = rows.memory_bytes
        if buffer and used_bytes + taken > request.max_delete_bytes:
            buffer = [_joined(buffer).reduced()]
            used_bytes = buffer[0].memory_bytes
            if used_bytes > request.max_delete_bytes // 2:
                index = DeleteIndex(buffer.pop())
                used_bytes = 0
                yield DeletePiece(index, is_last=False)
                del index
        buffer.append(rows)
        used_bytes += taken
    if buffer:
        every = _joined(buffer)
        buffer.clear()
        index = DeleteIndex(every)
        del every
        yield DeletePiece(index, is_last=True)


def _in_few_pieces(keys: pa.Table) -> pa.Table:
    """Return the same rows; of very many small files, copied together."""
    pieces = keys.column(0).num_chunks
    return keys.combine_chunks() if pieces * _PIECE_ROWS > keys.num_rows else keys


def _joined(buffer: Sequence[DeleteRows]) -> DeleteRows:
    return DeleteRows(
        _in_few_pieces(pa.concat_tables([rows.keys for rows in buffer])),
        np.concatenate([rows.transaction_ids for rows in buffer]),
        np.concatenate([rows.file_offsets for rows in buffer]),
        tuple(map(np.concatenate, zip(*[rows.ordering for rows in buffer], strict=True))),
    )

"""Position deletes: which rows of data files are dead, in files of their own.

Rules:
    - One delete file for each data file, however many rows of it are dead.

Must not know: why rows are dead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.field_ids import field_with_id
from arctic.table.files import FileKind, TableFile, WrittenFile
from arctic.table.row_positions import (
    DELETED_PATH_ID,
    DELETED_PATH_NAME,
    DELETED_POSITION_ID,
    DELETED_POSITION_NAME,
)
from arctic.writing.files.node_files import Destination, NodeFiles
from arctic.writing.rows.gather import Picked
from arctic.writing.target import TaskId, WriteTarget

ANY_SIZE = 2**62
"""Bytes that no delete file reaches."""
POSITION_DELETE_SCHEMA = pa.schema(
    [
        field_with_id(DELETED_PATH_NAME, pa.string(), DELETED_PATH_ID, nullable=False),
        field_with_id(DELETED_POSITION_NAME, pa.int64(), DELETED_POSITION_ID, nullable=False),
    ]
)
_PATHS = pa.dictionary(pa.int32(), pa.string())
_REPEATED = POSITION_DELETE_SCHEMA.set(0, POSITION_DELETE_SCHEMA.field(0).with_type(_PATHS))
"""The same in a file; in memory the path is there once."""
_MARKED_ROWS = 2**17
"""Position deletes made at a time: each repeats a path, and an array holds 2 GiB of text."""


def marks(file: TableFile, dead: npt.NDArray[np.int64]) -> Iterator[tuple[Destination, pa.Table]]:
    """Yield the rows of a delete file, and where they go.

    Args:
        file: a data file.
        dead: numbers of its rows, ascending.
    """
    place = _place(file)
    for start in range(0, len(dead), _MARKED_ROWS):
        positions = pa.array(dead[start : start + _MARKED_ROWS], pa.int64())
        paths = pa.repeat(pa.scalar(file.path, pa.string()), len(positions))
        yield place, pa.Table.from_arrays([paths, positions], schema=POSITION_DELETE_SCHEMA)


def mark_rows(
    target: WriteTarget,
    task: TaskId,
    dead: Sequence[tuple[TableFile, npt.NDArray[np.int64]]],
) -> tuple[WrittenFile, ...]:
    """Write delete files that nobody refers to yet.

    Args:
        target: the table.
        task: names the files.
        dead: data files, each once, with the numbers of its dead rows, ascending.

    Raises:
        StorageError: a file could not be created or written; none is left.
    """
    if not dead:
        return ()
    files = NodeFiles(
        replace(target, options=replace(target.options, target_file_bytes=ANY_SIZE)),
        task,
        schemas={FileKind.POS_DELETE: _REPEATED},
        transaction_id=max(file.transaction_id for file, _ in dead),
    )
    try:
        files.add_whole((_place(file), _marked(file, rows)) for file, rows in dead if len(rows))
        return files.close()
    except BaseException:
        files.abort()
        raise


def _place(file: TableFile) -> Destination:
    return Destination(
        partition=file.partition,
        node=file.node,
        kind=FileKind.POS_DELETE,
        referenced_path=file.path,
    )


def _marked(file: TableFile, dead: npt.NDArray[np.int64]) -> Picked:
    paths = pa.DictionaryArray.from_arrays(np.zeros(len(dead), np.int32), [file.path])
    rows = pa.Table.from_arrays([paths, pa.array(dead, pa.int64())], schema=_REPEATED)
    return Picked(source=rows, numbers=None, nbytes=rows.nbytes)

"""Rows that say which stored row they replace, by its file and its place in it.

What they delete is handed back packed, because a delete file is of one data file, and any task may
meet rows of any file. What takes their place is written as rows that are appended.

Must not know: catalogs, who found the rows.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.integers.distinct import distinct
from arctic.errors import InternalError
from arctic.table.row_positions import ACTION, FILE, PLACE_COLUMNS, POSITION
from arctic.writing.base_writer import BaseWriter
from arctic.writing.target import TaskResult

DELETES, INSERTS = "D", "I"


class PlaceWriter:
    """Writes the rows of one task; see ``arctic.writing.writer.open_writer``."""

    def __init__(self, rows: BaseWriter) -> None:
        self._rows = rows
        self._dead: dict[str, list[npt.NDArray[np.int64]]] = defaultdict(list)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows with what each does, and where the stored row is that it is about.

        Raises:
            InvalidInputError: rows that do not fit the table, naming the column.
            StorageError: a file could not be created or written.
            InternalError: a row that does nothing known, or to a row that is nowhere.
        """
        actions = batch.column(ACTION)
        dead = batch.filter(pc.not_equal(actions, INSERTS))
        if actions.null_count or dead.column(FILE).null_count or dead.column(POSITION).null_count:
            raise InternalError(f"a command's row lacks one of {', '.join(PLACE_COLUMNS)}")
        self._bury(dead)
        stays = batch.filter(pc.not_equal(actions, DELETES))
        if stays.num_rows:
            self._rows.write(stays)

    def close(self) -> TaskResult:
        """Complete the files.

        Raises:
            StorageError: a file could not be created or written.
        """
        dead = {path: packed(np.concatenate(pieces)) for path, pieces in self._dead.items()}
        return replace(self._rows.close(), dead=dead)

    def abort(self) -> None:
        """Give up, and remove what was written."""
        self._rows.abort()

    def _bury(self, rows: pa.RecordBatch) -> None:
        paths = pc.dictionary_encode(rows.column(FILE))
        numbers = paths.indices.to_numpy(zero_copy_only=False)
        positions = rows.column(POSITION).to_numpy(zero_copy_only=False)
        for number, path in enumerate(paths.dictionary.to_pylist()):
            self._dead[path].append(positions[numbers == number])


def packed(positions: npt.NDArray[np.int64]) -> bytes:
    """Return row numbers, each once, in few bytes: neighbours differ by one.

    >>> unpacked([packed(np.array([7, 3, 7])), packed(np.array([4]))]).tolist()
    [3, 4, 7]
    """
    steps = np.diff(distinct(positions), prepend=np.int64(0))
    return zlib.compress(steps.astype("<i8").tobytes(), level=1)


def unpacked(pieces: Iterable[bytes]) -> npt.NDArray[np.int64]:
    """Return the row numbers of several such texts, ascending, each once."""
    numbers = [np.cumsum(np.frombuffer(zlib.decompress(each), "<i8")) for each in pieces]
    return distinct(np.concatenate(numbers))


def dead_of(results: Iterable[TaskResult]) -> Mapping[str, npt.NDArray[np.int64]]:
    """Return the dead rows of each data file that tasks have told of."""
    pieces: dict[str, list[bytes]] = defaultdict(list)
    for result in results:
        for path, text in result.dead.items():
            pieces[path].append(text)
    return {path: unpacked(texts) for path, texts in sorted(pieces.items())}

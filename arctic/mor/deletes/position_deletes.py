"""Rows of data files that are removed by number: position deletes, and what is known beside them.

Rules:
    - A delete names its data file by path, byte for byte, and its row by position in the whole
      file, whichever row groups are read.
    - A delete file is read once for all data files of a group that it is attached to. Where few
      rows of a large data file are asked for, those of its row groups are read that have positions
      near them, unless all of these data files together would have more read so.

Memory: eight bytes for each position of the group's data files, plus one batch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.field_ids import field_id
from arctic.columns.integers.integer_index import IntArray
from arctic.columns.integers.row_set import RowSet
from arctic.columns.promotions import reads_as
from arctic.errors import FormatError, InternalError
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.request import OpenFile, ReadRequest
from arctic.scan.task import NodeTask
from arctic.table.files import FileKind, TableFile
from arctic.table.row_positions import (
    DELETED_PATH_ID,
    DELETED_PATH_NAME,
    DELETED_POSITION_ID,
    DELETED_POSITION_NAME,
)

_COLUMNS = (
    (DELETED_PATH_ID, DELETED_PATH_NAME),
    (DELETED_POSITION_ID, DELETED_POSITION_NAME),
)


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """What position deletes remove, and change deletes that were looked up before."""

    positions: IntArray
    """Ascending."""
    dead: RowSet | None

    def alive(self, first_row: int, row_count: int) -> npt.NDArray[np.bool_]:
        """Say for each of some neighbouring rows whether it is not among them."""
        mask = np.ones(row_count, bool)
        start, end = np.searchsorted(self.positions, (first_row, first_row + row_count))
        mask[self.positions[start:end] - first_row] = False
        if self.dead is not None:
            mask &= ~self.dead.slice(first_row, row_count)
        return mask


class PositionDeletes:
    """The position deletes of a group of tasks, read when they are first needed."""

    def __init__(
        self, tasks: Iterable[NodeTask], request: ReadRequest, open_file: OpenFile
    ) -> None:
        self._open_file = open_file
        self._request = request
        self._data_paths: dict[str, list[str]] = {}
        for task in tasks:
            for file_task in (*task.data, *task.rivals):
                for delete in file_task.position_deletes:
                    self._data_paths.setdefault(delete.path, []).append(file_task.file.path)
        self._loaded: set[str] = set()
        self._pieces: dict[str, list[IntArray]] = {}

    def rows(
        self, data_path: str, deletes: Sequence[TableFile], within: range | None = None
    ) -> IntArray:
        """Return the deleted rows of a data file, ascending, possibly repeated.

        Args:
            data_path: a data file of the group.
            deletes: its position-delete files.
            within: the only rows that are asked for; others may be missing. None: all are.

        Raises:
            FormatError: a delete file without the two columns, or with nulls in them.
        """
        for delete in deletes:
            if delete.kind is not FileKind.POS_DELETE:
                raise InternalError(
                    f"file {delete.path!r} of kind {delete.kind} is attached as position deletes"
                )
        if within is not None and not within:
            return np.empty(0, np.int64)
        near: list[IntArray] = []
        for delete in deletes:
            if delete.path not in self._loaded:
                self._read(delete, data_path, within, near)
        rows = _in_order([*self._pieces.get(data_path, []), *near])
        if not near:
            self._pieces[data_path] = [rows]  # so that a file read twice is put in order once
        return rows

    def _read(
        self, file: TableFile, data_path: str, within: range | None, near: list[IntArray]
    ) -> None:
        """Keep the positions of the group's data files, or add those near a run of one's rows."""
        path, request = file.path, self._request
        pieces, data_paths = self._pieces, list(dict.fromkeys(self._data_paths[path]))
        with ParquetInput(
            path, self._open_file, Size.of(file), verifies_pages=request.verifies_pages
        ) as parquet:
            names = _column_names(parquet)
            parquet.keep_encoded(names[0])
            groups: Collection[int] = parquet.row_groups
            if within is not None:
                some = [each for each in groups if _may_hold(parquet, each, names[1], within)]
                if len(some) * len(data_paths) < len(groups):
                    pieces, data_paths, groups = {data_path: near}, [data_path], some
            wanted = pa.array(data_paths, pa.string())
            for _, batch in parquet.batches(names, groups, request.batch_rows):
                paths, positions = (batch.column(name) for name in names)
                _check(paths, positions, path)
                which, numbers = _which(paths, wanted), positions.cast(pa.int64()).to_numpy()
                for number, each in enumerate(data_paths):
                    piece = numbers[which == number]
                    if len(piece):
                        pieces.setdefault(each, []).append(piece)
        if pieces is self._pieces:
            self._loaded.add(path)


def _in_order(pieces: Sequence[IntArray]) -> IntArray:
    if not pieces:
        return np.empty(0, np.int64)
    rows = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    # A file of positions ascends, whose batches need no sort.
    return np.sort(rows) if (rows[1:] < rows[:-1]).any() else rows


def _may_hold(parquet: ParquetInput, row_group: int, name: str, rows: range) -> bool:
    """Say whether a row group can hold positions of a run of rows, by its bounds."""
    leaf = parquet.leaf_column(name)
    if leaf is None:
        return True
    statistics = parquet.metadata.row_group(row_group).column(leaf).statistics
    if statistics is None or not (statistics.has_min_max and isinstance(statistics.min, int)):
        return True
    return bool(statistics.min < rows.stop and rows.start <= statistics.max)


def _column_names(parquet: ParquetInput) -> list[str]:
    """Find the two columns by id, or by the name that the format gives them."""
    names = []
    for number, default in _COLUMNS:
        by_id = [field.name for field in parquet.schema if field_id(field) == number]
        by_name = [name for name in parquet.schema.names if name == default]
        if not by_id and not by_name:
            raise FormatError(
                f"position-delete file {parquet.path!r}: no column {default!r} (field id {number})"
                f"; it has {', '.join(parquet.schema.names)}"
            )
        names.append((by_id or by_name)[0])
    return names


def _check(paths: pa.Array, positions: pa.Array, path: str) -> None:
    """Refuse columns that cannot be what the format says they are."""
    subject = f"position-delete file {path!r}"
    if not reads_as(paths.type, pa.string()):
        raise FormatError(f"{subject}: a path is {paths.type}; expected string")
    if not reads_as(positions.type, pa.int64()):
        raise FormatError(f"{subject}: a position is {positions.type}; expected int64")
    if paths.null_count or positions.null_count:
        raise FormatError(f"{subject}: a path or position is null")


def _which(paths: pa.Array, wanted: pa.Array) -> IntArray:
    """Return for each row the number of its path among the wanted ones, or -1."""
    if isinstance(paths, pa.DictionaryArray):
        of_value: IntArray = _which(paths.dictionary, wanted)
        rows: IntArray = of_value[paths.indices.to_numpy()]
        return rows
    found: IntArray = (
        pc.index_in(paths.cast(pa.string()), value_set=wanted).fill_null(-1).to_numpy()
    )
    return found

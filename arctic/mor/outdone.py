"""Inserts that what is merged already outdoes, where a table has ordering columns.

A row or a delete of an insert's key that base or the merged changes hold is older than the insert,
so it counts only if its values in the ordering columns are greater.

Strategy: the keys of a task's inserts are gathered, as many as fit in memory. Of its rivals the key
and the ordering columns are read, in the row groups that can hold one of the keys; for every key
the greatest values stay. Inserts below these are remembered by their numbers.

Rules:
    - A row of base that a position delete removes is no rival.

Memory: ``max_delete_bytes`` for keys, and one bit for each row of the task's inserts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from arctic.columns.event_order import compare, greatest_by_code
from arctic.columns.integer_index import IntArray
from arctic.columns.key_codes import KeyIndex
from arctic.columns.row_set import RowSet
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.deletes.change_deletes import key_bytes
from arctic.mor.deletes.position_deletes import PositionDeletes
from arctic.mor.deletes.removed_rows import RemovedRows
from arctic.mor.filters.key_span import KeySpan, has_span
from arctic.mor.filters.row_filter import filter_of_deletes
from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.touched import Touched
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import ColumnBounds, FileKind, TableFile


def outdone_rows(
    task: NodeTask, request: ReadRequest, open_file: OpenFile, positions: PositionDeletes
) -> dict[str, RowSet]:
    """Return the inserts of a task that a rival outdoes, by the path of their file.

    Args:
        task: with inserts and their rivals.
        request: with ordering columns.
        open_file: how a path is opened for reading.
        positions: the position deletes of a group that the task is in.
    """
    found: dict[str, RowSet] = {}
    # What the filter drops need not be told apart; of rivals it must not drop a key that counts.
    of_keys = replace(request, row_filter=filter_of_deletes(request))
    for piece in _pieces(task, request, open_file):
        best = _Best(piece)
        for rival in task.rivals:
            removed = RemovedRows(positions.rows(rival.file.path, rival.position_deletes), None)
            with DataFileReader(rival.file, of_keys, open_file, Touched()) as data:
                for first_row, keys, ordering in data.keys_in_order(best.may_hold):
                    best.add(keys, ordering, removed.alive(first_row, len(keys[0])))
        for part, outdone in zip(piece, best.outdone(), strict=True):
            rows = found.setdefault(part.path, RowSet(part.row_count))
            rows.add(part.first_row + outdone)
    return found


@dataclass(frozen=True, slots=True)
class _Inserts:
    """Neighbouring rows of an insert file."""

    path: str
    row_count: int
    """Of the whole file."""
    first_row: int
    keys: pa.Table
    ordering: tuple[IntArray, ...]


class _Best:
    """The greatest values that rivals have for each key of some inserts."""

    def __init__(self, inserts: Sequence[_Inserts]) -> None:
        keys = pa.concat_tables([part.keys for part in inserts])
        self._inserts = inserts
        self._index = KeyIndex(keys)
        self._codes = self._index.take_codes()
        self._found = np.zeros(self._index.count, bool)
        width = len(inserts[0].ordering)
        self._values = tuple(np.zeros(self._index.count, np.int64) for _ in range(width))
        self._spans = [
            KeySpan(column) if has_span(column.type) else None for column in keys.columns
        ]

    def may_hold(self, bounds: Sequence[ColumnBounds | None]) -> bool:
        """Say whether some insert can have a key within bounds of each key column."""
        return all(
            span is None or span.meets(known)
            for span, known in zip(self._spans, bounds, strict=True)
        )

    def add(
        self, keys: Sequence[pa.Array], ordering: Sequence[IntArray], alive: np.ndarray
    ) -> None:
        """Take rows of a rival: their keys, their values, and which of them count."""
        rows, codes = self._index.match(keys)
        counted = alive[rows]
        rows, codes = rows[counted], codes[counted]
        if not len(rows):
            return
        values = [column[rows] for column in ordering]
        distinct, places = np.unique(codes, return_inverse=True)
        best = greatest_by_code(values, places, len(distinct))
        values = [column[best] for column in values]
        greater, _ = compare(values, [column[distinct] for column in self._values])
        better = greater | ~self._found[distinct]
        self._found[distinct] = True
        for held, new in zip(self._values, values, strict=True):
            held[distinct[better]] = new[better]

    def outdone(self) -> Iterator[IntArray]:
        """Yield, for each part of the inserts, which of its rows a rival outdoes, ascending."""
        start = 0
        for part in self._inserts:
            codes = self._codes[start : start + part.keys.num_rows]
            start += part.keys.num_rows
            greater, _ = compare([column[codes] for column in self._values], part.ordering)
            yield np.flatnonzero(greater & self._found[codes])


def _pieces(task: NodeTask, request: ReadRequest, open_file: OpenFile) -> Iterator[list[_Inserts]]:
    """Yield the inserts of a task, as many at a time as fit in memory; raises as their reading."""
    held: list[_Inserts] = []
    used_bytes = 0
    for part in _every_insert(_insert_files(task.data), request, open_file):
        size = key_bytes(part.keys, len(part.ordering))
        if held and used_bytes + size > request.max_delete_bytes:
            yield held
            held, used_bytes = [], 0
        held.append(part)
        used_bytes += size
    if held:
        yield held


def _every_insert(
    files: Sequence[TableFile], request: ReadRequest, open_file: OpenFile
) -> Iterator[_Inserts]:
    for file in files:
        with DataFileReader(file, request, open_file, Touched()) as data:
            for first_row, keys, ordering in data.keys_in_order(lambda _: True):
                yield _Inserts(
                    path=file.path,
                    row_count=data.row_count,
                    first_row=first_row,
                    keys=pa.table(keys, schema=request.key),
                    ordering=ordering,
                )


def _insert_files(data: Sequence[FileTask]) -> list[TableFile]:
    return [part.file for part in data if part.file.kind is FileKind.INSERT]

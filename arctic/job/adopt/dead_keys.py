"""The rows that equality deletes kill, file by file.

Strategy: the keys that deletes name go into a table of DuckDB for each set of columns, each key of
a partition once, with its newest sequence number. The key columns of all data files are streamed
through one join with it, and what dies is sorted by its place. So each file is read once for each
set of columns, and no work is done for each pair of files.

Memory: ``MOST_BYTES`` and a few row groups of the key columns; beyond that, a temporary folder. And
eight bytes for each dead row of a file.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.cdc.engine import engine_errors, spilling_engine, streamed
from arctic.columns.field_ids import field_id
from arctic.errors import UnsupportedError
from arctic.iceberg.adoption.equality_deletes import Repairable
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.adopt.unique_key import MOST_BYTES
from arctic.job.tasks.open_ahead import opened_in_order
from arctic.job.upkeep.mask_files import Dead
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.touched import Touched
from arctic.table.files import TableFile

_TABLE_ORDER = "SET disabled_optimizers = 'join_order,build_side_probe_side'"
"""Nothing is known of the size of a stream, so which side is held must not be guessed."""
_PLACE = [
    pa.field("part", pa.int32()),
    pa.field("newest", pa.int64()),
    pa.field("place", pa.int64()),
]
"""Beside the columns of a key: the number of its partition, the sequence number of its file, and
the number of its row among those of all data files."""


def dead_rows(opened: OpenTable, found: Repairable, request: ReadRequest) -> Iterator[Dead]:
    """Yield each data file that has rows which equality deletes kill, with their numbers.

    Args:
        opened: the table.
        found: its files.
        request: how files are read.

    Raises:
        UnsupportedError: a column that deletes go by is nested, gone or a floating-point number, or
            has a default value.
        StorageError: a file is missing or cannot be read, or the temporary folder is full.
    """
    deletes: dict[tuple[int, ...], list[TableFile]] = defaultdict(list)
    for each in found.deletes:
        deletes[each.field_ids].append(each.file)
    columns = {ids: _columns(opened, ids) for ids in deletes}
    with (
        tempfile.TemporaryDirectory(prefix="arctic-repair-") as folder,
        spilling_engine(folder, MOST_BYTES) as connection,
    ):
        search = _Search(opened, connection, request, found.data)
        for ids, some in deletes.items():
            search.look_up(columns[ids], some)
        yield from search.dead()


class _Search:
    """The rows of all data files that are known to be dead, in a table of DuckDB."""

    def __init__(
        self, opened: OpenTable, connection: Any, request: ReadRequest, data: Sequence[TableFile]
    ) -> None:
        self._opened = opened
        self._connection = connection
        self._request = request
        self._data = data
        self._starts = np.cumsum([0, *(file.record_count for file in data)])
        self._parts: dict[tuple[object, ...], int] = {}
        connection.execute(_TABLE_ORDER)
        connection.execute("CREATE TABLE dead (place BIGINT)")

    def look_up(self, columns: Sequence[pa.Field], deletes: Sequence[TableFile]) -> None:
        """Find the rows that have the keys of deletes, in the files that these can touch."""
        names = [f"k{number}" for number in range(len(columns))]
        key = ", ".join(["part", *names])
        newest: dict[int, int] = {}
        for file in deletes:
            part = self._part(file)
            newest[part] = max(newest.get(part, 0), file.sequence_number)
        with self._given(columns, [(file, 0) for file in deletes]):
            self._connection.execute(
                f"CREATE TABLE keys AS SELECT {key}, max(newest) AS newest "
                f"FROM given GROUP BY {key}"
            )
        touched = [
            (file, int(start))
            for file, start in zip(self._data, self._starts[:-1], strict=True)
            if newest.get(self._part(file), 0) > file.sequence_number
        ]
        same = " AND ".join(f"g.{name} IS NOT DISTINCT FROM k.{name}" for name in names)
        with self._given(columns, touched):
            self._connection.execute(
                "INSERT INTO dead SELECT g.place FROM given g JOIN keys k "
                f"ON g.part = k.part AND {same} AND k.newest > g.newest"
            )
        self._connection.execute("DROP TABLE keys")

    def dead(self) -> Iterator[Dead]:
        """Yield the files with dead rows; a row may have been found by several sets of columns."""
        with engine_errors():
            found = self._connection.execute("SELECT DISTINCT place FROM dead ORDER BY place")
            yield from _by_file(self._data, self._starts, found.to_arrow_reader())

    @contextmanager
    def _given(
        self, columns: Sequence[pa.Field], files: Sequence[tuple[TableFile, int]]
    ) -> Iterator[None]:
        """Let one statement read columns of files, each with the place of its first row."""
        keys = [pa.field(f"k{number}", column.type) for number, column in enumerate(columns)]
        schema = pa.schema([*_PLACE, *keys])
        io = self._opened.io
        with (
            opened_in_order(io, [file.path for file, _ in files]) as open_file,
            streamed(
                self._connection, "given", schema, self._batches(columns, files, schema, open_file)
            ),
        ):
            yield

    def _batches(
        self,
        columns: Sequence[pa.Field],
        files: Sequence[tuple[TableFile, int]],
        schema: pa.Schema,
        open_file: OpenFile,
    ) -> Iterator[pa.RecordBatch]:
        for file, place in files:
            part = self._part(file)
            with DataFileReader(file, self._request, open_file, Touched()) as reader:
                for batch in reader.every_row(columns, reader.row_groups):
                    rows = len(batch)
                    placed = [
                        np.full(rows, part, np.int32),
                        np.full(rows, file.sequence_number, np.int64),
                        np.arange(place, place + rows, dtype=np.int64),
                    ]
                    yield pa.RecordBatch.from_arrays(
                        [*map(pa.array, placed), *batch.columns], schema=schema
                    )
                    place += rows

    def _part(self, file: TableFile) -> int:
        """Return the number of a file's partition."""
        # As a partition -0.0 is not 0.0, and NaN is one; as Python's numbers it is otherwise.
        values = tuple(
            repr(value) if isinstance(value, float) else value for value in file.partition
        )
        return self._parts.setdefault(values, len(self._parts))


def _by_file(
    data: Sequence[TableFile], starts: npt.NDArray[np.int64], found: Iterable[pa.RecordBatch]
) -> Iterator[Dead]:
    """Divide the places of rows, ascending, by the files that they are in."""
    at, held = -1, [np.zeros(0, np.int64)]
    for batch in found:
        places = batch.column(0).to_numpy()
        files = np.searchsorted(starts, places, side="right") - 1
        ends = [*np.flatnonzero(np.diff(files)) + 1, len(files)]
        for begin, end in pairwise([0, *ends]):
            if files[begin] != at:
                if at >= 0:
                    yield data[at], np.concatenate(held)
                at, held = int(files[begin]), []
            held.append(places[begin:end] - starts[at])
    if at >= 0:
        yield data[at], np.concatenate(held)


def _columns(opened: OpenTable, ids: Sequence[int]) -> tuple[pa.Field, ...]:
    by_id = {field_id(field): field for field in opened.arrow_schema}
    columns = []
    for number in ids:
        field = by_id.get(number)
        if field is None or pa.types.is_nested(field.type) or pa.types.is_floating(field.type):
            what = "is no column of the table" if field is None else f"is {field.type}"
            raise UnsupportedError(
                f"table {opened.table.name!r}: rows are deleted by the column with field id "
                f"{number}, which {what}; expected top-level columns that are compared exactly"
            )
        if opened.base.schema().find_field(number).initial_default is not None:
            raise UnsupportedError(
                f"table {opened.table.name!r}: rows are deleted by {field.name!r}, which has "
                "a default value in files that lack it; expected one without"
            )
        columns.append(field)
    return tuple(columns)

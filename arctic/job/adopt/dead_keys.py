"""The rows that equality deletes kill, file by file.

Strategy: the keys of a partition's deletes go into a table of DuckDB, each with its newest sequence
number; then the key columns of each data file are joined with it.

Memory: ``MOST_BYTES`` and a few row groups of the key columns; beyond that, a temporary folder. And
eight bytes for each dead row of a file.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from arctic.cdc.engine import name as quoted
from arctic.cdc.engine import spilling_engine, streamed
from arctic.columns.field_ids import field_id
from arctic.columns.integers.distinct import distinct
from arctic.errors import UnsupportedError
from arctic.iceberg.adoption.equality_deletes import EqualityDelete, Repairable
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.adopt.unique_key import MOST_BYTES
from arctic.job.upkeep.mask_files import Dead
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.touched import Touched
from arctic.table.files import Partition, TableFile

_NUMBER = "_row"


def dead_rows(
    opened: OpenTable, found: Repairable, request: ReadRequest, open_file: OpenFile
) -> Iterator[Dead]:
    """Yield each data file that has rows which equality deletes kill, with their numbers.

    Args:
        opened: the table.
        found: its files.
        request: how files are read.
        open_file: opens them.

    Raises:
        UnsupportedError: a column that deletes go by is nested, gone or a floating-point number.
        StorageError: a file is missing or cannot be read.
    """
    deletes: dict[Partition, dict[tuple[int, ...], list[EqualityDelete]]] = {}
    for each in found.deletes:
        by_columns = deletes.setdefault(each.file.partition, defaultdict(list))
        by_columns[each.field_ids].append(each)
    data: dict[Partition, list[TableFile]] = defaultdict(list)
    for file in found.data:
        data[file.partition].append(file)
    columns = {ids: _columns(opened, ids) for each in deletes.values() for ids in each}
    for partition, by_columns in deletes.items():
        files = _Files(request, open_file)
        with (
            tempfile.TemporaryDirectory(prefix="arctic-repair-") as folder,
            spilling_engine(folder, MOST_BYTES) as connection,
        ):
            tables = [
                _Keys(connection, number, columns[ids], some, files)
                for number, (ids, some) in enumerate(by_columns.items())
            ]
            for file in data[partition]:
                dead = [
                    keys.dead_rows(file) for keys in tables if keys.newest > file.sequence_number
                ]
                rows = distinct(np.concatenate(dead)) if dead else np.zeros(0, np.int64)
                if len(rows):
                    yield file, rows


class _Files:
    """Reads columns of files, whole."""

    def __init__(self, request: ReadRequest, open_file: OpenFile) -> None:
        self._request = request
        self._open_file = open_file

    def batches(self, file: TableFile, fields: Sequence[pa.Field]) -> Iterator[pa.RecordBatch]:
        with DataFileReader(file, self._request, self._open_file, Touched()) as reader:
            yield from reader.every_row(fields, reader.row_groups)


class _Keys:
    """The dead keys of a partition by some columns, in a table of DuckDB."""

    def __init__(
        self,
        connection: Any,
        number: int,
        columns: Sequence[pa.Field],
        deletes: Sequence[EqualityDelete],
        files: _Files,
    ) -> None:
        self.newest = max(each.file.sequence_number for each in deletes)
        self._connection = connection
        self._table = f"dead_{number}"
        self._columns = columns
        self._files = files
        self._names = [quoted(f"k{place}") for place in range(len(columns))]
        self._schema = pa.schema(
            [pa.field(f"k{place}", each.type) for place, each in enumerate(columns)]
            + [pa.field(_NUMBER, pa.int64())]
        )
        every = ", ".join(self._names)
        with streamed(connection, "given", self._schema, self._of_deletes(deletes)):
            connection.execute(
                f"CREATE TABLE {self._table} AS SELECT {every}, max({_NUMBER}) AS newest "
                f"FROM given GROUP BY {every}"
            )

    def dead_rows(self, file: TableFile) -> Any:
        """Return the numbers of the rows of a data file that are dead, in any order."""
        same = " AND ".join(f"g.{name} IS NOT DISTINCT FROM d.{name}" for name in self._names)
        with streamed(self._connection, "given", self._schema, self._of_data(file)):
            found = self._connection.execute(
                f"SELECT g.{_NUMBER} FROM given g JOIN {self._table} d ON {same} "
                f"WHERE d.newest > {file.sequence_number}"
            ).to_arrow_table()
        return found.column(0).to_numpy()

    def _of_deletes(self, deletes: Sequence[EqualityDelete]) -> Iterator[pa.RecordBatch]:
        for each in deletes:
            for batch in self._files.batches(each.file, self._columns):
                yield self._numbered(
                    batch, np.full(len(batch), each.file.sequence_number, np.int64)
                )

    def _of_data(self, file: TableFile) -> Iterator[pa.RecordBatch]:
        first = 0
        for batch in self._files.batches(file, self._columns):
            yield self._numbered(batch, np.arange(first, first + len(batch), dtype=np.int64))
            first += len(batch)

    def _numbered(self, batch: pa.RecordBatch, numbers: Any) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([*batch.columns, pa.array(numbers)], schema=self._schema)


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
        columns.append(field)
    return tuple(columns)

"""Where the columns that a reader asks for come from in one file: a column, or a fact about it.

Must not know: Parquet, row groups, deletes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import pyarrow as pa
import pyarrow.types as pt

from arctic.columns.field_ids import (
    PathIds,
    field_id,
    has_field_ids,
    known_field_id,
    with_field_ids,
)
from arctic.columns.integers.integer_index import IntArray
from arctic.errors import FormatError, InternalError
from arctic.mor.files.project import Convert, converter
from arctic.mor.request import (
    CHANGE_ACTION_FIELD_ID,
    FILE_OFFSET_FIELD_ID,
    ROW_FILE_FIELD,
    ROW_POSITION_FIELD,
    TRANSACTION_ID_FIELD_ID,
    ReadRequest,
)
from arctic.table.files import BASE_FILE_OFFSET, FileKind, TableFile, Value

_ACTIONS = {FileKind.BASE: None, FileKind.INSERT: "INSERT", FileKind.CHANGE_DELETE: "DELETE"}


_ROW_FILE, _ROW_POSITION = known_field_id(ROW_FILE_FIELD), known_field_id(ROW_POSITION_FIELD)


@dataclass(frozen=True, slots=True)
class _Column:
    target: pa.Field
    name: str | None
    """None: not read from the file."""
    convert: Convert
    """Takes the file's column, or the batch when there is none."""

    is_position: bool = False
    """Its values are the numbers of the rows in the file."""

    def array(self, batch: pa.RecordBatch, subject: str, positions: IntArray | None) -> pa.Array:
        if self.is_position:
            return pa.array(positions, pa.int64())
        column = self.convert(batch if self.name is None else batch.column(self.name))
        if not self.target.nullable and column.null_count:
            raise FormatError(
                f"{subject}: required column {self.target.name!r} holds {column.null_count} nulls"
            )
        return column


class Projection:
    """Some columns of one file, as they were asked for."""

    def __init__(self, file: FileColumns, columns: Sequence[_Column]) -> None:
        self._subject = file.subject
        self._columns = columns
        self.names = tuple(dict.fromkeys(c.name for c in columns if c.name is not None))
        """The file's columns that have to be read, each once."""

        self.dictionaries = {
            c.name: c.target.type
            for c in columns
            if c.name is not None and pt.is_dictionary(c.target.type)
        }
        """Those of them that are asked for as dictionaries."""

        self.has_positions = any(c.is_position for c in columns)
        """Whether ``arrays`` must be told which rows they are."""

    def with_dictionaries(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of the file, as dictionaries where they are asked for so."""
        for name, kind in self.dictionaries.items():
            at = schema.get_field_index(name)
            schema = schema.set(at, schema.field(at).with_type(kind))
        return schema

    def arrays(self, batch: pa.RecordBatch, positions: IntArray | None = None) -> list[pa.Array]:
        """Return the columns of a batch that holds at least ``names``.

        Args:
            batch: rows.
            positions: their numbers in the file, where ``has_positions``.
        """
        return [column.array(batch, self._subject, positions) for column in self._columns]


def names_of(*projections: Projection) -> list[str]:
    """Return the columns that some projections of a file take, each once."""
    return list(dict.fromkeys(name for each in projections for name in each.names))


class FileColumns:
    """The columns of one data or delete file by field id."""

    def __init__(self, file: TableFile, schema: pa.Schema, request: ReadRequest) -> None:
        if file.kind not in _ACTIONS:
            raise InternalError(f"file {file.path!r} of kind {file.kind} holds no rows of a table")
        self.subject = f"file {file.path!r}"
        self._kind, self._schema = file.kind, schema.remove_metadata()
        self._partition = file.partition if request.identity_partitions else None
        self.fields = self._by_id(schema, request.name_mapping)
        self.constants: Mapping[int, Value] = {
            TRANSACTION_ID_FIELD_ID: file.transaction_id,
            CHANGE_ACTION_FIELD_ID: _ACTIONS[file.kind],
            _ROW_FILE: file.path,
        }
        """Facts about the file, the same for every row, by reserved field id."""
        self.constants = {
            **self.constants,
            **{
                number: file.partition[place]
                for number, place in request.identity_partitions.items()
                if number not in self.fields
            },
        }
        if file.kind is FileKind.BASE:
            self.constants = {**self.constants, FILE_OFFSET_FIELD_ID: BASE_FILE_OFFSET}
        self.names = {number: field.name for number, field in self.fields.items()}
        """The columns that are read from the file; facts hide a column of the same id."""
        for number in self.constants:
            self.names.pop(number, None)

    def project(self, targets: Sequence[pa.Field]) -> Projection:
        """Find columns in the file.

        Args:
            targets: the fields that are asked for, with ids.

        Raises:
            FormatError: a required column that is absent, or a type that cannot be read.
        """
        return Projection(self, [self._column(target) for target in targets])

    def are_those_of(self, file: TableFile, schema: pa.Schema) -> bool:
        """Say whether another file of the same read has the same columns and the same facts.

        But for its path and its transaction, which are its own.

        Args:
            file: the other file.
            schema: of its columns.
        """
        return (
            file.kind is self._kind
            and (self._partition is None or file.partition == self._partition)
            and schema.remove_metadata().equals(self._schema, check_metadata=True)
        )

    def _column(self, target: pa.Field) -> _Column:
        number = known_field_id(target)
        constant = self.constants.get(number)
        name = self.names.get(number)
        source = None if name is None else self.fields[number]
        if constant is not None:
            plain = constant.bytes if isinstance(constant, UUID) else constant
            value = pa.scalar(plain, target.type)
            return _Column(target, None, lambda batch: pa.repeat(value, len(batch)))
        if number == _ROW_POSITION:
            return _Column(target, None, _nothing, is_position=True)
        subject = f"{self.subject}, column {target.name!r}"
        convert = converter(source, target, subject=subject)
        return _Column(target, name, convert)

    def _by_id(self, schema: pa.Schema, name_mapping: PathIds | None) -> dict[int, pa.Field]:
        names = schema.names
        if len(set(names)) < len(names):
            raise FormatError(f"{self.subject}: two columns have one name, in {names!r}")
        if not has_field_ids(schema):
            if name_mapping is None:
                raise FormatError(
                    f"{self.subject}: no column has a field id; expected ids, or the table "
                    "property 'schema.name-mapping.default'"
                )
            try:
                schema = with_field_ids(schema, name_mapping)
            except FormatError as error:
                raise FormatError(f"{self.subject}: {error.message}") from error
        numbered = ((field_id(field), field) for field in schema)
        return {number: field for number, field in numbered if number is not None}


def _nothing(batch: pa.RecordBatch) -> pa.Array:
    raise InternalError("the numbers of rows are not read from a file")

"""Bring a column as a file holds it to the type that a reader asked for, by field id.

Rules:
    - Nested fields are matched by id at every depth: renamed, reordered, added (null) and dropped
      ones. A file without any id is given those of the table's name mapping before.
    - A value is never changed: a type that cannot be widened exactly is refused, and so is a
      timestamp that loses digits.
    - A column that is there with the right type costs nothing.

Must not know: files, batches, deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.types as pat

from arctic.columns.buffers import with_children
from arctic.columns.cast import widen
from arctic.columns.field_ids import child_fields, field_id, is_any_list
from arctic.columns.promotions import reads_as
from arctic.errors import FormatError
from arctic.mor.files.parquet_footer import INT96_UNIT, is_int96

Convert = Callable[[pa.Array], pa.Array]
"""Turns a column of a file into the column that was asked for."""


def converter(source: pa.Field | None, target: pa.Field, *, subject: str) -> Convert:
    """Return what turns a file's column into the target's type.

    Args:
        source: the column as the file declares it; None when the file has none.
        target: name, type, nullability and field ids that are asked for.
        subject: what to call the column in an error, with its file.

    Raises:
        FormatError: a required column that is absent, or a type that cannot be widened.
    """
    if pat.is_dictionary(target.type):
        values = target.with_type(target.type.value_type)
        plain = converter(source, values, subject=subject)
        return lambda column: _encoded(column, plain, target.type)
    if source is None or pat.is_null(source.type):
        if not target.nullable:
            raise FormatError(f"{subject}: required column is missing; expected {target.type}")
        return lambda column: pa.nulls(len(column), target.type)
    if is_int96(source) and target.type == pa.timestamp(INT96_UNIT, "UTC"):
        return lambda column: column.view(target.type)
    if _is_same(source, target):
        return _unchanged
    if pat.is_struct(source.type) and pat.is_struct(target.type):
        return _struct(source, target, subject)
    if is_any_list(source.type) and pat.is_list(target.type):
        return _list(source, target, subject)
    if pat.is_map(source.type) and pat.is_map(target.type):
        return _map(source, target, subject)
    if child_fields(source.type) or not reads_as(source.type, target.type):
        raise FormatError(f"{subject}: type {source.type} cannot be read as {target.type}")
    return lambda column: widen(column, target.type, subject)


def _same_field(field: pa.Field, fields: Sequence[pa.Field]) -> int | None:
    """Return the number of the field that is the same one; None when there is none."""
    for at, candidate in enumerate(fields):
        if field_id(candidate) == field_id(field) is not None:
            return at
    return None


def _encoded(column: pa.Array, plain: Convert, wanted: pa.DataType) -> pa.Array:
    """Return a dictionary of a column that may be one already."""
    if isinstance(column, pa.Array) and column.type == wanted:
        return column
    return plain(column).dictionary_encode().cast(wanted)


def _unchanged(column: pa.Array) -> pa.Array:
    return column


def _is_same(source: pa.Field, target: pa.Field) -> bool:
    """Say whether a column can be handed on: Arrow compares types, but not the ids in them."""
    if source.type != target.type:
        return False
    pairs = zip(child_fields(source.type), child_fields(target.type), strict=True)
    return all(
        field_id(ours) == field_id(theirs) and _is_same(ours, theirs) for ours, theirs in pairs
    )


def _struct(source: pa.Field, target: pa.Field, subject: str) -> Convert:
    held, wanted = child_fields(source.type), child_fields(target.type)
    if all(field_id(child) is None for child in held):
        raise FormatError(
            f"{subject}: its nested fields have no ids, though other columns have; expected ids in "
            "the file, or in the table property 'schema.name-mapping.default'"
        )
    places = [_same_field(child, held) for child in wanted]
    converts = [
        converter(
            None if place is None else held[place],
            child,
            subject=f"{subject}.{child.name}",
        )
        for place, child in zip(places, wanted, strict=True)
    ]

    def convert(column: pa.StructArray) -> pa.Array:
        children = [
            turn(column if place is None else column.field(place))
            for place, turn in zip(places, converts, strict=True)
        ]
        nulls = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(wanted), mask=nulls)

    return convert


def _list(source: pa.Field, target: pa.Field, subject: str) -> Convert:
    # A list has one child, so it is the same one whatever its name and id are.
    plain = pa.list_(source.type.value_field)
    turn = converter(
        source.type.value_field,
        target.type.value_field,
        subject=f"{subject}.{target.type.value_field.name}",
    )

    def convert(column: pa.Array) -> pa.Array:
        if not pat.is_list(column.type):
            column = column.cast(plain)
        return with_children(column, target.type, turn(column.values))

    return convert


def _map(source: pa.Field, target: pa.Field, subject: str) -> Convert:
    parts = [
        converter(ours, theirs, subject=f"{subject}.{theirs.name}")
        for ours, theirs in zip(child_fields(source.type), child_fields(target.type), strict=True)
    ]

    def convert(column: pa.MapArray) -> pa.Array:
        entries = pa.StructArray.from_arrays(
            [parts[0](column.keys), parts[1](column.items)],
            fields=list(child_fields(target.type)),
        )
        return with_children(column, target.type, entries)

    return convert

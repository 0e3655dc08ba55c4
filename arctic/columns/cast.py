"""Whole columns as other types, without losing anything: of rows to be written, and of files.

Rules:
    - ``promotions`` says which type becomes which. Where only some values fit, the first that does
      not is refused by itself.
    - Struct fields meet by name, at every depth. A missing optional one becomes null.
    - Everything else is refused by its type, double to float too: a rounded number is another.

Must not know: tables, keys, write modes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.columns.field_ids import child_fields, with_child_fields
from arctic.columns.nullable import slice_values
from arctic.columns.promotions import storage_type, takes
from arctic.columns.row_text import value_text
from arctic.errors import FormatError, InvalidInputError


def check_castable(incoming: pa.DataType, expected: pa.Field, column: str) -> None:
    """Refuse a type whose values might not survive.

    Args:
        incoming: the type that was given.
        expected: the field of the table, with its nested fields.
        column: the name for messages; nested parts are dotted.

    Raises:
        InvalidInputError: naming the column, both types and a remedy.
    """
    incoming, wanted = _plain(incoming), expected.type
    if incoming == wanted:
        return
    if pt.is_struct(wanted) and pt.is_struct(incoming):
        _check_struct(incoming, wanted, column)
    elif pt.is_list(wanted) and _is_list(incoming):
        check_castable(incoming.value_type, wanted.value_field, f"{column}.element")
    elif pt.is_map(wanted) and pt.is_map(incoming):
        check_castable(incoming.key_type, wanted.key_field, f"{column}.key")
        check_castable(incoming.item_type, wanted.item_field, f"{column}.value")
    elif not takes(wanted, incoming):
        raise InvalidInputError(
            f"column {column!r} is {incoming}, but the table has {_expected_text(wanted)}: "
            f"{_reason(incoming, wanted)}; cast it to {wanted} first"
        )


def cast_array(array: pa.Array, expected: pa.DataType) -> pa.Array:
    """Return the same values as another type.

    Args:
        array: of a type that ``check_castable`` accepts.
        expected: the table's type.

    Raises:
        pyarrow.ArrowInvalid: a value that does not fit, such as 3000000000 in an int.
    """
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type == expected:
        return array
    if pt.is_struct(expected):
        return _cast_struct(array, expected)
    if pt.is_list(expected):
        return _cast_list(array, expected)
    if pt.is_map(expected):
        return _cast_map(array, expected)
    return pc.cast(array, expected)


def plain_table(rows: pa.Table) -> pa.Table:
    """Return the same rows without dictionaries and views, which not every kernel knows.

    Memory: the columns that have some once more.

    >>> plain_table(pa.table({"x": pa.array(["a"], pa.string_view())})).schema
    x: string
    """
    for place, field in enumerate(rows.schema):
        kind = _plain_throughout(field.type)
        if kind != field.type:
            chunks = [cast_array(chunk, kind) for chunk in rows.column(place).chunks]
            column = pa.chunked_array(chunks, type=kind)
            rows = rows.set_column(place, field.with_type(kind), column)
    return rows


def cast_column(
    array: pa.Array, expected: pa.DataType, column: str, describe_row: Callable[[int], str]
) -> pa.Array:
    """Do the work of ``cast_array``, or say which row stands in the way.

    Args:
        array: of a type that ``check_castable`` accepts.
        expected: the table's type.
        column: the name for messages.
        describe_row: how a message names a row by its number.

    Raises:
        InvalidInputError: naming the column, the first row whose value does not fit, and the value.
    """
    try:
        return cast_array(array, expected)
    except pa.ArrowInvalid as error:
        row = _first_misfit(array, expected)
        raise InvalidInputError(
            f"column {column!r} has a value that {_expected_text(expected)} cannot hold: "
            f"{value_text(array[row])} in {describe_row(row)}; change it or leave the row out"
        ) from error


def widen(column: pa.Array, target: pa.DataType, subject: str) -> pa.Array:
    """Return a column of a file as the target type, which ``reads_as`` has allowed.

    Raises:
        FormatError: a value that the target cannot hold, such as a nanosecond.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    try:
        if pt.is_dictionary(column.type):
            column = column.dictionary_decode()
        narrow = storage_type(target)
        widened = column if column.type == narrow else column.cast(narrow)
    except pa.ArrowInvalid as error:
        raise FormatError(f"{subject}: cannot be read as {target}: {error}") from error
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, widened)
    return widened


def _first_misfit(array: pa.Array, expected: pa.DataType) -> int:
    fitting, failing = 0, len(array)
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        try:
            cast_array(array.slice(fitting, middle - fitting), expected)
            fitting = middle
        except pa.ArrowInvalid:
            failing = middle
    return fitting


def near_name(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name."""
    known = list(known)
    for candidate in known:
        if candidate.lower() == name.lower():
            return f"did you mean {candidate!r}? names are compared with case"
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"


def _check_struct(incoming: pa.DataType, wanted: pa.DataType, column: str) -> None:
    names = [field.name for field in incoming]
    known = [field.name for field in wanted]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"column {column!r} has two fields {name!r}; expected one")
        if name not in known:
            raise InvalidInputError(
                f"column {f'{column}.{name}'!r} is not in the table; {near_name(name, known)}"
            )
    for field in wanted:
        if field.name in names:
            check_castable(incoming.field(field.name).type, field, f"{column}.{field.name}")
        elif not field.nullable:
            raise InvalidInputError(
                f"column {f'{column}.{field.name}'!r} ({field.type}) is required but missing; "
                "add it to the frame"
            )


def _plain(data_type: pa.DataType) -> pa.DataType:
    return data_type.value_type if pt.is_dictionary(data_type) else data_type


def _plain_throughout(kind: pa.DataType) -> pa.DataType:
    if pt.is_dictionary(kind):
        return _plain_throughout(kind.value_type)
    if pt.is_string_view(kind):
        return pa.string()
    if pt.is_binary_view(kind):
        return pa.binary()
    if pt.is_list_view(kind) or pt.is_large_list_view(kind):
        kind = pa.list_(kind.value_field)
    children = child_fields(kind)
    if not children:
        return kind
    plain = [child.with_type(_plain_throughout(child.type)) for child in children]
    return with_child_fields(kind, plain)


def _is_list(data_type: pa.DataType) -> bool:
    return bool(
        pt.is_list(data_type)
        or pt.is_large_list(data_type)
        or pt.is_list_view(data_type)
        or pt.is_large_list_view(data_type)
    )


def _expected_text(wanted: pa.DataType) -> str:
    return "timestamptz" if pt.is_timestamp(wanted) and wanted.tz else str(wanted)


def _reason(incoming: pa.DataType, wanted: pa.DataType) -> str:
    if pt.is_timestamp(incoming) and pt.is_timestamp(wanted):
        return "it has no time zone" if incoming.tz is None else "it has a time zone"
    return "values could be lost or changed"


def _cast_struct(array: pa.Array, expected: pa.DataType) -> pa.Array:
    given = {field.name: index for index, field in enumerate(array.type)}
    parts = [
        cast_array(array.field(given[field.name]), field.type)
        if field.name in given
        else pa.nulls(len(array), field.type)
        for field in expected
    ]
    return pa.StructArray.from_arrays(parts, fields=list(expected), mask=_null_mask(array))


def _cast_list(array: pa.Array, expected: pa.DataType) -> pa.Array:
    # Not Arrow's own cast: of a sliced list view it makes offsets beyond the values (26.0).
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    return pa.ListArray.from_arrays(
        pc.cast(offsets, pa.int32()),
        cast_array(array.flatten(), expected.value_type),
        type=expected,
        mask=_null_mask(array),
    )


def _cast_map(array: pa.Array, expected: pa.DataType) -> pa.Array:
    offsets, keys = slice_values(array.offsets, array.keys)
    _, items = slice_values(array.offsets, array.items)
    return pa.MapArray.from_arrays(
        offsets,
        cast_array(keys, expected.key_type),
        cast_array(items, expected.item_type),
        type=expected,
        mask=_null_mask(array),
    )


def _null_mask(array: pa.Array) -> pa.Array | None:
    return pc.is_null(array) if array.null_count else None

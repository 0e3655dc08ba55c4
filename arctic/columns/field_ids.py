"""Iceberg's field ids as they stand in the metadata of Arrow fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.types as pat

from arctic.errors import InternalError

FIELD_ID_KEY = b"PARQUET:field_id"
"""Where pyarrow keeps the field id of a Parquet column, in both directions."""


def field_id(field: pa.Field) -> int | None:
    """Return the id of a field; None when it has none."""
    text = (field.metadata or {}).get(FIELD_ID_KEY)
    return None if text is None else int(text)


def known_field_id(field: pa.Field) -> int:
    """Return the id of a field that must have one."""
    number = field_id(field)
    if number is None:
        raise InternalError(f"column {field.name!r} has no field id")
    return number


def field_with_id(
    name: str, data_type: pa.DataType, number: int, *, nullable: bool = True
) -> pa.Field:
    """Return a field that carries an id."""
    return pa.field(name, data_type, nullable, metadata={FIELD_ID_KEY: str(number)})


def child_fields(data_type: pa.DataType) -> tuple[pa.Field, ...]:
    """Return the fields that are nested directly in a type: none for a primitive one."""
    if not data_type.num_fields:
        return ()
    if pat.is_map(data_type):
        return (data_type.key_field, data_type.item_field)
    if pat.is_struct(data_type):
        return tuple(data_type.field(index) for index in range(data_type.num_fields))
    if is_any_list(data_type):
        return (data_type.value_field,)
    return ()


def is_any_list(data_type: pa.DataType) -> bool:
    """Say whether a type is a list of whatever layout that Parquet files can ask for."""
    return bool(
        pat.is_list(data_type) or pat.is_large_list(data_type) or pat.is_fixed_size_list(data_type)
    )


def has_field_ids(fields: Iterable[pa.Field]) -> bool:
    """Say whether any field carries an id, at any depth."""
    return any(field_id(field) is not None for field in _every_field(fields))


def _every_field(fields: Iterable[pa.Field]) -> Iterator[pa.Field]:
    for field in fields:
        yield field
        yield from _every_field(child_fields(field.type))

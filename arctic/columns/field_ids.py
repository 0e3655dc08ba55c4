"""Iceberg's field ids as they stand in the metadata of Arrow fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.types as pat

from arctic.errors import FormatError, InternalError

FIELD_ID_KEY = b"PARQUET:field_id"
"""Where pyarrow keeps the field id of a Parquet column, in both directions."""

PathIds = Mapping[tuple[str, ...], int]
"""Names from a column down to a nested field -> its field id. The element of a list is ``element``,
the parts of a map are ``key`` and ``value``, whatever a file calls them."""


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


def with_child_fields(kind: pa.DataType, fields: Sequence[pa.Field]) -> pa.DataType:
    """Return a nested type with other ``child_fields``, as many as it has."""
    if pat.is_struct(kind):
        return pa.struct(fields)
    if pat.is_map(kind):
        return pa.map_(*fields)
    (element,) = fields
    if pat.is_fixed_size_list(kind):
        return pa.list_(element, kind.list_size)
    return pa.large_list(element) if pat.is_large_list(kind) else pa.list_(element)


def is_any_list(data_type: pa.DataType) -> bool:
    """Say whether a type is a list of whatever layout that Parquet files can ask for."""
    return bool(
        pat.is_list(data_type) or pat.is_large_list(data_type) or pat.is_fixed_size_list(data_type)
    )


def has_field_ids(fields: Iterable[pa.Field]) -> bool:
    """Say whether any field carries an id, at any depth."""
    return any(field_id(field) is not None for field in _every_field(fields))


def with_field_ids(schema: pa.Schema, ids: PathIds) -> pa.Schema:
    """Return columns without ids with those of their names; what has none there stays without.

    >>> found = with_field_ids(pa.schema([("s", pa.struct([("a", pa.int64())]))]), {("s", "a"): 3})
    >>> field_id(found.field("s")), field_id(found.field("s").type.field("a"))
    (None, 3)

    Raises:
        FormatError: two fields beside each other would have one id.
    """
    return pa.schema(_numbered((), [field.name for field in schema], list(schema), ids))


def _numbered(
    parent: tuple[str, ...], names: Sequence[str], fields: Sequence[pa.Field], ids: PathIds
) -> list[pa.Field]:
    found: list[pa.Field] = []
    holders: dict[int, str] = {}
    for name, field in zip(names, fields, strict=True):
        path = (*parent, name)
        number = ids.get(path)
        if number is not None and holders.setdefault(number, name) != name:
            raise FormatError(
                f"by their names {holders[number]!r} and {name!r} are both field {number}"
            )
        children = child_fields(field.type)
        if children:
            numbered = _numbered(path, _child_names(field.type), children, ids)
            field = field.with_type(with_child_fields(field.type, numbered))
        if number is not None:
            known = field.metadata or {}
            field = field.with_metadata({**known, FIELD_ID_KEY: str(number)})
        found.append(field)
    return found


def _child_names(kind: pa.DataType) -> Sequence[str]:
    if pat.is_struct(kind):
        return [field.name for field in child_fields(kind)]
    return ("key", "value") if pat.is_map(kind) else ("element",)


def _every_field(fields: Iterable[pa.Field]) -> Iterator[pa.Field]:
    for field in fields:
        yield field
        yield from _every_field(child_fields(field.type))

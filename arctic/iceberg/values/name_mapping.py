"""Which columns those of files without field ids are: Iceberg's name mapping, read and kept up.

Rules:
    - A column keeps every name that it ever had, because files have those.
    - A name stays that of one column. Iceberg would let it go over to another one, and then the
      values of older files would come back in that: such a change is refused.

Source: PyIceberg's ``update_mapping``. Differs: a name that goes over is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import (
    MappedField,
    NameMapping,
    parse_mapping_from_json,
    update_mapping,
)
from pyiceberg.types import NestedField

from arctic.columns.field_ids import PathIds
from arctic.errors import InvalidInputError

NAME_MAPPING = "schema.name-mapping.default"
"""Iceberg's property."""
_TOP = -1
"""What ``update_mapping`` takes for the parent of columns."""


def mapped_ids(text: str) -> PathIds:
    """Return which fields the columns of files without field ids are.

    >>> text = '[{"field-id": 2, "names": ["s"], "fields": [{"field-id": 3, "names": ["a", "b"]}]}]'
    >>> mapped_ids(text)
    {('s',): 2, ('s', 'a'): 3, ('s', 'b'): 3}

    Args:
        text: the name mapping, as JSON.

    Raises:
        InvalidInputError: no name mapping, or one that gives two fields beside each other one name.
    """
    ids: dict[tuple[str, ...], int] = {}
    for path, number in _paths((), _parsed(text).root):
        if ids.setdefault(path, number) != number:
            raise InvalidInputError(
                f"table property {NAME_MAPPING}: name {'.'.join(path)!r} is that of fields "
                f"{ids[path]} and {number}; expected it once"
            )
    return ids


def followed_mapping(subject: str, text: str, before: Schema, after: Schema) -> str:
    """Return the name mapping of a table whose columns change.

    Args:
        subject: what messages begin with.
        text: the name mapping before the change.
        before: the columns.
        after: what they become.

    Raises:
        InvalidInputError: a name goes over from one column to another; ``text`` is no name mapping.
    """
    known = {column.field_id: column for column in before.columns}
    added = [column for column in after.columns if column.field_id not in known]
    renamed = {
        column.field_id: column
        for column in after.columns
        if column.field_id in known and known[column.field_id].name != column.name
    }
    if not added and not renamed:
        return text
    mapping = _parsed(text)
    _check_names(subject, mapping, [*renamed.values(), *added])
    return update_mapping(mapping, renamed, {_TOP: added}).model_dump_json()


def _check_names(subject: str, mapping: NameMapping, columns: Sequence[NestedField]) -> None:
    taken = {name: field.field_id for field in mapping for name in field.names}
    for column in columns:
        if taken.get(column.name, column.field_id) != column.field_id:
            raise InvalidInputError(
                f"{subject}: no other column can be called {column.name!r}: by property "
                f"{NAME_MAPPING} this is the name of one in files without field ids, whose values "
                "would be read for the other; choose another name"
            )


def _parsed(text: str) -> NameMapping:
    try:
        mapping = parse_mapping_from_json(text)
        if not _have_names(mapping.root):
            raise ValueError("a field has no names")
    except ValueError as error:
        raise InvalidInputError(
            f"table property {NAME_MAPPING} = {text!r}: expected a name mapping of Iceberg's, in "
            "JSON"
        ) from error
    return mapping


def _have_names(fields: Sequence[Any]) -> bool:
    """Say whether all fields have: PyIceberg 0.12 takes some that have none."""
    return all(isinstance(each.names, list) and _have_names(each.fields) for each in fields)


def _paths(
    parent: tuple[str, ...], fields: Sequence[MappedField]
) -> Iterator[tuple[tuple[str, ...], int]]:
    for field in fields:
        for name in field.names:
            path = (*parent, name)
            if field.field_id is not None:
                yield path, field.field_id
            yield from _paths(path, field.fields)

"""Ordering columns: which a table has, and which it can have.

Rules:
    - They are given when the table is created, and stay: the rows of files that were written
      without them have been decided otherwise.
    - The values of their types have places among whole numbers, so rows compare exactly everywhere.
    - The key decides the partition: a late row could not be held against one in another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.values.partitioning import key_decides_partition
from arctic.options import ORDERING_COLUMNS

ORDERED_TYPES = (
    "int",
    "long",
    "float",
    "double",
    "decimal",
    "date",
    "time",
    "timestamp",
    "timestamptz",
)


def ordering_columns(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the ordering columns that the properties of a base store name.

    Raises:
        InvalidInputError: the property names no columns.
    """
    return ORDERING_COLUMNS.value({}, properties) or ()


def with_ordering(properties: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return properties that name ordering columns as well.

    Raises:
        InvalidInputError: they name some already, or a name cannot stand in a property.
    """
    if not names:
        return dict(properties)
    text = ",".join(names)
    if _spelt(properties):
        raise InvalidInputError(
            f"ordering columns {text!r} and table property {ORDERING_COLUMNS.name} = "
            f"{properties[_spelt(properties)]!r}: give one of the two"
        )
    named = {**properties, ORDERING_COLUMNS.name: text}
    if ordering_columns(named) != tuple(names):
        raise InvalidInputError(
            f"ordering columns {list(names)}: expected different columns, whose names hold no comma"
        )
    return named


def check_ordering(
    properties: Mapping[str, str], schema: Schema, spec: PartitionSpec, key: Sequence[str]
) -> None:
    """Refuse ordering columns that a new table cannot have.

    Args:
        properties: of the table; the columns that they name are there.
        schema: its columns.
        spec: its partition fields.
        key: its key columns.

    Raises:
        InvalidInputError: the table has no key, or a column is of a type that does not do.
        UnsupportedError: the key does not decide the partition.
    """
    names = ordering_columns(properties)
    if not names:
        return
    subject = f"table property {ORDERING_COLUMNS.name} = {properties[_spelt(properties)]!r}"
    if not key:
        raise InvalidInputError(
            f"{subject}: the table has no primary key, so no row takes the place of another; give "
            "it a key, or leave the property out"
        )
    for name in names:
        kind = str(schema.find_field(name).field_type)
        if kind.partition("(")[0] not in ORDERED_TYPES:
            raise InvalidInputError(
                f"{subject}: column {name!r} is {kind}; expected one of {', '.join(ORDERED_TYPES)}"
            )
    if len(set(names)) != len(names):
        raise InvalidInputError(f"{subject}: a column is named twice")
    if not key_decides_partition(spec, schema, key):
        raise UnsupportedError(
            f"{subject}: the key ({', '.join(key)}) does not decide the partition, so a late row "
            "could not be held against a newer one in another partition; partition by key columns"
        )


def check_lasting(
    present: Mapping[str, str], wanted: Mapping[str, str], removed: Iterable[str], *, name: str
) -> None:
    """Refuse to give a table other ordering columns than it was created with.

    Args:
        present: its properties.
        wanted: those that are to be set.
        removed: names of those that are to go.
        name: of the table.

    Raises:
        InvalidInputError: naming both.
    """
    there = ordering_columns(present)
    then = ordering_columns(wanted) if _spelt(wanted) else there
    if any(each.lower() == ORDERING_COLUMNS.name for each in removed):
        then = ()
    if then != there:
        said = f"is {', '.join(there)!r}" if there else "is not set"
        raise InvalidInputError(
            f"table {name!r}: {ORDERING_COLUMNS.name} {said} since the table was created, and its "
            "rows were decided so; create a table with other ordering columns and copy the rows"
        )


def _spelt(properties: Mapping[str, str]) -> str:
    return next((name for name in properties if name.lower() == ORDERING_COLUMNS.name), "")

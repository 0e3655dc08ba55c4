"""How a table's columns follow those of its source.

Rules:
    - A column that the source numbers is known by its number, so a rename is a rename. Without
      numbers it is known by its name.
    - A type that holds every value of the source's stays. One that can grow to it (int to long,
      float to double, a decimal of more digits) grows. Else the column is dropped and added anew,
      which only a source that can be asked for all of its rows again may do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.types as pt

from arctic.cdc.events import SourceColumn
from arctic.columns.promotions import promotes


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange:
    """What a table must change; the names are those before it."""

    add: Mapping[str, pa.DataType] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    widen: Mapping[str, pa.DataType] = field(default_factory=dict)
    drop: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether the table fits as it is."""
        return not (self.add or self.rename or self.widen or self.drop)


def change_by_number(
    table: pa.Schema, known: Mapping[int, str], source: Sequence[SourceColumn]
) -> ColumnChange:
    """Return how a table follows a source that numbers its columns.

    Args:
        table: its columns now.
        known: source number -> name of the table's column that mirrors it.
        source: the source's columns now, with numbers.
    """
    add: dict[str, pa.DataType] = {}
    rename: dict[str, str] = {}
    widen: dict[str, pa.DataType] = {}
    numbers = {column.position for column in source}
    drop = [name for number, name in known.items() if number not in numbers]
    for column in source:
        mirror = None if column.position is None else known.get(column.position)
        if mirror is None:
            add[column.name] = column.type
            continue
        there = table.field(mirror).type
        if not holds(there, column.type):
            if not promotes(there, column.type):
                drop.append(mirror)
                add[column.name] = column.type
                continue
            widen[mirror] = column.type
        if mirror != column.name:
            rename[mirror] = column.name
    return ColumnChange(add=add, rename=rename, widen=widen, drop=tuple(drop))


def change_by_name(
    table: pa.Schema, key: Sequence[str], source: Sequence[SourceColumn], *, drops: bool
) -> ColumnChange:
    """Return how a table follows a source that names its columns only.

    Args:
        table: its columns now.
        key: columns that are never dropped.
        source: the source's columns in each description of them, one after the other. A name that
            has several types gets the widest.
        drops: whether a column that no description has goes; else it stays, with nulls.
    """
    add: dict[str, pa.DataType] = {}
    widen: dict[str, pa.DataType] = {}
    there = {column.name: column.type for column in table}
    for column in source:
        if column.name not in there:
            known = add.get(column.name)
            if known is None or not holds(known, column.type):
                add[column.name] = column.type
            continue
        known = widen.get(column.name, there[column.name])
        if not holds(known, column.type) and promotes(known, column.type):
            widen[column.name] = column.type
    names = {column.name for column in source}
    drop = tuple(n for n in there if drops and n not in names and n not in key)
    return ColumnChange(add=add, widen=widen, drop=drop)


def holds(table: pa.DataType, source: pa.DataType) -> bool:
    """Say whether a table's type holds every value of a source's.

    A text holds what has a text of its own, which bytes do not.

    >>> holds(pa.string(), pa.date32()), holds(pa.string(), pa.binary())
    (True, False)
    """
    is_text = pt.is_string(table) and not pt.is_binary(source)
    return table == source or is_text or promotes(source, table)

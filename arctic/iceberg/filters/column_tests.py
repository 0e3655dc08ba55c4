"""Tests of a table's columns from names and plain values, for every way to write a filter.

Rules:
    - Literals become the internal form of the column's type exactly, or are refused. Only numbers
      for floats and doubles are rounded, to the nearest; what is beyond the greatest of them is
      compared as what it is, and only infinity is not below it.
    - Columns are top-level and named with their exact case.

Must not know: who wrote the filter.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.values.literals import internal_literal, nearest_float
from arctic.table.files import Value
from arctic.table.filters.filter_tree import Filter, Join, Negation
from arctic.table.filters.predicate import ColumnTest, Op
from arctic.table.table_description import Column, TableDescription

EVERYTHING, NOTHING = Join(True, ()), Join(False, ())
_FLOATING = ("float", "double")


class ColumnTests:
    """Makes tests of one table's columns."""

    def __init__(self, table: TableDescription) -> None:
        self._table = table
        self._columns = {column.name: column for column in table.columns}

    def type_of(self, name: str) -> str:
        """Return Iceberg's text of a column's type."""
        return self._column(name).type

    def compare(self, name: str, op: Op, value: Any) -> Filter:
        """Return ``name op value`` for one of the six comparisons."""
        column = self._column(name)
        beyond = _beyond(value, column.type)
        if beyond:
            return _compare_beyond(op, column, beyond)
        return ColumnTest.of(op, column, _literal(value, column))

    def within(self, name: str, values: Sequence[Any]) -> Filter:
        """Return ``name in (values)``."""
        column = self._column(name)
        literals = {_literal(value, column) for value in values if not _beyond(value, column.type)}
        if len(literals) == 1:
            return ColumnTest.of(Op.EQ, column, literals.pop())
        # Sets have no order; the same filter must make the same plan.
        ordered: Any = sorted(literals)
        return ColumnTest.of(Op.IN, column, tuple(ordered))

    def is_null(self, name: str) -> Filter:
        """Return ``name is null``."""
        return ColumnTest.of(Op.IS_NULL, self._column(name))

    def starts_with(self, name: str, prefix: Any) -> Filter:
        """Return whether a text begins with another."""
        column = self._text_column(name)
        return ColumnTest.of(Op.STARTS_WITH, column, _literal(prefix, column))

    def like(self, name: str, pattern: Any, escape: str = "\\") -> Filter:
        """Return ``name like pattern``.

        Args:
            name: a column of texts.
            pattern: with ``%`` for any text and ``_`` for any character.
            escape: the character before one of these that is meant; empty: there is none.
        """
        column = self._text_column(name)
        if not isinstance(pattern, str):
            raise InvalidInputError(
                f"filter on column {name!r}: like {pattern!r}; expected a text as pattern"
            )
        parts = _pattern_parts(pattern, escape, name)
        wild = [place for place, (_, is_wild) in enumerate(parts) if is_wild]
        text = "".join(part for part, is_wild in parts if not is_wild)
        if not wild:
            return ColumnTest.of(Op.EQ, column, _literal(text, column))
        if wild == [len(parts) - 1] and parts[-1][0] == "%":
            return ColumnTest.of(Op.STARTS_WITH, column, _literal(text, column))
        plain = "".join(
            part if is_wild else re.sub(r"([%_\\])", r"\\\1", part) for part, is_wild in parts
        )
        return ColumnTest.of(Op.LIKE, column, _literal(plain, column))

    def is_true(self, name: str) -> Filter:
        """Return a column of truth values as a filter."""
        column = self._column(name)
        if column.type != "boolean":
            raise InvalidInputError(
                f"filter on column {name!r} of type {column.type}: alone it is no condition; "
                f"expected a comparison such as {name} = ..., or a boolean column"
            )
        return ColumnTest.of(Op.EQ, column, True)

    def no_nan_test(self, name: str) -> UnsupportedError:
        """Return why a test for NaN is refused."""
        column = self._column(name)
        return UnsupportedError(f"filter on column {column.name!r}: NaN cannot be tested for")

    def _text_column(self, name: str) -> Column:
        column = self._column(name)
        if column.type != "string":
            raise InvalidInputError(
                f"filter on column {column.name!r} of type {column.type}: 'like' needs a string "
                "column"
            )
        return column

    def _column(self, name: str) -> Column:
        by_name = self._columns
        if name in by_name:
            return by_name[name]
        if name.split(".")[0] in by_name:
            raise UnsupportedError(
                f"filter on {name!r}: nested columns cannot be tested; filter on a top-level column"
            )
        near = difflib.get_close_matches(name.lower(), [each.lower() for each in by_name], n=1)
        known = [each for each in by_name if each.lower() in near]
        hint = f"did you mean {known[0]!r}?" if known else f"it has {', '.join(by_name)}"
        raise InvalidInputError(f"table {self._table.name!r} has no column {name!r}; {hint}")


def _literal(value: Any, column: Column) -> Value:
    try:
        return internal_literal(nearest_float(value, column.type), column.type)
    except InvalidInputError as error:
        raise InvalidInputError(f"filter on column {column.name!r}: {error.message}") from error


def _beyond(value: Any, type_text: str) -> int:
    """Return 1 for a finite number above every finite one of a type, -1 below, 0 for others."""
    if type_text not in _FLOATING or isinstance(value, bool):
        return 0
    if not isinstance(value, int | float | Decimal) or not _is_finite(value):
        return 0
    limit = _GREATEST[type_text]
    return (value >= limit) - (value <= -limit)


def _is_finite(value: int | float | Decimal) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite()
    return not isinstance(value, float) or math.isfinite(value)


_GREATEST = {"float": 2**128 - 2**103, "double": 2**1024 - 2**970}
"""From here on the nearest value of the type is infinity: half a step above the greatest."""


def _compare_beyond(op: Op, column: Column, side: int) -> Filter:
    """Compare with a number that only infinity is not below, or not above."""
    none = ColumnTest.of(Op.IN, column, ())
    if op is Op.EQ:
        return none
    if op is Op.NE:
        return Negation(none)
    edge = math.inf * side
    if op in (Op.GT, Op.GE):
        return ColumnTest.of(Op.EQ if side > 0 else Op.GT, column, edge)
    return ColumnTest.of(Op.LT if side > 0 else Op.EQ, column, edge)


def _pattern_parts(pattern: str, escape: str, name: str) -> list[tuple[str, bool]]:
    """Cut a pattern into texts and wild cards; the flag tells which is one."""
    if len(escape) > 1:
        raise InvalidInputError(
            f"filter on column {name!r}: escape {escape!r}; expected one character"
        )
    parts: list[tuple[str, bool]] = []
    text: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            meant = next(characters, "")
            if meant not in ("%", "_", escape):
                raise InvalidInputError(
                    f"filter on column {name!r}: like {pattern!r}: {escape + meant!r} says "
                    f"nothing; write {escape * 2!r} for the character itself, or name another one: "
                    "like '...' escape '!'"
                )
            text.append(meant)
        elif character in "%_":
            parts += [("".join(text), False)] if text else []
            text = []
            if character == "_" or parts[-1:] != [("%", True)]:
                parts.append((character, True))
        else:
            text.append(character)
    return [*parts, *([("".join(text), False)] if text else [])]

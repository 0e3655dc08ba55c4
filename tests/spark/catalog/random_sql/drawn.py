"""Pieces of statements that Spark and DuckDB understand alike: literals, conditions, expressions.

Rules:
    - Nothing overflows, divides or casts: what both refuse would be no test of the table.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

TYPES = ["BIGINT", "INT", "STRING", "DOUBLE", "DATE", "BOOLEAN"]
Draw = Callable[[st.SearchStrategy[Any]], Any]

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "BIGINT": st.integers(-3, 9),
    "INT": st.integers(-3, 9),
    "STRING": st.sampled_from(["", "a", "b", "ab", "B", "ä%", "a_b", "it's"]),
    "DOUBLE": st.sampled_from([0.0, -1.5, 2.25, math.nan, math.inf]),
    "DATE": st.sampled_from([datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
    "BOOLEAN": st.booleans(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a statement's scope."""

    number: int
    """What stays when it is renamed."""
    name: str
    type: str
    side: str = ""
    """``t.`` or ``s.`` in a MERGE."""

    def __str__(self) -> str:
        """Return it as statements name it."""
        return f"{self.side}{self.name}"


def literal(value: Any, kind: str) -> str:
    """Return a value as both read it."""
    if value is None:
        return f"CAST(NULL AS {kind})"
    if kind == "STRING":
        return f"({_text(value)})"
    if kind in ("DATE", "DOUBLE"):
        return f"CAST('{value}' AS {kind})"
    if kind == "BOOLEAN":
        return str(value).lower()
    return f"CAST({value} AS {kind})"


def constant(value: Any, kind: str) -> str:
    """Return a value as Spark reads it where no expression may stand."""
    if value is None:
        return "NULL"
    if kind == "DATE":
        return f"DATE'{value}'"
    return "'" + value.replace("'", "\\'") + "'" if kind == "STRING" else str(value)


def _text(value: str) -> str:
    """Return a text; of quotes in it Spark and DuckDB think differently."""
    return " || chr(39) || ".join(f"'{part}'" for part in value.split("'"))


@dataclass(frozen=True, slots=True)
class Drawer:
    """Draws pieces over some columns."""

    draw: Draw

    def one(self, choices: Sequence[Any]) -> Any:
        """Return one of several."""
        return self.draw(st.sampled_from(choices))

    def chance(self, percent: int) -> bool:
        """Return whether something rare happens."""
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    def value(self, kind: str, *, nulls: int = 20) -> Any:
        """Return a value of a column, null so many times of a hundred."""
        return None if nulls and self.chance(nulls) else self.draw(_VALUES[kind])

    def condition(self, columns: Sequence[Column], depth: int = 2) -> str:
        """Return a condition that may be unknown."""
        how = self.one(["test", "test", "and", "or", "not"]) if depth else "test"
        if how == "not":
            return f"NOT ({self.condition(columns, depth - 1)})"
        if how in ("and", "or"):
            left, right = (self.condition(columns, depth - 1) for _ in range(2))
            return f"({left} {how.upper()} {right})"
        return self._test(columns)

    def _test(self, columns: Sequence[Column]) -> str:
        column = self.one(columns)
        if column.type == "BOOLEAN" and self.chance(50):
            return str(column)
        kinds = ["compare", "compare", "null", "in", "same", "between", "other"]
        if column.type == "STRING":
            kinds.append("like")
        how = self.one(kinds)
        if how == "null":
            return f"{column} IS {self.one(['', 'NOT '])}NULL"
        if how == "like":
            pattern = self.one(["a%", "%b", "_", "%", "a_b", "B"])
            return f"{column} {self.one(['', 'NOT '])}LIKE '{pattern}'"
        if how == "in":
            count = self.draw(st.integers(1, 3))
            items = [literal(self.value(column.type, nulls=10), column.type) for _ in range(count)]
            return f"{column} {self.one(['', 'NOT '])}IN ({', '.join(items)})"
        if how == "same":
            word = self.one(["", "NOT "])
            value = literal(self.value(column.type), column.type)
            return f"{column} IS {word}DISTINCT FROM {value}"
        if how == "between":
            low, high = (literal(self.value(column.type, nulls=5), column.type) for _ in range(2))
            return f"{column} BETWEEN {low} AND {high}"
        operator = self.one(["=", "<>", "<", "<=", ">", ">="])
        same_type = [each for each in columns if each.type == column.type]
        if how == "other" and same_type:
            return f"{column} {operator} {self.one(same_type)}"
        return f"{column} {operator} {literal(self.value(column.type, nulls=5), column.type)}"

    def expression(self, kind: str, columns: Sequence[Column], depth: int = 1) -> str:
        """Return a value of a type."""
        same_type = [each for each in columns if each.type == kind]
        ways = ["literal", "case"] if depth else ["literal"]
        if same_type:
            ways += ["column", "column", "coalesce", "computed"]
        how = self.one(ways)
        if how == "case":
            yes, no = (self.expression(kind, columns, depth - 1) for _ in range(2))
            return f"CASE WHEN {self.condition(columns, 1)} THEN {yes} ELSE {no} END"
        if how == "literal":
            return literal(self.value(kind), kind)
        column = self.one(same_type)
        if how == "coalesce":
            return f"coalesce({column}, {literal(self.value(kind, nulls=0), kind)})"
        return self._computed(column) if how == "computed" else str(column)

    def _computed(self, column: Column) -> str:
        if column.type in ("BIGINT", "INT"):
            how = self.one(["{0} + 1", "3 - {0}", "{0} * -1", "abs({0})"])
            return f"CAST({how.format(column)} AS {column.type})"
        if column.type == "STRING":
            how = self.one(["upper({0})", "{0} || 'x'", "CAST(length({0}) AS STRING)"])
            return f"substr({how.format(column)}, 1, 4)"
        if column.type == "DOUBLE":
            return f"({column} * CAST(2 AS DOUBLE))"
        return f"(NOT {column})" if column.type == "BOOLEAN" else str(column)

"""Filters of a query as the JVM sends them."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from arctic.spark.read.hints import hinted_filter
from tests.factories.tables import columns_of, table_of

TYPES = {
    "id": "long",
    "n": "int",
    "name": "string",
    "flag": "boolean",
    "day": "date",
    "at": "timestamptz",
    "price": "decimal(10, 2)",
    "raw": "binary",
    "hash": "fixed[4]",
    "ratio": "double",
    "place": "struct<1: x: int>",
}
TABLE = table_of(columns_of(TYPES))


@dataclass(frozen=True)
class Case:
    """One hint and what is understood of it."""

    id: str
    hint: list[Any]
    expected: str
    """The predicate as ``explain`` prints it; 'None' when nothing can be said."""


def column(name: str) -> dict[str, str]:
    """A reference, as the JVM writes it."""
    return {"column": name}


def value(literal: Any) -> dict[str, Any]:
    """A literal whose JSON form is its own."""
    return {"value": literal}


EQUAL = ["=", column("id"), value(5)]
CASES = [
    Case("equal", EQUAL, "id = 5"),
    Case("turned", ["<", value(5), column("id")], "id > 5"),
    Case("null safe", ["<=>", column("id"), value(5)], "id = 5"),
    Case("not null safe", ["NOT", ["<=>", column("id"), value(5)]], "id != 5 or id is null"),
    Case(
        "not not null safe, turned",
        ["NOT", ["NOT", ["<=>", value(5), column("id")]]],
        "id = 5",
    ),
    Case(
        "null safe in a join",
        ["NOT", ["OR", ["<=>", column("id"), value(5)], ["IS_NULL", column("name")]]],
        "(id != 5 or id is null) and name is not null",
    ),
    Case("not equal", ["NOT", EQUAL], "id != 5"),
    Case("differs", ["<>", column("id"), value(5)], "id != 5"),
    Case("not less", ["NOT", ["<", column("n"), value(7)]], "n >= 7"),
    Case("in", ["IN", column("id"), value(1), value(2), value(1)], "id in (1, 2)"),
    Case("not in", ["NOT", ["IN", column("id"), value(1)]], "id not in (1)"),
    Case("null", ["IS_NULL", column("name")], "name is null"),
    Case("not null", ["NOT", ["IS_NULL", column("name")]], "name is not null"),
    Case("prefix", ["STARTS_WITH", column("name"), value("a")], "name starts with 'a'"),
    Case("turned prefix", ["STARTS_WITH", value("ab"), column("name")], "None"),
    Case(
        "de morgan",
        ["NOT", ["AND", EQUAL, ["OR", ["IS_NULL", column("name")], ["NOT", EQUAL]]]],
        "id != 5 or (name is not null and id = 5)",
    ),
    Case("date", [">=", column("day"), value(19782)], "day >= 19782"),
    Case("timestamp", ["=", column("at"), value(-1)], "at = -1"),
    Case("decimal", ["=", column("price"), {"decimal": "1.5"}], f"price = {Decimal('1.50')!r}"),
    Case("decimal too fine", ["=", column("price"), {"decimal": "1.505"}], "None"),
    Case(
        "binary",
        ["=", column("raw"), {"binary": base64.b64encode(b"\xff").decode()}],
        r"raw = b'\xff'",
    ),
    Case(
        "bytes of another length",
        ["=", column("hash"), {"binary": base64.b64encode(b"\xff").decode()}],
        "None",
    ),
    Case("floating point", ["=", column("ratio"), value(0.5)], "None"),
    Case("floating point null", ["IS_NULL", column("ratio")], "ratio is null"),
    Case("flag", ["=", column("flag"), value(True)], "flag = True"),
    Case("struct", ["=", column("place"), value(1)], "None"),
    Case("unknown column", ["=", column("_file_offset"), value(1)], "None"),
    Case("unknown operator", ["CONTAINS", column("name"), value("a")], "None"),
    Case("two columns", ["=", column("id"), column("n")], "None"),
    Case("half an or", ["OR", EQUAL, ["CONTAINS", column("name"), value("a")]], "None"),
    Case("chain", ["OR", EQUAL, ["=", column("n"), value(1)], EQUAL], "id in (5) or n = 1"),
    Case("literal alone", ["ALWAYS_TRUE"], "None"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_hint_is_said_exactly_or_not_at_all(case: Case) -> None:
    """What comes out keeps every row for which Spark's filter is true, nulls included."""
    assert case.expected == str(hinted_filter([case.hint], TABLE))


def test_hints_that_cannot_be_used_do_not_take_the_others_along() -> None:
    """All hints must hold, so any of them may be left out."""
    hints = [EQUAL, ["CONTAINS", column("name"), value("a")], ["IS_NOT_NULL", column("n")]]

    assert str(hinted_filter(hints, TABLE)) == "id = 5 and n is not null"


def test_a_chain_of_thousands_is_one_list() -> None:
    """The JVM sends what is joined alike side by side."""
    tests = [["AND", EQUAL, ["<", column("n"), value(-number)]] for number in range(3000)]

    found = hinted_filter([["OR", *tests]], TABLE)

    assert str(found).count(" or ") == 2999

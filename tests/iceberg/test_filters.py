"""Filters: texts and expressions as column tests, literals exact or refused."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg import expressions as ice
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import bind, expression_evaluator
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.filters import internal_literal, parse_table_filter, to_expression
from arctic.iceberg.schema import iceberg_schema
from arctic.table.keyed_table import Column, KeyedTable
from arctic.table.predicate import And, ColumnTest, Op, Or, Predicate

SCHEMA = iceberg_schema(
    pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("n", pa.int32()),
            ("name", pa.string()),
            ("price", pa.decimal128(10, 2)),
            ("score", pa.float64()),
            ("ratio", pa.float32()),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", tz="UTC")),
            ("local", pa.timestamp("us")),
            ("ok", pa.bool_()),
            ("blob", pa.binary()),
            ("address", pa.struct([("city", pa.string())])),
            ("we ird", pa.int32()),
        ]
    )
)
TABLE = KeyedTable(
    identifier=("db", "t"),
    columns=tuple(
        Column(
            field_id=column.field_id,
            name=column.name,
            type=str(column.field_type),
            required=column.required,
        )
        for column in SCHEMA.columns
    ),
    primary_key=("id",),
    partition_fields=(),
    properties={},
    base_location="file:///b",
    change_location="file:///c",
    change_identifier=("db", "t_change_"),
)
UTC = timezone.utc


def parsed(row_filter: str | ice.BooleanExpression | Predicate) -> Predicate:
    """Parse a filter on ``TABLE``."""
    return parse_table_filter(row_filter, TABLE)


def where(op: Op, column: str, literal: Any = None) -> ColumnTest:
    """Return a test of one column."""
    field_id = SCHEMA.find_field(column).field_id
    return ColumnTest(op=op, field_id=field_id, column=column, literal=literal)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id > 5", where(Op.GT, "id", 5)),
        ("5 < id", where(Op.GT, "id", 5)),
        ("id = 5.0", where(Op.EQ, "id", 5)),
        ("price >= 1.5", where(Op.GE, "price", Decimal("1.50"))),
        ("price = 3", where(Op.EQ, "price", Decimal("3.00"))),
        ("score < 0.1", where(Op.LT, "score", 0.1)),
        ("ratio < 0.1", where(Op.LT, "ratio", 0.10000000149011612)),
        ("score = 2", where(Op.EQ, "score", 2.0)),
        ("day = '2024-02-29'", where(Op.EQ, "day", 19782)),
        ("at >= '1970-01-01T01:00:00+01:00'", where(Op.GE, "at", 0)),
        ("at >= '1970-01-01T00:00:00.5Z'", where(Op.GE, "at", 500_000)),
        ("local < '1970-01-02'", where(Op.LT, "local", 86_400_000_000)),
        ("ok = true", where(Op.EQ, "ok", True)),
        ("name like 'x%'", where(Op.STARTS_WITH, "name", "x")),
        ("name not like 'x%'", where(Op.NOT_STARTS_WITH, "name", "x")),
        ("name = 'it''s'", where(Op.EQ, "name", "it's")),
        ("name is null", where(Op.IS_NULL, "name")),
        ("address is not null", where(Op.NOT_NULL, "address")),
        ("id is not null", where(Op.NOT_NULL, "id")),
        ("n in (3, 1, 2)", where(Op.IN, "n", (1, 2, 3))),
        ("n not in (3, 1)", where(Op.NOT_IN, "n", (1, 3))),
        ("n in (3)", where(Op.EQ, "n", 3)),
        ('"we ird" = 1', where(Op.EQ, "we ird", 1)),
        ("not n = 3", where(Op.NE, "n", 3)),
        ("not (n > 3)", where(Op.LE, "n", 3)),
        ("not n is null", where(Op.NOT_NULL, "n")),
        ("n between 1 and 3", And((where(Op.GE, "n", 1), where(Op.LE, "n", 3)))),
        ("not (n > 3 or ok = true)", And((where(Op.LE, "n", 3), where(Op.NE, "ok", True)))),
        ("true", And(())),
        ("false", Or(())),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_texts_become_column_tests(text: str, expected: Predicate) -> None:
    """Literals are internal values of the column's type; no NOT is left."""
    assert parsed(text) == expected


def test_expressions_and_predicates_are_taken_too() -> None:
    """What PyIceberg builds is treated as text is; what is a predicate stays what it is."""
    expression = parse("id > 5 and not name in ('b', 'a')")

    predicate = parsed(expression)

    assert predicate == And((where(Op.GT, "id", 5), where(Op.NOT_IN, "name", ("a", "b"))))
    assert parsed(predicate) is predicate


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id >", "not understood near"),
        ("id > 5 garbage", "not understood near 'garbage'"),
        ("idd = 5", "no column 'idd'; did you mean 'id'?"),
        ("NAME = 'x'", "no column 'NAME'; did you mean 'name'?"),
        ("zzzzz = 5", "it has id, n, name"),
        ("n = 3000000000", "column 'n'.*3000000000.*type int"),
        ("n = 1.5", "column 'n'.*fraction"),
        ("price = 1.505", "column 'price'"),
        ("price = 123456789", "at most 8 digits"),
        ("name = 5", "expected a text"),
        ("ok = 1", "expected true or false"),
        ("day = '2024-13-01'", "column 'day'"),
        ("at > '2024-01-01T00:00:00'", "expected a zone"),
        ("local > '2024-01-01T00:00:00Z'", "without a zone"),
        ("id like '5%'", "needs a string column"),
    ],
)
def test_what_cannot_be_tested_is_named(text: str, message: str) -> None:
    """A literal that was rounded, or a column that was guessed, would answer another question."""
    with pytest.raises(InvalidInputError, match=message):
        parsed(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("address.city = 'x'", "nested columns"),
        ("score is nan", "NaN"),
        ("address = 'x'", "struct"),
    ],
)
def test_what_is_not_offered_is_refused(text: str, message: str) -> None:
    """A reader could not apply it to files and rows alike."""
    with pytest.raises(UnsupportedError, match=message):
        parsed(text)


@pytest.mark.parametrize(
    ("value", "type_text", "expected"),
    [
        (True, "boolean", True),
        (7, "int", 7),
        (Decimal("7"), "long", 7),
        (-(2**63), "long", -(2**63)),
        (1, "double", 1.0),
        (0.5, "float", 0.5),
        (math.inf, "float", math.inf),
        (Decimal("1.5"), "decimal(10, 2)", Decimal("1.50")),
        (0.5, "decimal(38, 20)", Decimal("0.5")),
        (10**37, "decimal(38, 0)", Decimal(10**37)),
        ("x", "string", "x"),
        (b"x", "binary", b"x"),
        (bytearray(b"ab"), "fixed[2]", b"ab"),
        (UUID(int=1), "uuid", bytes(15) + b"\x01"),
        ("00000000-0000-0000-0000-000000000001", "uuid", bytes(15) + b"\x01"),
        (date(1969, 12, 31), "date", -1),
        (datetime.fromisoformat("1970-01-02"), "date", 1),
        (19782, "date", 19782),
        (time(0, 0, 1), "time", 1_000_000),
        (datetime.fromisoformat("1970-01-01T00:00:01"), "timestamp", 1_000_000),
        (date(1970, 1, 2), "timestamp", 86_400_000_000),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "timestamptz", 0),
        (datetime(1, 1, 1, tzinfo=UTC), "timestamptz", -62_135_596_800_000_000),
    ],
)
def test_values_that_fit_become_internal(value: Any, type_text: str, expected: Any) -> None:
    """Exactly, and of the type that bounds and partitions have."""
    literal = internal_literal(value, type_text)

    assert literal == expected
    assert type(literal) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_text"),
    [
        (None, "int"),
        (True, "int"),
        (1, "boolean"),
        (2**31, "int"),
        (-(2**63) - 1, "long"),
        (1.5, "long"),
        (math.nan, "double"),
        (math.inf, "long"),
        (2**53 + 1, "double"),
        (0.1, "float"),
        (1e300, "float"),
        (Decimal("0.1"), "double"),
        (Decimal("1.005"), "decimal(10, 2)"),
        (10**8, "decimal(10, 2)"),
        (Decimal("NaN"), "decimal(10, 2)"),
        ("1", "int"),
        (1, "string"),
        ("x", "binary"),
        (b"abc", "fixed[2]"),
        ("no uuid", "uuid"),
        (datetime.fromisoformat("1970-01-01T01:00"), "date"),
        (datetime(1970, 1, 1, tzinfo=UTC), "date"),
        (time(1, tzinfo=UTC), "time"),
        (datetime(1970, 1, 1, tzinfo=UTC), "timestamp"),
        (datetime.fromisoformat("1970-01-01"), "timestamptz"),
        (date(1970, 1, 1), "timestamptz"),
        (2**63, "timestamp"),
    ],
)
def test_values_that_do_not_fit_are_refused(value: Any, type_text: str) -> None:
    """The caller then tests the rows itself, or asks again."""
    with pytest.raises(InvalidInputError):
        internal_literal(value, type_text)


@pytest.mark.parametrize("type_text", ["struct<1: a: optional int>", "list<int>", "map<int, int>"])
def test_types_without_an_order_are_refused(type_text: str) -> None:
    """There are no bounds to compare with."""
    with pytest.raises(UnsupportedError):
        internal_literal(1, type_text)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": st.integers(-5, 5),
    "name": st.sampled_from(["", "a", "ab", "b"]),
    "price": st.integers(-500, 500).map(lambda cents: Decimal(cents).scaleb(-2)),
    "score": st.sampled_from([-1.5, 0.0, 2.25]),
    "day": st.integers(-5, 5),
    "at": st.integers(-5, 5),
    "ok": st.booleans(),
    "blob": st.sampled_from([b"", b"a", b"b"]),
}
COMPARISONS = [Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE]


@st.composite
def column_tests(draw: st.DrawFn) -> ColumnTest:
    """Draw a test that every column allows."""
    column = draw(st.sampled_from(sorted(VALUES)))
    op = draw(st.sampled_from([*COMPARISONS, Op.IN, Op.NOT_IN, Op.IS_NULL, Op.NOT_NULL]))
    if op in (Op.IS_NULL, Op.NOT_NULL):
        return where(op, column)
    if op in (Op.IN, Op.NOT_IN):
        values = draw(st.lists(VALUES[column], min_size=2, max_size=3, unique=True))
        return where(op, column, tuple(sorted(values)))
    return where(op, column, draw(VALUES[column]))


predicates: st.SearchStrategy[Predicate] = st.recursive(
    column_tests(),
    lambda children: st.one_of(
        st.tuples(children, children).map(And), st.tuples(children, children).map(Or)
    ),
    max_leaves=4,
)


@given(predicates)
def test_a_predicate_survives_the_way_through_pyiceberg(predicate: Predicate) -> None:
    """Back and forth, the same rows are asked for."""
    expression = to_expression(predicate)

    bind(SCHEMA, expression, case_sensitive=True)
    assert parsed(expression) == predicate


@given(predicates, st.data())
def test_an_expression_keeps_the_rows_of_its_predicate(
    predicate: Predicate, data: st.DataObject
) -> None:
    """PyIceberg evaluates what the plain truth says."""
    row = {
        name: data.draw(values if name == "id" else values | st.none())
        for name, values in VALUES.items()
    }
    flat = Schema(*(column for column in SCHEMA.columns if column.field_type.is_primitive))
    record = Record(*(row.get(column.name) for column in flat.columns))

    evaluate = expression_evaluator(flat, to_expression(predicate), case_sensitive=True)

    assert evaluate(record) == holds(predicate, row)


def holds(predicate: Predicate, row: dict[str, Any]) -> bool:
    """Say whether a row passes, in plain Python; PyIceberg lets nulls pass NE and NOT IN."""
    if isinstance(predicate, And):
        return all(holds(child, row) for child in predicate.children)
    if isinstance(predicate, Or):
        return any(holds(child, row) for child in predicate.children)
    value, literal = row[predicate.column], predicate.literal
    if predicate.op is Op.IS_NULL:
        return value is None
    if predicate.op is Op.NOT_NULL:
        return value is not None
    if value is None:
        return predicate.op in (Op.NE, Op.NOT_IN)
    outcomes: dict[Op, Any] = {
        Op.EQ: value == literal,
        Op.NE: value != literal,
        Op.IN: isinstance(literal, tuple) and value in literal,
        Op.NOT_IN: isinstance(literal, tuple) and value not in literal,
    }
    if predicate.op in outcomes:
        return bool(outcomes[predicate.op])
    least, greatest = (value, literal) if predicate.op in (Op.LT, Op.LE) else (literal, value)
    strict = predicate.op in (Op.LT, Op.GT)
    return bool(least < greatest if strict else least <= greatest)  # type: ignore[operator]


def test_constants_have_expressions() -> None:
    """Nothing to test is true, nothing to choose from is false."""
    assert to_expression(And(())) == ice.AlwaysTrue()
    assert to_expression(Or(())) == ice.AlwaysFalse()


def test_other_literals_bind() -> None:
    """Bytes of uuid and fixed columns, and starts-with, reach PyIceberg unharmed."""
    schema = Schema(
        NestedField(1, "u", "uuid"), NestedField(2, "f", "fixed[2]"), NestedField(3, "s", "string")
    )
    tests: list[tuple[Op, int, str, Any]] = [
        (Op.EQ, 1, "u", bytes(16)),
        (Op.EQ, 2, "f", b"ab"),
        (Op.STARTS_WITH, 3, "s", "a"),
        (Op.NOT_STARTS_WITH, 3, "s", "a"),
    ]
    for op, field_id, name, literal in tests:
        predicate = ColumnTest(op=op, field_id=field_id, column=name, literal=literal)
        bind(schema, to_expression(predicate), case_sensitive=True)

"""Filters: texts and expressions as column tests, literals exact or refused."""

from __future__ import annotations

import math
import pickle
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg import expressions as ice
from pyiceberg.expressions import literals
from pyiceberg.expressions.parser import parse

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.filters.parse_filter import parse_table_filter
from arctic.iceberg.values.literals import internal_literal
from arctic.iceberg.values.schema import iceberg_schema
from arctic.table.filters.filter_tree import MAX_DEPTH
from arctic.table.filters.predicate import And, ColumnTest, Op, Or, Predicate, may_match
from arctic.table.table_description import Column
from tests.factories.tables import table_of

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
            ("hour", pa.time64("us")),
            ("four", pa.binary(4)),
            ("tag", pa.binary(16)),
        ]
    )
)
TABLE = table_of(
    [
        Column(
            field_id=column.field_id,
            name=column.name,
            type=str(column.field_type),
            required=column.required,
        )
        for column in SCHEMA.columns
    ]
)
UTC = timezone.utc


def parsed(row_filter: Any) -> Predicate:
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
        ("id = 1e0", where(Op.EQ, "id", 1)),
        ("id > -5", where(Op.GT, "id", -5)),
        ("+5 >= id", where(Op.LE, "id", 5)),
        ("score > -1.5E-3", where(Op.GT, "score", -0.0015)),
        ("score < .5", where(Op.LT, "score", 0.5)),
        ("ratio >= 1e39", where(Op.EQ, "ratio", math.inf)),
        ("ratio < 1e39", where(Op.LT, "ratio", math.inf)),
        ("ratio <= -1e39", where(Op.EQ, "ratio", -math.inf)),
        ("ratio > -1e39", where(Op.GT, "ratio", -math.inf)),
        ("ratio = 1e39", where(Op.IN, "ratio", ())),
        ("not ratio = 1e39", where(Op.NOT_IN, "ratio", ())),
        ("ratio in (1e39, 2)", where(Op.EQ, "ratio", 2.0)),
        ("score >= 1e400", where(Op.EQ, "score", math.inf)),
        ("score = CAST('-Infinity' AS DOUBLE)", where(Op.EQ, "score", -math.inf)),
        ("day = DATE '2024-02-29'", where(Op.EQ, "day", 19782)),
        ("day > date '+10000-01-01'", where(Op.GT, "day", 2932897)),
        ("day > '10000-01-01'", where(Op.GT, "day", 2932897)),
        ("day = CAST('2024-02-29' AS date)", where(Op.EQ, "day", 19782)),
        ("day = '2024-02-29'::date", where(Op.EQ, "day", 19782)),
        ("day = TIMESTAMP '2024-02-29 00:00:00'", where(Op.EQ, "day", 19782)),
        ("local < DATE '1970-01-02'", where(Op.LT, "local", 86_400_000_000)),
        ("local < TIMESTAMP '1970-01-01 00:00:01'", where(Op.LT, "local", 1_000_000)),
        ("at < TIMESTAMP '1970-01-01 00:00:01 UTC'", where(Op.LT, "at", 1_000_000)),
        ("at < timestamp with time zone '1970-01-01 00:00+00'", where(Op.LT, "at", 0)),
        ("price = CAST('1.5' AS DECIMAL(10, 2))", where(Op.EQ, "price", Decimal("1.50"))),
        ("id = CAST('5' AS BIGINT)", where(Op.EQ, "id", 5)),
        ("name = CAST(5 AS STRING)", where(Op.EQ, "name", "5")),
        ("blob = X'00ff'", where(Op.EQ, "blob", b"\x00\xff")),
        ("`we ird` = 1", where(Op.EQ, "we ird", 1)),
        ("\"day\" = DATE '2024-02-29'", where(Op.EQ, "day", 19782)),
        ("ok", where(Op.EQ, "ok", True)),
        ("not ok", where(Op.NE, "ok", True)),
        ("ok is false", where(Op.EQ, "ok", False)),
        ("ok is not true", Or((where(Op.NE, "ok", True), where(Op.IS_NULL, "ok")))),
        ("name like 'a_'", where(Op.LIKE, "name", "a_")),
        ("name not like '%a'", where(Op.NOT_LIKE, "name", "%a")),
        ("name like 'a%%'", where(Op.STARTS_WITH, "name", "a")),
        ("name like '%'", where(Op.STARTS_WITH, "name", "")),
        ("name like 'a'", where(Op.EQ, "name", "a")),
        ("name like 'a\\_%'", where(Op.STARTS_WITH, "name", "a_")),
        ("name like '_!%!!' escape '!'", where(Op.LIKE, "name", "_\\%!")),
        ("name like 'a\\' escape ''", where(Op.EQ, "name", "a\\")),
        ("n not between 1 and 3", Or((where(Op.LT, "n", 1), where(Op.GT, "n", 3)))),
        (
            "id = 1 or id = 2 and n = 3",
            Or((where(Op.EQ, "id", 1), And((where(Op.EQ, "id", 2), where(Op.EQ, "n", 3))))),
        ),
        (
            "(id = 1 or id > 2) and n = 3",
            And((Or((where(Op.EQ, "id", 1), where(Op.GT, "id", 2))), where(Op.EQ, "n", 3))),
        ),
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


DAY, NOON = date(2024, 2, 29), datetime(2024, 2, 29, 12)  # noqa: DTZ001 - has no zone


@pytest.mark.parametrize(
    ("column", "value", "literal"),
    [
        ("day", DAY, 19782),
        ("day", datetime(2024, 2, 29), 19782),  # noqa: DTZ001 - has no zone
        ("local", DAY, 19782 * 86_400_000_000),
        ("local", NOON, 19782 * 86_400_000_000 + 43_200_000_000),
        ("at", NOON.replace(tzinfo=UTC), 19782 * 86_400_000_000 + 43_200_000_000),
        ("local", 5, 5),
        ("hour", time(1), 3_600_000_000),
        ("price", Decimal("1.5"), Decimal("1.50")),
        ("score", 0.5, 0.5),
        ("ok", True, True),
        ("blob", b"x", b"x"),
        ("tag", UUID(int=5), UUID(int=5).bytes),
        ("four", b"abcd", b"abcd"),
    ],
)
def test_literals_of_pyiceberg_are_what_they_were_made_of(
    column: str, value: Any, literal: Any
) -> None:
    """PyIceberg keeps a date as days and a timestamp as microseconds: a number alone is neither."""
    equal, among, at_least = cast(tuple[Any, ...], (ice.EqualTo, ice.In, ice.GreaterThanOrEqual))

    assert parsed(equal(column, value)) == where(Op.EQ, column, literal)
    assert parsed(among(column, {value})) == where(Op.EQ, column, literal)
    assert parsed(~among(column, {value})) == where(Op.NE, column, literal)
    assert parsed(at_least(column, value)) == where(Op.GE, column, literal)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("id", DAY, "a date cannot be compared with a long"),
        ("id", NOON, "a timestamp cannot be compared with a long"),
        ("id", time(1), "a time cannot be compared with a long"),
        ("n", DAY, "a date cannot be compared with a int"),
        ("score", DAY, "a date cannot be compared with a double"),
        ("price", time(1), "a time cannot be compared with a decimal"),
        ("day", NOON, "a date without a time"),
        ("day", time(1), "a time cannot be compared with a date"),
        ("hour", DAY, "a date cannot be compared with a time"),
        ("hour", NOON, "a timestamp cannot be compared with a time"),
        ("local", time(1), "a time cannot be compared with a timestamp"),
        ("at", DAY, "expected a zone"),
        ("at", time(1), "a time cannot be compared with a timestamptz"),
        ("name", DAY, "a date cannot be compared with a string"),
        ("ok", 1, "expected true or false"),
        ("n", True, "expected a whole number"),
        ("four", b"abc", "expected 4 bytes"),
    ],
)
def test_literals_of_pyiceberg_that_a_column_cannot_have_are_refused(
    column: str, value: Any, message: str
) -> None:
    """Days of a date are no microseconds, and no number of a column of numbers."""
    equal, among = cast(tuple[Any, ...], (ice.EqualTo, ice.NotIn))

    for expression in (equal(column, value), among(column, {value})):
        with pytest.raises(InvalidInputError, match=message):
            parsed(expression)


def test_sets_of_pyiceberg_are_sets_of_what_they_were_made_of() -> None:
    """Each member is as if it were compared alone."""
    among, not_among = cast(tuple[Any, ...], (ice.In, ice.NotIn))
    micros = 19782 * 86_400_000_000

    ends = (micros, micros + 43_200_000_000)
    assert parsed(among("local", {DAY, NOON})) == where(Op.IN, "local", ends)
    assert parsed(not_among("day", {DAY, date(2024, 3, 1)})) == where(
        Op.NOT_IN, "day", (19782, 19783)
    )
    with pytest.raises(InvalidInputError, match="a date cannot be compared with a long"):
        parsed(not_among("id", {DAY, date(2024, 3, 1)}))


def test_literals_that_pyiceberg_makes_of_what_a_type_cannot_hold_are_refused() -> None:
    """Their value is the greatest of the type, which is below what they stand for."""
    less = cast(Any, ice.LessThan)

    with pytest.raises(UnsupportedError, match=r"column 'id'.*is not offered"):
        parsed(less("id", literals.LongAboveMax()))


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
        ("", "not understood near ''"),
        ("id = 1)", "no bracket is open"),
        ("(id = 1", r"expected '\)'"),
        ('name = "Rome"', "in single quotes: 'Rome'"),
        ("name = Rome", "'Rome' is a name"),
        ("id = null", "write 'is null'"),
        ("id in (1, null)", "write 'is null'"),
        ("id in ()", "between the brackets"),
        ("id + 1 = 2", r"near '\+ 1 = 2'"),
        ("lower(name) = 'x'", "'lower' is called as a function"),
        ("cast(name as int) = 5", "a column cannot be cast"),
        ("day = DATE '2024-02-30'", "day is out of range"),
        ("at > DATE '2024-01-01'", "expected a zone"),
        ("id = CAST('x' AS int)", "no number"),
        ("id = 5::money", "type 'money' is not known"),
        ("id = " + "cast(" * 3000 + "5", "too often"),
        ("id = 1e999999999", "beyond every whole number"),
        (f"id = 1e{'9' * 30}", "no number that can be compared"),
        (f"score > -{'9' * 5000}", "not understood near '9"),
        ("blob = x'0'", "not understood near .x'0'"),
        ("name like 'a\\b'", "says nothing"),
        ("name like 'a' escape 'xy'", "expected one character"),
        ("id", "alone it is no condition"),
        ("1 = 1", "a column on one side"),
        ("id = n", "'n' is a name"),
        ("id = 'x", "not understood near"),
        ("name = '" + "x" * 100_000, "not understood near .{0,300}$"),
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


OR_CHAIN = " or ".join(f"id = {number} and n < {number}" for number in range(3000))


def or_expression(count: int) -> ice.BooleanExpression:
    """Return a chain of so many comparisons, each one level deeper than the one before."""
    equal, less, either = cast(tuple[Any, ...], (ice.EqualTo, ice.LessThan, ice.Or))
    found: ice.BooleanExpression = equal("id", 0)
    for number in range(1, count):
        found = either(found, less("id", -number))
    return found


def or_arrow(count: int) -> pc.Expression:
    """Return such a chain as pyarrow has it."""
    found = pc.field("id") == 0
    for number in range(1, count):
        found = found | (pc.field("id") < -number)
    return found


@pytest.mark.parametrize(
    "row_filter",
    [OR_CHAIN, or_expression(3000), or_arrow(1000), "not " * 3000 + "id = 1"],
    ids=["text", "PyIceberg", "pyarrow", "not"],
)
def test_a_filter_of_any_length_is_taken(row_filter: Any) -> None:
    """What is joined alike lies side by side, and nothing that goes through it goes deep."""
    predicate = parsed(row_filter)

    assert pickle.loads(pickle.dumps(predicate)) == predicate
    assert may_match(predicate, {}, 1)


@pytest.mark.parametrize("depth", [50, 5000])
def test_brackets_may_be_as_deep_as_one_likes(depth: int) -> None:
    """They are not kept."""
    assert parsed("(" * depth + "id = 1" + ")" * depth) == where(Op.EQ, "id", 1)


def test_what_cannot_be_laid_flat_is_refused_when_it_is_too_deep() -> None:
    """AND in OR in AND: a message, not the end of Python's stack, and below the limit a plan."""

    def nested(levels: int) -> str:
        return "id = 1 and (n = 2 or (" * levels + "ok" + "))" * levels

    found = parsed(nested(MAX_DEPTH // 2 - 1))
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(UnsupportedError, match="levels deep"):
        parsed(nested(3000))


def test_equal_columns_become_one_set() -> None:
    """A thousand keys joined by OR are looked up as a thousand keys in a list are."""
    assert parsed("n = 3 or name = 'x' or n in (1, 2)") == Or(
        (where(Op.IN, "n", (1, 2, 3)), where(Op.EQ, "name", "x"))
    )
    assert parsed("n <> 3 and not n = 1") == where(Op.NOT_IN, "n", (1, 3))


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (pc.field("id") > 2, "id > 2"),
        (pc.scalar(2) > pc.field("id"), "id < 2"),
        (~(pc.field("n") == 3) & pc.field("ok"), "n <> 3 and ok"),
        (pc.field("name").isin(["a", "b"]), "name in ('a', 'b') and name is not null"),
        (~pc.field("n").isin([1, None]), "(n <> 1 or n is null) and n is not null"),
        (pc.field("score").is_null(), "score is null"),
        (pc.field("name").is_valid() | pc.scalar(False), "name is not null or false"),
        (pc.starts_with(pc.field("name"), "a_"), "name like 'a!_%' escape '!'"),
        (pc.match_like(pc.field("name"), "a_%"), "name like 'a_%'"),
        (pc.field("day") >= pa.scalar(date(2024, 2, 29)), "day >= '2024-02-29'"),
        (
            pc.field("at") < pa.scalar(5, pa.timestamp("ms", "Europe/Rome")),
            "at < '1970-01-01T00:00:00.005Z'",
        ),
        (pc.field("local") == pa.scalar(2**60, pa.timestamp("us")), f"local = {2**60}::long"),
        (pc.field("price") == Decimal("1.50"), "price = 1.5"),
        (pc.field("blob") == b"\x00", "blob = x'00'"),
        (pc.field("ratio") >= math.inf, "ratio >= CAST('inf' AS FLOAT)"),
    ],
    ids=str,
)
def test_expressions_of_pyarrow_mean_what_pyarrow_means(
    expression: pc.Expression, text: str
) -> None:
    """A list of values takes null for one: what is not in it may be null."""
    assert parsed(expression) == parsed(text)


@pytest.mark.parametrize(
    ("expression", "error", "message"),
    [
        (pc.field("id") > pc.field("n"), UnsupportedError, "two columns"),
        (pc.field("id") + 1 > 2, UnsupportedError, "'add_checked'"),
        (pc.field(("address", "city")) == "x", UnsupportedError, "nested columns"),
        (pc.field(0) == 1, UnsupportedError, "columns by their names"),
        (pc.is_nan(pc.field("score")), UnsupportedError, "NaN"),
        (pc.field("score").is_null(nan_is_null=True), UnsupportedError, "NaN"),
        (pc.field("idd") == 1, InvalidInputError, "did you mean 'id'"),
        (pc.field("id") == pa.scalar(None, pa.int64()), InvalidInputError, "null"),
        (pc.field("local") == pa.scalar(1, pa.timestamp("ns")), InvalidInputError, "microseconds"),
        (pc.match_substring(pc.field("name"), "x"), UnsupportedError, "match_substring"),
        (pc.field("id"), InvalidInputError, "no condition"),
        (["id > 2"], InvalidInputError, "filter of type 'list'"),
        (5, InvalidInputError, "filter of type 'int'"),
    ],
    ids=str,
)
def test_what_an_expression_cannot_say_here_is_refused(
    expression: Any, error: type[Exception], message: str
) -> None:
    """By name, and never taken for something else."""
    with pytest.raises(error, match=message):
        parsed(expression)


def test_what_expressions_of_pyarrow_pickle_to_is_understood() -> None:
    """It is no promise of pyarrow's: whoever upgrades it sees here whether it still holds."""
    rebuild, (data,) = (pc.field("a") == 1).__reduce__()

    assert rebuild(data).equals(pc.field("a") == 1)
    assert pa.ipc.open_file(data).get_batch(0).num_rows == 1

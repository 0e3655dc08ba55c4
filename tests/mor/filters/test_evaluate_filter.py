"""Row filters against Python, one value after the other, through files with row groups."""

from __future__ import annotations

import math
import operator
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import FormatError, InternalError
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.filters.evaluate_filter import comparison_type, matching_rows
from arctic.mor.filters.prune import matching_row_groups
from arctic.mor.request import META_FIELDS
from arctic.table.files import FileKind, Value
from arctic.table.filters.predicate import And, ColumnTest, Op, Or, Predicate
from tests.factories.tables import field
from tests.mor.local_files import ID, TABLE, LocalFiles, Row, group, request, task
from tests.table.like import is_like

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def micros(value: datetime) -> int:
    """Return a timestamp as Iceberg holds it."""
    aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
    return (aware - EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True)
class Kind:
    """Values of one column type, and how they become literals."""

    type: pa.DataType
    values: Sequence[Any]
    internal: Callable[[Any], Value] = lambda value: value
    file_type: pa.DataType | None = None


INSTANTS = [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1), datetime(2026, 3, 1)]  # noqa: DTZ001
KINDS = {
    "bool": Kind(pa.bool_(), [True, False]),
    "int": Kind(pa.int32(), [-3, 0, 1, 2**31 - 1]),
    "long": Kind(pa.int64(), [-(2**63), 0, 5, 2**63 - 1]),
    "promoted int": Kind(pa.int64(), [-3, 0, 7], file_type=pa.int32()),
    "float": Kind(pa.float32(), [0.0, -0.0, 1.5, -2.25, math.nan, math.inf]),
    "double": Kind(pa.float64(), [0.0, -0.0, 0.1, math.nan, -math.inf]),
    "decimal(9, 2)": Kind(
        pa.decimal128(9, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("7.25")]
    ),
    "decimal(38, 10)": Kind(
        pa.decimal128(38, 10),
        [Decimal(f"{sign}{10**27}.{1:010d}") for sign in ("-", "")] + [Decimal("0.0000000000")],
    ),
    "date": Kind(
        pa.date32(),
        [date(1969, 12, 31), date(1970, 1, 1), date(2026, 3, 1)],
        lambda value: (value - EPOCH.date()).days,
    ),
    "time": Kind(
        pa.time64("us"),
        [time(0), time(0, 0, 0, 1), time(23, 59)],
        lambda value: micros(datetime.combine(EPOCH.date(), value)),
    ),
    "timestamp": Kind(pa.timestamp("us"), INSTANTS, micros),
    "timestamptz": Kind(
        pa.timestamp("us", "UTC"), [one.replace(tzinfo=timezone.utc) for one in INSTANTS], micros
    ),
    "nanoseconds": Kind(pa.timestamp("us"), INSTANTS, micros, pa.timestamp("ns")),
    "string": Kind(pa.string(), ["", "a", "ab", "abc", "a\nc", "_", "\\", "ä", "\U0010ffff", "b"]),
    "dictionary": Kind(
        pa.string(), ["", "a", "ab"], file_type=pa.dictionary(pa.int8(), pa.large_string())
    ),
    "binary": Kind(pa.binary(), [b"", b"a", b"ab", b"\xff", b"\xff\x00"]),
    "fixed": Kind(pa.binary(2), [b"\x00\x00", b"ab", b"\xff\xff"]),
}
COMPARE: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}


PATTERNS = ["a_", "%b", "a%c", "_", "", "\\_%", "%\\\\%"]


def holds(test: Predicate, row: dict[str, Any], kind: Kind) -> bool:
    """Evaluate a filter on one row, as the rules say it in words."""
    if isinstance(test, And):
        return all(holds(child, row, kind) for child in test.children)
    if isinstance(test, Or):
        return any(holds(child, row, kind) for child in test.children)
    raw = row[test.column]
    if test.op in (Op.IS_NULL, Op.NOT_NULL):
        return (raw is None) == (test.op is Op.IS_NULL)
    if raw is None or raw != raw:
        return False
    value: Any = kind.internal(raw)
    literal: Any = test.literal
    if test.op in (Op.IN, Op.NOT_IN):
        return (value in literal) == (test.op is Op.IN)
    if test.op in (Op.STARTS_WITH, Op.NOT_STARTS_WITH):
        return bool(value.startswith(literal)) == (test.op is Op.STARTS_WITH)
    if test.op in (Op.LIKE, Op.NOT_LIKE):
        return is_like(value, literal) == (test.op is Op.LIKE)
    return COMPARE[test.op](value, literal)


@st.composite
def column_tests(draw: st.DrawFn, kind: Kind) -> ColumnTest:
    """Draw one test of the column, with literals of the right kind."""
    usable = [value for value in kind.values if value == value]
    prefixes = [Op.STARTS_WITH, Op.NOT_STARTS_WITH]
    has_prefix = isinstance(usable[0], str | bytes)
    patterns = [Op.LIKE, Op.NOT_LIKE]
    left_out = [
        *(() if has_prefix else prefixes),
        *(() if isinstance(usable[0], str) else patterns),
    ]
    op = draw(st.sampled_from([op for op in Op if op not in left_out]))
    some = st.sampled_from(usable).map(kind.internal)
    literal: Any = draw(st.sampled_from(PATTERNS) if op in patterns else some)
    if op in (Op.IS_NULL, Op.NOT_NULL):
        literal = None
    if op in (Op.IN, Op.NOT_IN):
        literal = tuple(draw(st.lists(some, max_size=3)))
    return ColumnTest(op=op, field_id=7, column="value", literal=literal)


def filters(kind: Kind) -> st.SearchStrategy[Predicate]:
    """Draw trees of tests."""
    return st.recursive(
        column_tests(kind),
        lambda inner: st.lists(inner, max_size=3).flatmap(
            lambda children: st.sampled_from([And(tuple(children)), Or(tuple(children))])
        ),
        max_leaves=4,
    )


def every_test(kind: Kind) -> list[ColumnTest]:
    """Return all tests of one value of a column."""
    literals: list[Any] = [kind.internal(value) for value in kind.values if value == value]
    tests: list[tuple[Op, Any]] = [(Op.IS_NULL, None), (Op.NOT_NULL, None)]
    tests += [(op, literal) for op in COMPARE for literal in literals]
    sets = [(), *((literal,) for literal in literals), tuple(literals)]
    tests += [(op, some) for op in (Op.IN, Op.NOT_IN) for some in sets]
    if isinstance(literals[0], str | bytes):
        prefixes = (Op.STARTS_WITH, Op.NOT_STARTS_WITH)
        tests += [(op, literal) for op in prefixes for literal in literals]
    if isinstance(literals[0], str):
        tests += [(op, pattern) for op in (Op.LIKE, Op.NOT_LIKE) for pattern in PATTERNS]
    return [ColumnTest(op=op, field_id=7, column="value", literal=some) for op, some in tests]


@pytest.mark.parametrize("name", KINDS)
def test_every_comparison_of_every_type_equals_python(tmp_path: Path, name: str) -> None:
    """On the rows, and on the bounds of row groups that hold one value each."""
    kind = KINDS[name]
    values = [None, *kind.values]
    rows = [{"value": value} for value in values]
    stored = field("value", kind.file_type or kind.type, 7)
    base = LocalFiles(tmp_path).base(rows, schema=pa.schema([stored]), row_group_size=1)
    column = pa.array(values, kind.type).cast(comparison_type(stored.type))
    with ParquetInput(base.path, pa.OSFile) as parquet:
        for test in every_test(kind):
            expected = [at for at, row in enumerate(rows) if holds(test, row, kind)]
            assert np.flatnonzero(matching_rows(test, {7: column}, len(rows))).tolist() == expected
            kept = matching_row_groups(parquet, request(row_filter=test), {7: "value"}, {})
            assert set(kept) >= set(expected), test
            negations = (Op.NE, Op.NOT_IN, Op.NOT_NULL, Op.NOT_STARTS_WITH, Op.NOT_LIKE)
            if test.op not in (*negations, Op.LIKE):
                # A single value is its own bounds, so only NaN, which has none, is kept in vain.
                vain = {at for at, value in enumerate(values) if value != value}
                assert set(kept) - set(expected) <= vain, test


@given(st.data(), st.sampled_from(sorted(KINDS)), st.booleans())
def test_a_filtered_read_equals_python(data: st.DataObject, name: str, is_shown: bool) -> None:
    """For every type, with nulls and NaN, whatever row groups the statistics leave out."""
    kind = KINDS[name]
    values = data.draw(st.lists(st.sampled_from([None, *kind.values]), max_size=20))
    if data.draw(st.booleans(), label="sorted"):
        values.sort(key=lambda value: (value is None, value != value, value))
    row_filter = data.draw(filters(kind))
    stored = field("value", kind.file_type or kind.type, 7)
    rows = [{"id": at, "value": value} for at, value in enumerate(values)]
    with tempfile.TemporaryDirectory() as folder:
        files = LocalFiles(Path(folder))
        base = files.base(
            rows,
            schema=pa.schema([ID, stored]),
            row_group_size=data.draw(st.integers(1, 6)),
            store_decimal_as_integer=data.draw(st.booleans()),
        )
        columns = [ID, field("value", kind.type, 7)] if is_shown else [ID]
        found = files.read(
            group(task(base)), request(pa.schema(columns), row_filter=row_filter, batch_rows=5)
        )
    expected = [row["id"] for row in rows if holds(row_filter, row, kind)]
    assert [row["id"] for row in found] == expected


def test_row_groups_outside_the_bounds_are_not_read(tmp_path: Path) -> None:
    """Sorted data is read only where the filter can match; an absent column is null."""
    base = LocalFiles(tmp_path).base([{"id": at} for at in range(100)], row_group_size=10)
    cases: list[tuple[Op, int, Value | tuple[Value, ...], tuple[int, ...]]] = [
        (Op.EQ, 1, 35, (3,)),
        (Op.LT, 1, 20, (0, 1)),
        (Op.IN, 1, (5, 77, 300), (0, 7)),
        (Op.GT, 1, 500, ()),
        (Op.NOT_NULL, 1, None, tuple(range(10))),
        (Op.NOT_NULL, 2, None, ()),
        (Op.IS_NULL, 55, None, tuple(range(10))),
        (Op.EQ, 55, 1, ()),
        (Op.EQ, 44, 6, tuple(range(10))),
        (Op.EQ, 44, 7, ()),
    ]
    with ParquetInput(base.path, pa.OSFile) as parquet:
        for op, number, literal, expected in cases:
            test = ColumnTest(op=op, field_id=number, column="any", literal=literal)
            found = matching_row_groups(
                parquet, request(row_filter=test), {1: "id", 2: "text"}, {44: 6}
            )
            assert found == expected, test


def test_statistics_of_an_uncertain_order_keep_every_row_group(tmp_path: Path) -> None:
    """Unsigned, half-precision and INT96 values order unlike their raw bounds."""
    columns = {
        "unsigned": pa.array([1, 2**63 + 1], pa.uint64()),
        "half": pa.array([1.0, 2.0], pa.float16()),
        "uuid": pa.array([bytes(16), b"\xff" * 16], pa.binary(16)),
        "nested": pa.array([{"a": 1}, {"a": 2}]),
    }
    base = LocalFiles(tmp_path).write(FileKind.BASE, pa.table(columns))
    literals: list[Value] = [-7, -7.0, UUID(int=7), -7]
    with ParquetInput(base.path, pa.OSFile) as parquet:
        for name, literal in zip(columns, literals, strict=True):
            test = ColumnTest(op=Op.LT, field_id=1, column=name, literal=literal)
            assert matching_row_groups(parquet, request(row_filter=test), {1: name}, {}) == (0,)


def test_nanosecond_bounds_are_widened(tmp_path: Path) -> None:
    """999 ns above a microsecond round down below, and up above."""
    values = pa.array([-1, 1_999], pa.timestamp("ns"))
    base = LocalFiles(tmp_path).write(FileKind.BASE, pa.table({"ts": values}))
    with ParquetInput(base.path, pa.OSFile) as parquet:
        for op, literal, kept in [(Op.LE, -1, True), (Op.GE, 2, True), (Op.GT, 2, False)]:
            test = ColumnTest(op=op, field_id=1, column="ts", literal=literal)
            assert (
                bool(matching_row_groups(parquet, request(row_filter=test), {1: "ts"}, {})) == kept
            )


def test_a_uuid_is_compared_by_its_bytes(tmp_path: Path) -> None:
    """Its literal is the one that is neither text nor a number."""
    files = LocalFiles(tmp_path)
    schema = pa.schema([ID, field("value", pa.binary(16), 7)])
    base = files.base([{"id": at, "value": UUID(int=at).bytes} for at in range(3)], schema=schema)
    cases: list[tuple[Op, Any]] = [(Op.EQ, UUID(int=1)), (Op.IN, (UUID(int=1), UUID(int=9)))]
    for op, literal in cases:
        test = ColumnTest(op=op, field_id=7, column="value", literal=literal)
        found = files.read(group(task(base)), request(pa.schema([ID]), row_filter=test))
        assert found == [{"id": 1}]


def test_facts_about_a_file_can_be_filtered(tmp_path: Path) -> None:
    """A look at the change store filters by transaction and action."""
    files = LocalFiles(tmp_path)
    insert = files.insert([{"id": 1, "_file_offset": 3}, {"id": 2, "_file_offset": 4}], 5)
    deletes = files.deletes([{"id": 3, "_file_offset": 3}], 6)
    base = files.base([{"id": 4}], 7)
    cases: list[tuple[Op, int, Value, list[int]]] = [
        (Op.GE, 0, 6, [3, 4]),
        (Op.EQ, 1, 3, [1, 3]),
        (Op.EQ, 2, "INSERT", [1, 2]),
        (Op.IS_NULL, 2, None, [4]),
    ]
    for op, at, literal, expected in cases:
        number = int(META_FIELDS[at].metadata[b"PARQUET:field_id"])
        test = ColumnTest(op=op, field_id=number, column="fact", literal=literal)
        tasks = [task(insert), task(deletes), task(base)]
        found = files.read(group(*tasks), request(row_filter=test))
        assert [row["id"] for row in found] == expected


@pytest.mark.parametrize("name", sorted(KINDS.keys() - {"promoted int", "nanoseconds"}))
def test_what_a_partition_says_of_a_column_can_be_filtered(tmp_path: Path, name: str) -> None:
    """Where its files leave the column out, as those of Hive do; literals may have more digits."""
    kind = KINDS[name]
    files = LocalFiles(tmp_path)
    base = files.base([{"id": 1, "text": "a"}])
    for value in [None, *(each for each in kind.values if each == each)]:
        internal = None if value is None else kind.internal(value)
        file = replace(base, partition=(internal,))
        for test in every_test(kind):
            asked = replace(request(row_filter=test), identity_partitions={7: 0})
            found = files.read(group(task(file)), asked)
            assert bool(found) == holds(test, {"value": value}, kind), (value, test)


def test_nested_columns_can_only_be_asked_for_null(tmp_path: Path) -> None:
    """A struct is null or not, whatever is inside."""
    files = LocalFiles(tmp_path)
    nested = field("value", pa.struct([field("x", pa.int32(), 8)]), 7)
    rows: list[Row] = [{"id": 1, "value": {"x": None}}, {"id": 2, "value": None}]
    base = files.base(rows, schema=pa.schema([ID, nested]))
    test = ColumnTest(op=Op.IS_NULL, field_id=7, column="value")
    only = pa.schema([ID])
    assert files.read(group(task(base)), request(only, row_filter=test)) == [{"id": 2}]


@pytest.mark.parametrize(
    ("test", "error"),
    [
        (ColumnTest(op=Op.EQ, field_id=1, column="id", literal="text"), InternalError),
        (ColumnTest(op=Op.STARTS_WITH, field_id=2, column="text", literal=5), InternalError),
        (ColumnTest(op=Op.STARTS_WITH, field_id=1, column="id", literal="1"), InternalError),
    ],
)
def test_a_literal_of_another_kind_is_a_bug(
    tmp_path: Path, test: ColumnTest, error: type[Exception]
) -> None:
    """Whoever built the filter must have bound it to the column."""
    files = LocalFiles(tmp_path)
    base = files.base([{"id": 1, "text": "a"}])
    with pytest.raises(error, match="row filter"):
        files.read(group(task(base)), request(row_filter=test))


def test_digits_below_a_microsecond_are_refused_in_a_filter_too(tmp_path: Path) -> None:
    """A comparison after rounding could keep or drop the wrong row."""
    files = LocalFiles(tmp_path)
    stored = pa.table(
        [pa.array([1], pa.int64()), pa.array([1], pa.timestamp("ns"))],
        schema=pa.schema([ID, field("value", pa.timestamp("ns"), 7)]),
    )
    base = files.write(FileKind.BASE, stored)
    test = ColumnTest(op=Op.GE, field_id=7, column="value", literal=0)
    with pytest.raises(FormatError, match="would lose data"):
        files.read(group(task(base)), request(TABLE, row_filter=test))

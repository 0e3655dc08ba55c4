"""Events and their order."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns.event_order import (
    check_order,
    compare,
    compare_neighbours,
    event_order,
    greatest_by_code,
    order_numbers,
    rises,
)
from arctic.errors import InvalidInputError


def test_events_are_sorted_stably_by_several_columns() -> None:
    """Ties of the first column go to the second, then to the arrival."""
    rows = pa.table({"a": [2, 1, 1, 1], "b": ["x", "z", "y", "y"]})

    order = event_order(rows, ["a", "b"])

    assert order is not None
    assert order.tolist() == [2, 3, 1, 0]


@pytest.mark.parametrize(
    "values", [[1, 1, 2], ["a", "b", "b"], [-1.0, 0.0, float("nan")], [], [3]], ids=str
)
def test_events_in_order_stay_where_they_are(values: list[Any]) -> None:
    """Then nothing needs to be moved; NaN is greatest, as in Spark."""
    assert event_order(pa.table({"a": values}), ["a"]) is None
    assert event_order(pa.table({"a": list(reversed(values))}), []) is None


def test_a_null_has_no_place_in_an_order() -> None:
    """The message names the first such row."""
    rows = pa.record_batch({"a": [1, 2, 3], "b": ["x", None, None]})

    with pytest.raises(InvalidInputError, match="ordering column 'b' is null in row number 1;"):
        check_order(rows, ["a", "b"], describe_row=lambda row: f"row number {row}")


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.floats(0, 1))))
def test_neighbours_compare_as_tuples(rows: list[tuple[int, str, float]]) -> None:
    """The first column that differs decides; the order is that of a stable sort."""
    schema = pa.schema([("x", pa.int64()), ("y", pa.string()), ("z", pa.float64())])
    table = pa.table([[row[i] for row in rows] for i in range(3)], schema=schema)

    found = compare_neighbours(table).tolist()

    assert found == [(a > b) - (a < b) for a, b in pairwise(rows)]
    order = event_order(table, table.column_names)
    sorted_rows = sorted(range(len(rows)), key=rows.__getitem__)
    assert (list(range(len(rows))) if order is None else order.tolist()) == sorted_rows


@pytest.mark.parametrize(
    "values",
    [
        [False, True],
        [b"", b"\x00", b"\xff"],
        ["", "Z", "a", "\ue000", "\U0001f600"],
        [Decimal("-1.50"), Decimal("2.00")],
        [dt.date(1969, 12, 31), dt.date(2024, 1, 1)],
        [dt.datetime(1969, 1, 1), dt.datetime(2024, 1, 1)],  # noqa: DTZ001
        [float("-inf"), -0.5, 7.0, float("inf"), float("nan")],
    ],
    ids=str,
)
def test_every_plain_type_orders_events(values: list[Any]) -> None:
    """Texts by their bytes, NaN last."""
    rising = pa.table({"a": values})

    assert set(compare_neighbours(rising).tolist()) == {-1}
    assert set(compare_neighbours(rising.take(list(reversed(range(len(values)))))).tolist()) == {1}
    twice = rising.take([0, 0])
    assert compare_neighbours(twice).tolist() == [0]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-1.0, -0.0, 0.0, float("nan")]))),
    st.integers(1, 3),
    st.sampled_from([["a"], ["b"], ["a", "b"]]),
)
def test_rows_rise_where_each_neighbour_is_above(
    rows: list[tuple[int, float]], step: int, columns: list[str]
) -> None:
    """However they are chunked; equal rows do not rise."""
    schema = pa.schema([("a", pa.int64()), ("b", pa.float64())])
    records = [{"a": a, "b": b} for a, b in rows]
    batches = [
        pa.RecordBatch.from_pylist(records[start : start + step], schema=schema)
        for start in range(0, len(records), step)
    ]
    table = pa.Table.from_batches(batches, schema).select(columns)

    assert rises(table) == bool((compare_neighbours(table) < 0).all())


@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=30))
def test_numbers_of_rows_compare_as_tuples_do(rows: list[tuple[int, int, int]]) -> None:
    """Column by column; the greatest row of a code is the last of its equals."""
    *columns, codes = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    distinct, codes = np.unique(codes, return_inverse=True)
    backwards = [column[::-1] for column in columns]

    greater, equal = compare(columns, backwards)
    pairs = list(zip(rows, reversed(rows), strict=True))
    assert greater.tolist() == [mine[:2] > theirs[:2] for mine, theirs in pairs]
    assert equal.tolist() == [mine[:2] == theirs[:2] for mine, theirs in pairs]
    for code, row in enumerate(greatest_by_code(columns, codes, len(distinct))):
        mine = [at for at in range(len(rows)) if codes[at] == code]
        assert row == max(mine, key=lambda at: (rows[at][:2], at))


@pytest.mark.parametrize(
    "kind",
    [pa.int32(), pa.int64(), pa.date32(), pa.time64("us"), pa.timestamp("us", "UTC")],
    ids=str,
)
def test_values_become_numbers_in_their_order(kind: pa.DataType) -> None:
    """A null is below all of them."""
    column = pa.array([3, None, 0, 1], pa.int32() if kind.bit_width == 32 else pa.int64())

    (numbers,) = order_numbers([column.cast(kind)])
    assert numbers.tolist() == [3, -(2**63), 0, 1]


NUMBERS = st.one_of(
    st.tuples(st.just(pa.float64()), st.lists(st.none() | st.floats(), max_size=8)),
    st.tuples(st.just(pa.float32()), st.lists(st.none() | st.floats(width=32), max_size=8)),
    st.tuples(
        st.just(pa.decimal128(38, 3)),
        st.lists(
            st.none()
            | st.decimals(allow_nan=False, allow_infinity=False, places=3).filter(
                lambda value: abs(value) < 10**35
            ),
            max_size=8,
        ),
    ),
)


@given(NUMBERS, st.integers(0, 2))
def test_numbers_of_floats_and_decimals_are_in_the_order_of_their_values(
    drawn: tuple[pa.DataType, list[Any]], skipped: int
) -> None:
    """As Arrow compares them, NaN above all and null below; of a slice too."""
    column = pa.array(drawn[1], drawn[0]).slice(skipped)
    numbers = order_numbers([column])
    first = column.is_null().to_numpy(zero_copy_only=False)
    for i, one in enumerate(column):
        for j, other in enumerate(column):
            greater, equal = (each[0] for each in _compared(numbers, i, j))
            if first[i] or first[j]:
                assert (greater, equal) == (first[j] and not first[i], first[i] and first[j])
                continue
            left, right = one.as_py(), other.as_py()
            ranks = (
                (left != left, 0 if left != left else left),
                (
                    right != right,
                    0 if right != right else right,
                ),
            )
            assert (greater, equal) == (ranks[0] > ranks[1], ranks[0] == ranks[1])


def _compared(numbers: Any, i: int, j: int) -> Any:
    return compare([each[i : i + 1] for each in numbers], [each[j : j + 1] for each in numbers])

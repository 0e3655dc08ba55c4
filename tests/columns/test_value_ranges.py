"""Ranges of values: every value is in one of them, and few lie between."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns import value_ranges
from arctic.columns.value_ranges import ValueRanges, joined

LONGS = st.integers(-(2**63), 2**63 - 1)
KINDS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), st.one_of(LONGS, st.integers(-50, 50))),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(dt.timezone.utc))),
    (pa.string(), st.text(max_size=3)),
    (pa.decimal128(6, 2), st.decimals(-99, 99, places=2)),
]


def _pairs(ranges: ValueRanges) -> list[tuple[Any, Any]]:
    return list(zip(ranges.lower.to_pylist(), ranges.upper.to_pylist(), strict=True))


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=lambda each: str(each))
def test_no_value_is_outside_of_all_ranges(
    kind: pa.DataType, values: st.SearchStrategy[Any]
) -> None:
    """However the rows are divided; ranges are in order, and no two meet."""

    @given(st.lists(st.lists(st.none() | values, max_size=8), min_size=1, max_size=4))
    def holds(parts: list[list[Any]]) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(value_ranges, "MOST_VALUES", 5)
            patch.setattr(value_ranges, "MOST_RANGES", 3)
            found = joined([ValueRanges.of(pa.array(part, kind)) for part in parts])
        pairs = _pairs(found)
        known = {value for part in parts for value in part if value is not None}

        assert all(any(low <= value <= high for low, high in pairs) for value in known)
        assert all(low in known and high in known for low, high in pairs)
        assert all(before[1] < after[0] for before, after in pairwise(pairs))
        assert len(pairs) <= (5 if found.are_values else 3)
        assert found.are_values or len(known) > 5
        assert found.lower.type == kind

    holds()


def test_few_values_are_told_one_by_one_and_many_by_the_widest_gaps() -> None:
    """So rows of two days are not taken for all between them."""
    few = ValueRanges.of(pa.array([7, None, 3, 7]))
    assert (few.are_values, few.lower.to_pylist()) == (True, [3, 7])

    days = [*range(2_000), *range(10**6, 10**6 + 2_000)]
    many = ValueRanges.of(pa.array(days, pa.int32()).cast(pa.date32()))
    ends = [(low.toordinal(), high.toordinal()) for low, high in _pairs(many)]
    first = dt.date(1970, 1, 1).toordinal()
    assert ends == [(first, first + 1_999), (first + 10**6, first + 10**6 + 1_999)]


def test_what_is_no_number_is_in_one_range() -> None:
    """Of many texts and decimals the least and the greatest are known."""
    texts = ValueRanges.of(pa.array([f"k{number}" for number in range(3_000)]))
    assert _pairs(texts) == [("k0", "k999")]
    prices = ValueRanges.of(pa.array([Decimal(number) / 4 for number in range(3_000)]))
    assert _pairs(prices) == [(Decimal("0.00"), Decimal("749.75"))]

"""Sets of integers as ascending arrays without repeats."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns.integers.distinct import are_among, common, distinct

_NUMBERS = st.lists(
    st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), max_size=30
).map(lambda values: np.array(values, np.int64))


@given(_NUMBERS, st.booleans())
def test_distinct_values_are_a_sorted_set(values: np.ndarray, is_sorted: bool) -> None:
    """Ascending values take another way than others."""
    given_values = np.sort(values) if is_sorted else values
    assert distinct(given_values).tolist() == sorted(set(values.tolist()))


@given(_NUMBERS, _NUMBERS)
def test_common_values_are_those_of_both_sets(some: np.ndarray, others: np.ndarray) -> None:
    """Repeats on either side do not make a value common."""
    assert common(some, others).tolist() == sorted(set(some.tolist()) & set(others.tolist()))


@given(_NUMBERS, _NUMBERS)
def test_values_are_among_others_where_one_of_them_is_equal(
    values: np.ndarray, chosen: np.ndarray
) -> None:
    """The order and the repeats of both sides do not matter."""
    wanted = set(chosen.tolist())
    assert are_among(values, chosen).tolist() == [value in wanted for value in values.tolist()]

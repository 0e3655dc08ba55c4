"""Every way of finding integers against a dict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns.integers import integer_index as module
from arctic.columns.integers.integer_index import IntArray, IntegerIndex, integer_index

INT64 = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1, 0, -1])
CLOSE = st.integers(-40, 40)


def numbers(values: list[int]) -> IntArray:
    """Return a column of integers."""
    return np.array(values, np.int64)


def check(index: IntegerIndex, values: list[int], probe: list[int]) -> None:
    """Compare all matches with a dict."""
    rows, places = index.match(numbers(probe))
    position = {value: place for place, value in enumerate(values)}
    expected = [(row, position[value]) for row, value in enumerate(probe) if value in position]
    assert list(zip(rows.tolist(), places.tolist(), strict=True)) == expected
    assert rows.dtype == places.dtype == np.int64


@given(
    values=st.lists(INT64 | CLOSE, unique=True),
    others=st.lists(INT64 | CLOSE),
    build=st.sampled_from([integer_index, module.unordered_index, module._SortedIndex]),
)
def test_a_match_is_what_a_dict_finds(
    values: list[int], others: list[int], build: Callable[[IntArray], IntegerIndex]
) -> None:
    """For values close together, far apart, at the ends of the range, or none at all."""
    check(build(numbers(values)), values, [*others, *values, *values[:3]])


@given(st.lists(INT64 | CLOSE, unique=True), st.lists(INT64 | CLOSE, unique=True), st.data())
def test_ascending_rows_find_what_any_rows_find(
    values: list[int], others: list[int], data: st.DataObject
) -> None:
    """Whether the values are looked up in the rows, or the rows among the values."""
    rows = sorted({*others, *data.draw(st.lists(st.sampled_from(values or [0])))})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW_VALUES", data.draw(st.sampled_from([0, 4])))
        check(integer_index(numbers(values)), values, rows)


@given(
    st.lists(INT64 | CLOSE, unique=True, max_size=20),
    st.lists(st.lists(INT64 | CLOSE, max_size=8), max_size=8),
    st.booleans(),
)
def test_few_rows_and_those_after_them_find_the_same(
    values: list[int], probes: list[list[int]], rises: bool
) -> None:
    """One index is searched for the first rows, and hashed once there are more than values."""
    known = sorted(values) if rises else values
    index = integer_index(numbers(known), ascending=rises)
    for probe in probes:
        check(index, known, [*probe, *known[:2]])


@given(st.lists(INT64, unique=True, min_size=1), st.lists(INT64))
def test_buckets_find_what_a_dict_finds(values: list[int], others: list[int]) -> None:
    """Also where a direct table would have been chosen."""
    check(module._BucketIndex(numbers(values)), values, [*values, *others])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (list(range(100, 1100, 10)), module._DirectIndex),
        (list(range(0, 10**12, 10**9)), module._BucketIndex),
        ([], module._SortedIndex),
    ],
)
def test_the_index_fits_the_values(values: list[int], kind: type) -> None:
    """Close values need no hash at all."""
    assert type(module.unordered_index(numbers(values))) is kind
    check(integer_index(numbers(values)), values, [-5, 0, 100, 1000, 5, 10**9, 2**62])


def test_values_that_crowd_one_bucket_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash that sends everything to one place costs a binary search, not a loop per value."""
    monkeypatch.setattr(module, "_MULTIPLIER", np.uint64(0))
    values = list(range(0, 10**6, 10**4))
    index = module.unordered_index(numbers(values))
    assert type(index) is module._SortedIndex
    check(index, values, [0, 1, 10**4, 10**7])

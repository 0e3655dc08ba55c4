"""Codes of integers by sorting, against those that a dict gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns import key_column
from arctic.columns.key_column import LEAST_SORTED_ROWS, sorted_codes

INT64 = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1, 0, -1])


@given(st.lists(INT64, min_size=1), st.booleans())
def test_codes_are_places_among_the_ascending_values(given_values: list[int], rises: bool) -> None:
    """For values in any order, also at the ends of the range; or they are left to be hashed."""
    values = np.array(sorted(given_values) if rises else given_values, np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_column, "LEAST_SORTED_ROWS", 0)
        found = sorted_codes(values)
    known = sorted(set(given_values))
    if found is None:
        assert 2 * len(known) <= len(values)
        return
    assert found[0].tolist() == known
    assert found[1].tolist() == [known.index(value) for value in values.tolist()]


def test_values_that_repeat_and_few_values_are_left_to_be_hashed() -> None:
    """A dictionary of few values is faster than a sort."""
    many = np.arange(LEAST_SORTED_ROWS)[::-1].copy()

    assert sorted_codes(many) is not None
    assert sorted_codes(many[1:]) is None
    assert sorted_codes(many % 100) is None

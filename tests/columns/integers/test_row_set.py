"""A set of row numbers against a Python set."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns.integers.row_set import RowSet

ROWS = 70
row_numbers = st.sets(st.integers(0, ROWS - 1))


@given(st.lists(row_numbers), st.integers(0, ROWS), st.integers(0, ROWS))
def test_a_slice_says_which_rows_were_added(
    added: list[set[int]], first_row: int, end: int
) -> None:
    """Whichever bytes the slice begins and ends in."""
    rows = RowSet(ROWS)
    for some in added:
        rows.add(np.array(sorted(some), np.int64))
    everything = set().union(*added)
    found = rows.slice(first_row, max(0, end - first_row))
    assert found.tolist() == [row in everything for row in range(first_row, end)]


@given(row_numbers)
def test_a_set_that_travelled_is_the_same(added: set[int]) -> None:
    """And is short where neighbours are alike."""
    rows = RowSet(ROWS)
    rows.add(np.array(sorted(added), np.int64))
    found = RowSet.unpacked(rows.packed())

    assert found.to_bytes() == rows.to_bytes()
    assert (found | rows).to_bytes() == rows.to_bytes()
    found.add(np.array([ROWS - 1]))
    assert found.slice(ROWS - 1, 1).tolist() == [True]
    assert len(RowSet(8_000_000).complement().packed()) < 10_000

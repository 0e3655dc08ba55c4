"""Sets of integers as ascending arrays without repeats.

Rules:
    - They are sorted, never hashed: from its version 2.3 on, NumPy's ``unique`` hashes, and with it
      ``union1d``, ``intersect1d`` and ``isin``. Of integers that are many and differ, that was
      measured to take more than ten times as long.

Memory: a copy of the values, and a byte for each.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arctic.columns.integers.integer_index import IntArray, integer_index


def distinct(values: IntArray) -> IntArray:
    """Return the values ascending, each once.

    >>> distinct(np.array([7, 3, 7])).tolist()
    [3, 7]
    """
    if not (values[1:] >= values[:-1]).all():
        values = np.sort(values)
    is_first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return values[is_first]


def common(some: IntArray, others: IntArray) -> IntArray:
    """Return the values that are in both arrays, ascending, each once.

    >>> common(np.array([7, 3, 7]), np.array([1, 7])).tolist()
    [7]
    """
    both = np.sort(np.concatenate([distinct(some), distinct(others)]))
    found: IntArray = both[1:][both[1:] == both[:-1]]
    return found


def are_among(values: IntArray, chosen: IntArray) -> npt.NDArray[np.bool_]:
    """Say for each value whether it is one of those that are chosen.

    >>> are_among(np.array([7, 3, 7]), np.array([1, 7])).tolist()
    [True, False, True]
    """
    found = np.zeros(len(values), np.bool_)
    found[integer_index(distinct(chosen)).match(values)[0]] = True
    return found

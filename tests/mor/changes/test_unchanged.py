"""Rows that say the same, and values that do, at any depth."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arctic.mor.changes.unchanged import equal_pairs, unchanged_keys

NESTED = pa.struct([("n", pa.int32()), ("l", pa.list_(pa.struct([("x", pa.float64())])))])


@pytest.mark.parametrize(
    ("kind", "left", "right", "expected"),
    [
        (pa.int64(), [1, None, 2, None], [1, None, 3, 0], [True, True, False, False]),
        (pa.float64(), [float("nan"), 0.0, 1.0], [float("nan"), -0.0, 1.0], [True, False, True]),
        (pa.string(), ["a", "", None], ["a", None, None], [True, False, True]),
        (pa.binary(2), [b"ab", b"ab"], [b"ab", b"ac"], [True, False]),
        (pa.decimal128(38, 1), [Decimal(1), None], [Decimal("1.1"), None], [False, True]),
        (pa.bool_(), [True, False], [True, True], [True, False]),
        (
            NESTED,
            [{"n": 1, "l": [{"x": 1.0}, None]}, None, {"n": None, "l": None}, {"n": 2, "l": []}],
            [{"n": 1, "l": [{"x": 1.0}, None]}, None, {"n": None, "l": []}, {"n": 1, "l": []}],
            [True, True, False, False],
        ),
        (
            pa.map_(pa.string(), pa.int32()),
            [[("a", 1), ("b", None)], None, [("c", 1)], [("d", 1)]],
            [[("a", 1), ("b", None)], [], [("c", 2)], [("d", 1), ("e", 1)]],
            [True, False, False, False],
        ),
    ],
    ids=str,
)
def test_values_are_equal_as_those_of_keys_are(
    kind: pa.DataType, left: list[Any], right: list[Any], expected: list[bool]
) -> None:
    """Also in slices, which keep the values of the whole."""
    mine, theirs = pa.array(left, kind), pa.array(right, kind)

    assert equal_pairs(mine, theirs).tolist() == expected
    assert equal_pairs(mine[1:], theirs[1:]).tolist() == expected[1:]


def test_a_key_with_several_rows_is_never_unchanged() -> None:
    """Rows are found by their keys, wherever they stand."""
    old = pa.table({"v": [1, 2, 3, 3]})
    new = pa.table({"v": [9, 3, 1]})

    same = unchanged_keys(old, np.array([7, 8, 9, 9]), new, np.array([8, 9, 7]))
    assert same.tolist() == [7]

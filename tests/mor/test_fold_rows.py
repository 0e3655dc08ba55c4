"""Columns that are folded: what property tests of whole tables do not reach."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arctic.errors import InvalidInputError
from arctic.mor.folding.fold_rows import fold_rows
from arctic.table.merge_engine import FoldRules, Function


def folded(kind: pa.DataType, function: Function, *runs: list[Any]) -> list[Any]:
    """Fold runs of values."""
    values = [value for run in runs for value in run]
    starts = np.cumsum([0, *map(len, runs)])[:-1]
    rows = pa.table({"v": pa.array(values, kind)})
    rules = FoldRules(functions={1: function})
    found: list[Any] = fold_rows(rows, [1], starts, rules).column("v").to_pylist()
    return found


def test_a_sum_that_does_not_fit_is_refused_and_one_that_comes_back_is_not() -> None:
    """Neither wraps around, nor what is beyond in between."""
    most = 2**63 - 1
    assert folded(pa.int64(), Function.SUM, [most, 1, -1], [-most, -1], [None, None]) == [
        most,
        -most - 1,
        None,
    ]
    for kind, values in ((pa.int64(), [most, 1]), (pa.int32(), [2**31 - 1, 1])):
        with pytest.raises(InvalidInputError, match=r"'v': the sum .* does not fit"):
            folded(kind, Function.SUM, values)


def test_a_product_that_does_not_fit_is_refused_and_a_zero_makes_any_fit() -> None:
    """At the ends of 64 bits, exactly; and of the column."""
    ends: list[list[Any]] = [
        [2**31, -(2**32)],
        [2**40, 2**40, 0],
        [3, None, -7],
        [None],
        [3037000499] * 2,
    ]
    wanted = [-(2**63), 0, -21, None, 3037000499**2]
    assert folded(pa.int64(), Function.PRODUCT, *ends) == wanted
    for kind, values in ((pa.int64(), [2**31, 2**32]), (pa.int32(), [2**16, 2**15])):
        with pytest.raises(InvalidInputError, match=r"'v': the product .* does not fit"):
            folded(kind, Function.PRODUCT, values)
    assert folded(pa.float32(), Function.PRODUCT, [0.5, None, 3.0], [None]) == [1.5, None]


@pytest.mark.parametrize("last", [1, 10**38 - 1])
def test_the_widest_decimals_do_not_wrap_around(last: int) -> None:
    """A sum of 39 digits is refused, whether 128 bits hold it or not; what comes back is right."""
    most, least = Decimal(10**38 - 1), Decimal(1 - 10**38)
    kind = pa.decimal128(38, 0)
    assert folded(kind, Function.SUM, [most, most, least], [None, None]) == [most, None]
    with pytest.raises(InvalidInputError, match=r"'v': the sum .* does not fit"):
        folded(kind, Function.SUM, [most, Decimal(last)])


def test_nan_is_the_greatest() -> None:
    """For the greatest and the least alike."""
    assert folded(pa.float64(), Function.MIN, [math.nan, 2.0], [1.0, None]) == [2.0, 1.0]
    greatest = folded(pa.float64(), Function.MAX, [math.nan, 2.0], [math.inf, None])
    assert math.isnan(greatest[0])
    assert greatest[1] == math.inf


def test_nulls_are_left_out_of_texts_and_lists() -> None:
    """A key without any value keeps null; empty ones count."""
    texts = folded(pa.string(), Function.LISTAGG, ["a", None, ""], [None, None], ["b"])
    assert texts == ["a,", None, "b"]
    lists = folded(pa.list_(pa.int8()), Function.COLLECT, [[1], None, [], [2]], [None, None])
    assert lists == [[1, 2], None]

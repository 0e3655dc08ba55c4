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
    keys = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    rows = pa.table({"v": pa.array(values, kind), "k": keys})
    rules = FoldRules(functions={1: function})
    found = fold_rows(rows, [1, 2], starts, rules, key=["k"])
    folds: list[Any] = found.column("v").to_pylist()
    return folds


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


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (Function.SUM, pa.int32()),
        (Function.SUM, pa.int64()),
        (Function.SUM, pa.decimal128(38, 0)),
        (Function.PRODUCT, pa.int32()),
        (Function.PRODUCT, pa.int64()),
    ],
    ids=str,
)
@pytest.mark.parametrize("unfit", [(0,), (4,), (6,), (2, 3)], ids=str)
def test_the_key_is_named_whose_values_do_not_fit(
    function: Function, kind: pa.DataType, unfit: tuple[int, ...]
) -> None:
    """Among others, whose values do."""
    most = 10**38 - 1 if pa.types.is_decimal(kind) else 2 ** (kind.bit_width - 1) - 1
    runs = [[most, 2] if run in unfit else [1, None, 2] for run in range(7)]

    with pytest.raises(InvalidInputError, match=rf"rows of key \{{'k': {unfit[0]}\}} does not fit"):
        folded(kind, function, *runs)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_floating_numbers_become_infinite(kind: pa.DataType) -> None:
    """Without a warning, and infinities of both signs are NaN, as IEEE 754 has it."""
    most, inf = float(np.finfo(kind.to_pandas_dtype()).max), math.inf
    assert folded(kind, Function.SUM, [most, most], [-most, -most], [1.0, 2.0]) == [inf, -inf, 3.0]
    assert folded(kind, Function.PRODUCT, [most, -most], [1.0, 2.0]) == [-inf, 2.0]
    assert all(map(math.isnan, folded(kind, Function.SUM, [inf, -inf], [math.nan, inf])))


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

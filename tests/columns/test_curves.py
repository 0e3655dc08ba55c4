"""Numbers of rows: near one another in every column, whatever the types and however they crowd."""

from __future__ import annotations

import decimal
import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns.curves import Curve
from arctic.options.sort_terms import CurveKind

_VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "int": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "double": (pa.float64(), st.floats()),
    "text": (pa.string(), st.text(max_size=4).map("https://{}".format) | st.text(max_size=12)),
    "binary": (pa.binary(), st.binary(max_size=10)),
    "date": (pa.date32(), st.dates()),
    "time": (pa.timestamp("us"), st.datetimes()),
    "decimal": (
        pa.decimal128(20, 2),
        st.decimals(-(10**15), 10**15, places=2, allow_nan=False).map(decimal.Decimal),
    ),
    "boolean": (pa.bool_(), st.booleans()),
}


def column(values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Return values in two chunks."""
    half = len(values) // 2
    return pa.chunked_array([pa.array(values[:half], kind), pa.array(values[half:], kind)], kind)


@pytest.mark.parametrize("name", _VALUES)
@given(data=st.data(), seen=st.integers(0, 20))
def test_a_number_never_falls_where_one_value_rises(
    name: str, data: st.DataObject, seen: int
) -> None:
    """Nulls last, NaN before them; also of values that the curve was not made of."""
    kind, drawn = _VALUES[name]
    values = data.draw(st.lists(st.none() | drawn, min_size=1, max_size=40))
    found = column(values, kind)
    same = column([7] * len(values), pa.int64())

    curve = Curve.of([found[:seen], same[:seen]], kind=CurveKind.ZORDER)
    numbers = curve.values([found, same]).to_numpy()

    order = pc.sort_indices(found).to_numpy()
    assert (np.diff(numbers[order]) >= 0).all()
    for one, other in itertools.pairwise(order):
        if values[one] == values[other]:
            assert numbers[one] == numbers[other]


@pytest.mark.parametrize(
    ("kind", "count", "share"),
    [
        (CurveKind.ZORDER, 2, 0.45),
        (CurveKind.ZORDER, 3, 0.65),
        (CurveKind.ZORDER, 4, 0.85),
        (CurveKind.HILBERT, 2, 0.32),
        (CurveKind.HILBERT, 3, 0.52),
        (CurveKind.HILBERT, 4, 0.67),
    ],
)
@pytest.mark.parametrize("crowded", [False, True], ids=["even", "crowded"])
def test_a_part_of_the_rows_is_narrow_in_every_column(
    kind: CurveKind, count: int, share: float, crowded: bool
) -> None:
    """A sixteenth of them, in order, spans some of each: cubes that are cut anywhere."""
    noise = np.random.default_rng(1)
    values = noise.random((count, 4_096))
    values = values**9 if crowded else values
    columns = [pa.chunked_array([pa.array(each)]) for each in values]

    order = np.argsort(Curve.of(columns, kind=kind).values(columns).to_numpy(), kind="stable")

    for each in values:
        ranks = np.argsort(np.argsort(each))[order].reshape(16, -1)
        spans = ranks.max(axis=1) - ranks.min(axis=1)
        assert spans.mean() <= share * 4_096


@pytest.mark.parametrize("count", [2, 3, 4])
def test_each_place_of_hilberts_curve_is_beside_the_one_before(count: int) -> None:
    """All places of a cube are on it once, and it never jumps."""
    side = {2: 64, 3: 16, 4: 8}[count]
    places = np.stack(np.meshgrid(*[np.arange(side)] * count)).reshape(count, -1)
    columns = [pa.chunked_array([pa.array(each)]) for each in places]
    above_the_least = [pa.chunked_array([pa.array(np.arange(1, side))])] * count

    curve = Curve.of(above_the_least, kind=CurveKind.HILBERT)
    numbers = curve.values(columns).to_numpy()

    steps = np.diff(places[:, np.argsort(numbers)], axis=1)
    assert (np.abs(steps).sum(axis=0) == 1).all()
    assert len(np.unique(numbers)) == side**count


@pytest.mark.parametrize("name", _VALUES)
@given(data=st.data(), seen=st.integers(0, 20))
def test_equal_rows_have_equal_numbers_on_hilberts_curve(
    name: str, data: st.DataObject, seen: int
) -> None:
    """Of every type, nulls as well, whatever the curve was made of."""
    kind, drawn = _VALUES[name]
    values = data.draw(st.lists(st.none() | drawn, min_size=1, max_size=20))
    found, twice = column(values, kind), column([*values, *values], kind)

    curve = Curve.of([found[:seen], found[:seen]], kind=CurveKind.HILBERT)
    numbers = curve.values([twice, twice]).to_numpy()

    assert (numbers[: len(values)] == numbers[len(values) :]).all()
    assert (numbers >= 0).all()


def test_a_column_of_few_values_is_told_apart_first() -> None:
    """Beside one of many: its bits are the high ones."""
    flag = pa.chunked_array([pa.array([True, False] * 500)])
    many = pa.chunked_array([pa.array(np.arange(1_000))])

    order = np.argsort(
        Curve.of([flag, many], kind=CurveKind.ZORDER).values([flag, many]).to_numpy(), kind="stable"
    )

    halves = flag.take(pa.array(order)).to_pylist()
    assert halves == [False] * 500 + [True] * 500
    assert math.isclose(many.take(pa.array(order))[0].as_py(), 1)

"""Rows are found again by all their values, each once."""

from __future__ import annotations

import math

import pyarrow as pa

from arctic.job.write.beside.equal_rows import EqualRows

NESTED = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.float64()))])


def _batch(rows: list[tuple[int | None, float, dict[str, object] | None]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True))
    types = (pa.int64(), pa.float64(), NESTED)
    arrays = [pa.array(each, kind) for each, kind in zip(columns, types, strict=True)]
    return pa.record_batch(arrays, names=["id", "x", "more"])


def test_each_is_found_as_often_as_it_is_wanted() -> None:
    """Null equals null and NaN itself, 0.0 is not -0.0; what is nested counts too."""
    one, other = {"a": 1, "b": [0.0]}, {"a": 1, "b": [-0.0]}
    wanted = EqualRows(
        pa.Table.from_batches(
            [_batch([(1, math.nan, one), (1, math.nan, one), (None, 0.0, None), (2, 0.0, other)])]
        ),
        ["id", "x", "more"],
    )
    assert wanted.left == 4

    first = _batch([(1, math.nan, other), (1, math.nan, one), (2, 0.0, one), (None, -0.0, None)])
    assert wanted.take(first).tolist() == [1]
    second = _batch([(1, math.nan, one), (1, math.nan, one), (None, 0.0, None), (None, 0.0, None)])
    assert wanted.take(second).tolist() == [0, 2]
    assert wanted.left == 1
    assert wanted.take(_batch([(2, 0.0, other)])).tolist() == [0]
    assert wanted.left == 0


def test_rows_may_have_nothing_but_nested_columns() -> None:
    """They are compared in Python, all of them."""
    rows = _batch([(1, 0.0, {"a": 1, "b": None}), (1, 0.0, None)]).select(["more"])
    wanted = EqualRows(pa.Table.from_batches([rows]), ["more"])

    assert wanted.take(rows.slice(1)).tolist() == [0]
    assert wanted.left == 1

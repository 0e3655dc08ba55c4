"""Rows on their way into a table that adds up all rows of a key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arctic.errors import InvalidInputError
from arctic.table.merge_engine import FoldRules, Function
from arctic.writing.rows.actions import Action
from arctic.writing.rows.fold_input import fold_input
from tests.factories.tables import field

COMES, GOES = Action.INSERT, Action.DELETE


def brought(
    function: Function, values: list[Any], actions: list[Action] | None, kind: pa.DataType
) -> list[Any]:
    """Return what a column of rows brings."""
    schema = pa.schema([field("id", pa.int64(), 1), field("v", kind, 2)])
    rows = pa.record_batch([pa.array(range(len(values))), pa.array(values, kind)], schema=schema)
    found, then = fold_input(
        rows,
        None if actions is None else np.array(actions, np.int8),
        schema=schema,
        key=("id",),
        rules=FoldRules(functions={2: function}),
        describe_row=lambda row: f"row {row}",
    )
    assert then is None or (then == Action.UPDATE_AFTER).all()
    column: list[Any] = found.column("v").to_pylist()
    return column


def test_what_is_counted_is_a_one_and_what_goes_has_the_other_sign() -> None:
    """A null is no value; of rows that all come only counts are other ones."""
    assert brought(Function.COUNT, [7, None, -1], None, pa.int64()) == [1, 0, 1]
    assert brought(Function.COUNT, [7, None, 7], [GOES, GOES, COMES], pa.int32()) == [-1, 0, 1]
    assert brought(Function.SUM, [7, None, 2.5], [GOES, GOES, COMES], pa.float64()) == [
        -7,
        None,
        2.5,
    ]
    assert brought(Function.SUM, [-(2**63), 1], [COMES, GOES], pa.int64()) == [-(2**63), -1]
    known = brought(Function.LAST_NON_NULL_VALUE, ["a", "b"], [GOES, COMES], pa.string())
    assert known == [None, "b"]
    assert brought(Function.MAX, [1, None], [COMES, GOES], pa.int64()) == [1, None]


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (Function.SUM, -(2**63)),
        (Function.MAX, 1),
        (Function.PRODUCT, 2),
        (Function.LAST_VALUE, None),
    ],
)
def test_what_cannot_be_taken_off_is_refused(function: Function, value: int | None) -> None:
    """With the row that goes."""
    with pytest.raises(InvalidInputError, match=r"'v': .*row 1 .*taken off"):
        brought(function, [5, value], [COMES, GOES], pa.int64())

"""Values of an UPDATE or MERGE, made of columns without Spark."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from arctic.job.edit.small_edit import NotHereError
from arctic.spark.catalog.set_values import setter

ROWS = pa.table(
    {
        "n": pa.array([1, None, 2**31 - 1], pa.int32()),
        "other": pa.array([10, 20, -30], pa.int32()),
        "big": pa.array([1, 2, 3], pa.int64()),
        "price": pa.array([Decimal("1.50"), None, Decimal(2)], pa.decimal128(9, 2)),
        "day": pa.array([0, 1, 2], pa.int32()).cast(pa.date32()),
        "at": pa.array([0, 1, 2], pa.int64()).cast(pa.timestamp("us", "UTC")),
        "wall": pa.array([0, 1, 2], pa.int64()).cast(pa.timestamp("us")),
        "raw": pa.array([b"a", b"b", None]),
        "text": pa.array(["a", "b", None]),
        "flag": pa.array([True, None, False]),
        "x": pa.array([1.5, None, 2.5]),
    }
)
UTC = datetime.timezone.utc
SECOND_BEFORE = datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column", "node", "values"),
    [
        ("n", {"value": 7}, [7, 7, 7]),
        ("n", {"value": None}, [None, None, None]),
        ("n", {"column": "other"}, [10, 20, -30]),
        ("n", ["-", {"column": "n"}, {"value": 1}], [0, None, 2**31 - 2]),
        ("n", ["+", {"column": "other"}, ["*", {"column": "other"}, {"value": 2}]], [30, 60, -90]),
        ("big", ["*", {"column": "big"}, {"value": 2**40}], [2**40, 2**41, 3 * 2**40]),
        ("price", {"decimal": "7.25"}, [Decimal("7.25")] * 3),
        ("day", {"value": 366}, [datetime.date(1971, 1, 2)] * 3),
        ("at", {"value": 1_000_000}, [datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)] * 3),
        ("wall", {"value": -1_000_000}, [SECOND_BEFORE.replace(tzinfo=None)] * 3),
        ("raw", {"binary": "AAE="}, [b"\x00\x01"] * 3),
        ("text", {"value": "é"}, ["é"] * 3),
        ("flag", {"value": False}, [False] * 3),
        ("x", {"value": -0.1}, [-0.1] * 3),
    ],
    ids=str,
)
def test_a_column_has_exactly_these_values(column: str, node: Any, values: list[Any]) -> None:
    """In its own type; every other column is as it was."""
    made = setter({column: node})(ROWS)

    assert made.column(column).to_pylist() == values
    assert made.schema.equals(ROWS.schema)
    assert made.drop_columns([column]).equals(ROWS.drop_columns([column]))


def test_values_are_those_of_the_rows_before() -> None:
    """Columns may change places."""
    made = setter({"n": {"column": "other"}, "other": {"column": "n"}})(ROWS)

    assert made.column("n").equals(ROWS.column("other"))
    assert made.column("other").equals(ROWS.column("n"))


def test_values_of_other_rows_are_taken_by_their_places() -> None:
    """As a MERGE sets them, alone or in a sum."""
    source = pa.table([pa.array([1, 2, 3], pa.int32()), pa.array(["x", None, "z"])], names="ab")
    of = [["source", {"value": place}] for place in range(2)]
    made = setter({"other": ["+", {"column": "other"}, of[0]], "text": of[1]})(ROWS, source)

    assert made.column("other").to_pylist() == [11, 22, -27]
    assert made.column("text").to_pylist() == ["x", None, "z"]
    with pytest.raises(NotHereError):
        setter({"big": of[0]})(ROWS, source)


@pytest.mark.parametrize(
    "sets",
    [
        {"n": ["-", {"column": "n"}, {"column": "other"}]},
        {"n": {"value": "7"}},
        {"n": {"value": 2**40}},
        {"n": {"column": "big"}},
        {"price": {"decimal": "7.256"}},
        {"gone": {"value": 1}},
    ],
    ids=str,
)
def test_what_has_no_exact_value_is_not_made_here(sets: dict[str, Any]) -> None:
    """A sum that overflows, another type, a value that does not fit, a column that is not there."""
    with pytest.raises(NotHereError):
        setter(sets)(ROWS)

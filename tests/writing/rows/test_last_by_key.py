"""The last row of each key, against a dictionary."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.writing.rows import gather
from arctic.writing.rows.last_by_key import last_by_key

_EPOCH = dt.datetime(2024, 1, 1)  # noqa: DTZ001
KINDS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int32(), [-1, 0, 5, 7]),
    (pa.int64(), [-(2**40), 0, 1, 2**40]),
    (pa.string(), ["", "a", "aa", "ü"]),
    (pa.binary(), [b"", b"\x00", b"\xff", b"a"]),
    (pa.binary(2), [b"aa", b"ab", b"\xff\x00", b"\x00\x00"]),
    (pa.bool_(), [True, False]),
    (pa.date32(), [dt.date(1969, 1, 1), dt.date(2024, 1, 1)]),
    (pa.time64("us"), [dt.time(1), dt.time(2)]),
    (pa.timestamp("us"), [_EPOCH, _EPOCH + dt.timedelta(microseconds=1)]),
    (pa.decimal128(9, 2), [Decimal("-1.00"), Decimal("0.50"), Decimal("7.25")]),
    (pa.float64(), [-0.0, 0.0, -1.5, float("nan"), float("inf")]),
    (pa.float32(), [-0.0, 0.0, 2.5, float("nan")]),
]


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, list[str], list[str]]:
    """Return rows chunked anyhow, their key, and the columns that order events."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2))
    names = [f"k{number}" for number in range(len(kinds))]
    values = st.tuples(*(st.sampled_from(some) for _, some in kinds), st.integers(0, 2))
    records = [
        dict(zip([*names, "at"], row, strict=True)) for row in draw(st.lists(values, max_size=8))
    ]
    if draw(st.booleans()):
        records.sort(key=lambda row: tuple(_rank(row[name]) for name in names))
    records = [record | {"n": number} for number, record in enumerate(records)]
    schema = pa.schema(
        [*((name, kind) for name, (kind, _) in zip(names, kinds, strict=True)), ("at", pa.int64()),
         ("n", pa.int64())]
    )  # fmt: skip
    step = draw(st.integers(1, 4))
    batches = [
        pa.RecordBatch.from_pylist(records[start : start + step], schema=schema)
        for start in range(0, len(records), step)
    ]
    return pa.Table.from_batches(batches, schema), names, draw(st.sampled_from([[], ["at"]]))


@given(tables(), st.sampled_from([0, 1 << 30]))
def test_the_last_row_of_each_key_comes_in_key_order(
    drawn: tuple[pa.Table, list[str], list[str]], widen_bytes: int
) -> None:
    """Of every type, sorted before or not, with and without an order of events, however long."""
    rows, key, events = drawn

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather, "_WIDEN_BYTES", widen_bytes)
        numbers = last_by_key(rows, key, events=events)

    records = rows.to_pylist()
    expected: dict[tuple[Any, ...], int] = {}
    for record in sorted(records, key=lambda record: record["at"] if events else 0):
        expected[tuple(_identity(record[name]) for name in key)] = record["n"]
    chosen = list(range(len(records))) if numbers is None else numbers.tolist()
    assert sorted(chosen) == sorted(expected.values())
    ranks = [tuple(_rank(records[number][name]) for name in key) for number in chosen]
    assert ranks == sorted(ranks)


def _identity(value: Any) -> Any:
    """Return what equal keys share: NaN equals NaN, -0.0 differs from 0.0."""
    if not isinstance(value, float):
        return value
    return "nan" if value != value else struct.pack("d", value)


def _rank(value: Any) -> tuple[bool, Any]:
    if isinstance(value, str):
        return False, value.encode()
    return value != value, 0 if value != value else value

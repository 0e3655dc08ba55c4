"""Codes of keys: the same iff Iceberg calls the keys equal."""

from __future__ import annotations

import math
import struct
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns import key_column
from arctic.columns.key_codes import KeyIndex, factorise
from arctic.errors import InternalError

NAN = math.nan
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]

VALUES: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [True, False],
    pa.int32(): [0, -1, 2**31 - 1, -(2**31)],
    pa.int64(): [0, -1, 2**63 - 1, -(2**63), 10**12],
    pa.float32(): [0.0, -0.0, NAN, OTHER_NAN, 1.5, math.inf, -math.inf],
    pa.float64(): [0.0, -0.0, NAN, OTHER_NAN, 0.1, math.inf, 5e-324],
    pa.decimal128(9, 2): [Decimal("0.00"), Decimal("-0.01"), Decimal("9999999.99")],
    pa.decimal128(18, 0): [Decimal(10**18 - 1), Decimal(1 - 10**18), Decimal(0)],
    pa.decimal128(38, 3): [Decimal("0.000"), Decimal("-1.000"), Decimal(2**64) / 1000],
    pa.date32(): [date(1970, 1, 1), date(1, 1, 1), date(2026, 2, 28)],
    pa.time64("us"): [time(0), time(23, 59, 59, 999999)],
    pa.timestamp("us"): [datetime(1970, 1, 1), datetime(1900, 1, 1, 0, 0, 0, 1)],  # noqa: DTZ001
    pa.timestamp("us", "UTC"): [
        datetime(1970, 1, 1, tzinfo=timezone.utc),
        datetime(2026, 1, 1, 12, tzinfo=timezone.utc),
    ],
    pa.string(): ["", "a", "ä", "a\0", "0123456789abcdef0", "0123456789abcdef1"],
    pa.binary(): [b"", b"\0", b"\0\0", b"\xff" * 9],
    pa.binary(3): [b"abc", b"abd", b"\0\0\0"],
    pa.binary(16): [bytes(16), bytes(15) + b"\1"],
}


def identity(value: Any) -> Any:
    """Return something that Python calls equal exactly when the key is the same."""
    if isinstance(value, float):
        return ("float", "NaN" if math.isnan(value) else struct.pack("<d", value))
    return value


def keys_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Draw values of a key column that often repeat."""
    return st.sampled_from([None, *VALUES[kind]])


@st.composite
def key_columns(draw: st.DrawFn) -> tuple[list[pa.DataType], list[tuple[Any, ...]], int]:
    """Draw types of one to five columns, rows, and how many of the rows are in the index."""
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=5))
    rows = draw(st.lists(st.tuples(*(keys_of(kind) for kind in kinds)), max_size=30))
    return kinds, rows, draw(st.integers(0, len(rows)))


def table(kinds: list[pa.DataType], rows: list[tuple[Any, ...]], chunk: int = 7) -> pa.Table:
    """Return rows as chunked columns."""
    columns = []
    for at, kind in enumerate(kinds):
        values = pa.array([row[at] for row in rows], kind)
        pieces = [values.slice(start, chunk) for start in range(0, len(values), chunk)]
        columns.append(pa.chunked_array(pieces, kind))
    return pa.table(columns, names=[str(at) for at in range(len(kinds))])


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_every_value_of_a_type_is_told_from_the_others(kind: pa.DataType) -> None:
    """Each is found where it is known, and nowhere else."""
    values = [None, *VALUES[kind]]
    codes, count = factorise(table([kind], [(value,) for value in values]))
    keys = [identity(value) for value in values]
    assert count == len(set(keys)) == len(set(zip(codes.tolist(), keys, strict=True)))
    for known in values:
        found = KeyIndex(table([kind], [(known,)])).lookup([pa.array(values, kind)])
        assert found.tolist() == [0 if key == identity(known) else -1 for key in keys]


@given(key_columns(), st.sampled_from([0, key_column.LEAST_SORTED_ROWS]))
def test_codes_are_equal_iff_the_keys_are(
    drawn: tuple[list[pa.DataType], list[tuple[Any, ...]], int], sorted_from: int
) -> None:
    """For every type, alone and together with others, sorted or hashed; codes leave no gap."""
    kinds, rows, _ = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_column, "LEAST_SORTED_ROWS", sorted_from)
        codes, count = factorise(table(kinds, rows))
    keys = [tuple(map(identity, row)) for row in rows]
    assert len(set(zip(codes.tolist(), keys, strict=True))) == len(set(keys)) == count
    assert sorted(set(codes.tolist())) == list(range(count))


@given(key_columns(), st.booleans(), st.sampled_from([0, key_column.LEAST_SORTED_ROWS]))
def test_a_lookup_finds_the_code_of_an_equal_key(
    drawn: tuple[list[pa.DataType], list[tuple[Any, ...]], int],
    hash_is_weak: bool,
    sorted_from: int,
) -> None:
    """And no other; also when every string has the same hash, and when integers are sorted."""
    kinds, rows, known = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_column, "LEAST_SORTED_ROWS", sorted_from)
        if hash_is_weak:
            patch.setattr(key_column, "sieve_hashes", lambda array: np.zeros(len(array), np.uint64))
        index = KeyIndex(table(kinds, rows[:known]))
        probe = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
        found = index.lookup(probe).tolist()
        sliced = index.lookup([column[1:] for column in probe]).tolist()
    codes = {
        tuple(map(identity, row)): code
        for row, code in zip(rows[:known], index.take_codes().tolist(), strict=True)
    }
    assert found == [codes.get(tuple(map(identity, row)), -1) for row in rows]
    assert sliced == found[1:]
    assert index.count == len(codes)


def test_one_of_two_strings_that_share_a_hash_is_not_taken_for_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hash names a candidate; the bytes decide."""
    monkeypatch.setattr(key_column, "sieve_hashes", lambda array: np.zeros(len(array), np.uint64))
    index = KeyIndex(pa.table({"key": ["known"]}))
    assert index.lookup([pa.array(["other", "known"])]).tolist() == [-1, 0]


def test_a_column_of_another_type_is_refused() -> None:
    """Equal bits of two types are not equal keys."""
    index = KeyIndex(pa.table({"key": pa.array([1], pa.int64())}))
    with pytest.raises(InternalError, match="type int32 is looked up in int64"):
        index.lookup([pa.array([1], pa.int32())])


@pytest.mark.parametrize(
    "keys", [pa.table({}), pa.table({"key": pa.array([[1]])}), pa.table({"key": [{"a": 1}]})]
)
def test_what_cannot_be_a_key_is_refused(keys: pa.Table) -> None:
    """No column at all, and nested ones."""
    with pytest.raises(InternalError, match="key"):
        factorise(keys)

"""Small batches are joined, large ones are handed on."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.mor.batch import BATCH_BYTES, coalesce, joined


def batch(numbers: list[int]) -> pa.RecordBatch:
    """Return a batch of one column."""
    return pa.record_batch({"number": pa.array(numbers, pa.int64())})


@given(st.lists(st.lists(st.integers(0, 9), max_size=10)), st.booleans())
def test_the_rows_stay_the_same(parts: list[list[int]], wide: bool) -> None:
    """In their order, in batches that are neither empty nor too large."""
    source = [batch(part) for part in parts]
    if wide:
        source = [one.select([]) for one in source]
    found = list(coalesce(source, max_rows=10))
    assert all(1 <= one.num_rows <= 10 for one in found)
    assert sum(one.num_rows for one in found) == sum(map(len, parts))
    if not wide:
        numbers = [number for one in found for number in one.column(0).to_pylist()]
        assert numbers == [number for part in parts for number in part]


def test_a_large_batch_is_not_copied() -> None:
    """Half the rows of a full batch are enough, or half its bytes."""
    large = batch([1, 2, 3])
    assert next(iter(coalesce([large], max_rows=6))) is large
    wide = pa.record_batch({"text": ["x" * (BATCH_BYTES // 2)]})
    assert [one is wide for one in coalesce([wide, wide], max_rows=6)] == [True, True]


def test_wide_rows_are_not_joined_without_end() -> None:
    """Texts behind 32-bit offsets must stay below 2 GiB."""
    text = "x" * (BATCH_BYTES // 3 + 1)
    one = pa.record_batch({"text": [text]})
    assert [part.num_rows for part in coalesce([one] * 4, max_rows=100)] == [2, 2]


_LISTS = pa.list_(pa.struct([("a", pa.string())]))
_KINDS: dict[str, Callable[[list[str]], pa.Array]] = {
    "numbers": lambda texts: pa.array([int(text) for text in texts], pa.int64()),
    "texts": lambda texts: pa.array(texts, pa.string()),
    "lists": lambda texts: pa.array([[{"a": text}, None] for text in texts], _LISTS),
    "dictionaries": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
}


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("lengths", [[3], [0, 0], [2, 0, 3], [1] * 40])
def test_batches_are_joined_in_their_order(kind: str, lengths: list[int]) -> None:
    """Of any type, slices and empty ones too, also where no column is read."""
    numbers = iter(range(1_000))
    parts = [[str(next(numbers)) for _ in range(length)] for length in lengths]
    batches = [pa.record_batch({"c": _KINDS[kind](["0", *part])}).slice(1) for part in parts]

    found = joined(batches)

    expected = [value for part in parts for value in _KINDS[kind](part).to_pylist()]
    assert found.column("c").to_pylist() == expected
    assert found.schema == batches[0].schema
    assert joined([one.select([]) for one in batches]).num_rows == sum(lengths)

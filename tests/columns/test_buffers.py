from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arctic
from arctic.columns.buffers import fixed_values, value_bytes, value_offsets

TEXTS = ["", "a", "bcd", "e\u0301", "", "fgh"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_offsets_count_the_bytes_of_a_slice(kind: pa.DataType) -> None:
    """Wherever the slice begins, also where no value of it has a byte."""
    array = pa.array(TEXTS, pa.string()).cast(kind)
    for start in range(len(TEXTS)):
        for stop in range(start + 1, len(TEXTS) + 1):
            part = array.slice(start, stop - start)
            offsets, data = value_offsets(part), value_bytes(part)
            found = [bytes(data[first:end]) for first, end in itertools.pairwise(offsets)]
            assert [text.encode() for text in TEXTS[start:stop]] == found


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary(), pa.binary(2)])
def test_of_no_values_none_begins(kind: pa.DataType) -> None:
    """Whether Arrow gives the array buffers or none."""
    for empty in (pa.array([], kind), pa.nulls(0, kind), pa.array([b"ab"]).cast(kind).slice(1)):
        offsets = value_offsets(empty)
        assert (len(offsets), bytes(value_bytes(empty)[offsets[0] : offsets[-1]])) == (1, b"")


def test_values_of_one_size_are_counted_too() -> None:
    """They have no offsets of their own."""
    part = pa.array([b"ab", b"cd", b"ef"], pa.binary(2)).slice(1)

    assert value_offsets(part).tolist() == [2, 4, 6]
    assert bytes(value_bytes(part)) == b"abcdef"


def test_numbers_of_a_slice_are_seen_as_words() -> None:
    """One number of each row, or several."""
    part = pa.array([1, 2, 2**40], pa.int64()).slice(1)

    assert fixed_values(part, np.int64).tolist() == [2, 2**40]
    assert fixed_values(part, np.uint32, 2).tolist() == [[2, 0], [0, 256]]


def test_nobody_else_takes_an_array_apart() -> None:
    """Offsets of slices and missing buffers are minded in one place."""
    package = Path(arctic.__file__).parent
    found = {path for path in package.rglob("*.py") if ".buffers()" in path.read_text("utf-8")}

    assert found == {package / "columns" / "buffers.py"}

"""Texts that need no closer look."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.writing.conform.conform import is_plain_text


@given(
    data=st.binary(max_size=12) | st.text(max_size=6).map(str.encode) | st.just(b"abcdef"),
    offsets=st.lists(st.integers(-2, 14), min_size=1, max_size=6),
    rising=st.booleans(),
    start=st.integers(0, 5),
)
def test_what_is_plain_passes_the_full_validation(
    data: bytes, offsets: list[int], rising: bool, start: int
) -> None:
    """Whatever bytes and offsets an engine sends, and whatever slice of them."""
    offsets = sorted(offsets) if rising else offsets
    buffers = (pa.py_buffer(np.array(offsets, np.int32).tobytes()), pa.py_buffer(data))

    try:
        array = pa.StringArray.from_buffers(len(offsets) - 1, *buffers).slice(start)
        is_plain = is_plain_text(array)
    except pa.ArrowInvalid:
        is_plain = False

    if is_plain:
        array.validate(full=True)
        assert all(text.isascii() for text in array.to_pylist())


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array(["a", None, "b"]), True),
        (pa.array(["a", "b", "ü"]).slice(0, 2), True),
        (pa.array(["a", "ü"]), False),
        (pa.array(["", ""]), True),
        (pa.array([1, 2]), False),
        (pa.array([], pa.string()), False),
        (pa.nulls(3, pa.string()), True),
    ],
    ids=str,
)
def test_only_ascii_is_plain(array: pa.Array, expected: bool) -> None:
    """Everything else is looked at in full."""
    assert is_plain_text(array) == expected

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import InvalidInputError
from arctic.tree import ragged_hash
from arctic.tree.hash_arrays import hash_arrays
from arctic.tree.key_hash import hash_key
from tests.tree.keys import (
    SIMPLE,
    KeyColumn,
    composite_keys,
    decimal_of,
    internal_array,
    key_columns,
)
from tests.tree.vectors import HashVector, hashable_vectors

VECTORS = hashable_vectors()


def expected(columns: Sequence[KeyColumn]) -> list[int]:
    """Return the hash of each row by the plain rule."""
    types = [column.type for column in columns]
    return [hash_key(row, types) for row in zip(*(c.values for c in columns), strict=True)]


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make running sums so short that a few rows need several of them."""
    monkeypatch.setattr(ragged_hash, "BLOCK_UNITS", 16)
    ragged_hash._block_powers.cache_clear()
    yield
    ragged_hash._block_powers.cache_clear()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
def test_arrays_hash_as_in_java(vector: HashVector) -> None:
    """One row of each vector."""
    arrays = [
        internal_array([value], _arrow_type(type_text))
        for value, type_text in zip(vector.values, vector.types, strict=True)
    ]

    assert [vector.key_hash] == hash_arrays(arrays, vector.types).tolist()


def _arrow_type(type_text: str) -> Any:
    name, _, parameters = type_text.rstrip(")]").replace("[", "(").partition("(")
    if name == "decimal":
        return pa.decimal128(*map(int, parameters.split(",")))
    return pa.binary(int(parameters)) if name == "fixed" else SIMPLE[name][0]


@given(composite_keys())
def test_whole_columns_hash_as_row_by_row(columns: list[KeyColumn]) -> None:
    """The fast path is the plain rule, for keys of any columns with any values."""
    hashes = hash_arrays([c.array() for c in columns], [c.type for c in columns])

    assert expected(columns) == hashes.tolist()
    assert np.dtype(np.int64) == hashes.dtype


@given(st.data())
def test_slices_and_chunks_hash_as_the_rows_in_them(data: st.DataObject) -> None:
    """Offsets into buffers, chunks, and chunks without rows change nothing."""
    column = data.draw(key_columns(rows=10))
    start = data.draw(st.integers(0, 10))
    stop = data.draw(st.integers(start, 10))
    middle = data.draw(st.integers(start, stop))
    whole = column.array()
    chunks = [whole[start:middle], whole[:0], whole[middle:stop]]

    rows = expected([column])[start:stop]

    assert rows == hash_arrays([whole[start:stop]], [column.type]).tolist()
    assert rows == hash_arrays([pa.chunked_array(chunks)], [column.type]).tolist()


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("type_text", ["string", "binary", "fixed[5]"])
def test_blocks_of_a_running_sum_do_not_show(type_text: str) -> None:
    """Values before, on, across and beyond the end of a block."""
    size = 5 if type_text == "fixed[5]" else None
    values: list[Any] = [
        bytes(range(33, 33 + (size or length))) for length in (0, 15, 1, 16, 17, 40, 0, 3, 3, 64)
    ]
    if type_text == "string":
        values = [value.decode() for value in values] + ["é" * 20, "a", "😀" * 9, ""]
    column = KeyColumn(type=type_text, arrow_type=SIMPLE[type_text][0], values=values)

    assert expected([column]) == hash_arrays([column.array()], [type_text]).tolist()


def test_a_value_longer_than_any_block_hashes_too() -> None:
    """It becomes a block of its own."""
    long = "ab" * ragged_hash.BLOCK_UNITS
    column = KeyColumn(type="string", arrow_type=pa.string(), values=["x", long, "é" + long, "y"])

    assert expected([column]) == hash_arrays([column.array()], ["string"]).tolist()


@pytest.mark.parametrize(
    ("array", "type_text", "same"),
    [
        (pa.array([1, -1, None], pa.int8()), "int", pa.array([1, -1, None], pa.int32())),
        (pa.array([1, -1, None], pa.int32()), "long", pa.array([1, -1, None], pa.int64())),
        (pa.array(["é", "a", "é"]).dictionary_encode(), "string", pa.array(["é", "a", "é"])),
        (pa.array(["é", None], pa.large_string()), "string", pa.array(["é", None])),
        (pa.array(["é", None], pa.string_view()), "string", pa.array(["é", None])),
        (pa.array([b"\xff", None], pa.large_binary()), "binary", pa.array([b"\xff", None])),
        (pa.array([b"\xff", None], pa.binary_view()), "binary", pa.array([b"\xff", None])),
        (pa.array([b"abcd", None]), "fixed[4]", pa.array([b"abcd", None], pa.binary(4))),
        (pa.array([1.5], pa.float32()), "double", pa.array([1.5], pa.float64())),
        (
            pa.array([1_000, -2_000], pa.timestamp("ns", tz="Europe/Paris")),
            "timestamptz",
            pa.array([1, -2], pa.timestamp("us", tz="UTC")),
        ),
        (pa.array([5, None], pa.time32("ms")), "time", pa.array([5000, None], pa.time64("us"))),
        (pa.array([86_400_000], pa.date64()), "date", pa.array([1], pa.date32())),
        (pa.array([None, None], pa.null()), "string", pa.array([None, None], pa.string())),
        (
            pa.array([1, -2, None]).cast(pa.decimal128(20, 0)),
            "decimal(22, 2)",
            pa.array([1, -2, None]).cast(pa.decimal128(22, 2)),
        ),
        (
            pa.array([1, -2, None]).cast(pa.decimal256(60, 2)),
            "decimal(22, 2)",
            pa.array([1, -2, None]).cast(pa.decimal128(22, 2)),
        ),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else str(value),
)
def test_another_arrow_type_hashes_as_the_iceberg_type(
    array: Any, type_text: str, same: Any
) -> None:
    """How a column is laid out in memory must not decide where its rows go."""
    assert hash_arrays([same], [type_text]).tolist() == hash_arrays([array], [type_text]).tolist()


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("unscaled", [0, 1, -1, 12345, -999_999_999])
def test_narrow_decimals_hash_as_wide_ones(bits: int, unscaled: int) -> None:
    """Arrow's 32 and 64 bit decimals hold the same numbers."""
    integer, make = {32: (pa.int32(), pa.decimal32), 64: (pa.int64(), pa.decimal64)}[bits]
    wide = pa.array([unscaled, None, 7]).cast(pa.decimal128(19, 0))
    buffers = pa.array([unscaled, None, 7], integer).buffers()
    narrow = pa.Array.from_buffers(make(9, 0), 3, buffers)

    hashes = hash_arrays([wide], ["decimal(9, 0)"]).tolist()

    assert hashes == hash_arrays([narrow], ["decimal(9, 0)"]).tolist()


@pytest.mark.parametrize(
    ("array", "type_text"),
    [
        (pa.array(["5"]), "int"),
        (pa.array([5]), "string"),
        (pa.array([2**40]), "int"),
        (pa.array([1], pa.timestamp("ns")), "timestamp"),
        (pa.array([{"a": 1}]), "string"),
    ],
)
def test_values_of_another_type_are_refused(array: Any, type_text: str) -> None:
    """A key is never converted to something else on the way to its hash."""
    with pytest.raises(InvalidInputError, match=f"'{type_text}' cannot be hashed from Arrow"):
        hash_arrays([array], [type_text])


def test_decimals_hash_alike_where_a_word_overflows() -> None:
    """Around each 32-bit word of the magnitude, where the two's complement carries."""
    edges = [
        sign * 2**bits + near
        for bits in (31, 32, 63, 64, 96, 126)
        for sign in (1, -1)
        for near in (-1, 0, 1)
    ]
    values = [decimal_of(unscaled, 3) for unscaled in (*edges, -(3 * 2**64), -(10**38 - 1))]
    arrow_type = pa.decimal128(38, 3)
    column = KeyColumn(type="decimal(38, 3)", arrow_type=arrow_type, values=values)

    assert expected([column]) == hash_arrays([column.array()], [column.type]).tolist()


def test_bytes_under_a_null_are_not_read_as_text() -> None:
    """Arrow lets anything stand under a null."""
    offsets = pa.py_buffer(np.array([0, 1, 3, 4], np.int32).tobytes())
    array = pa.StringArray.from_buffers(
        3, offsets, pa.py_buffer(b"a\xff\xffb"), pa.py_buffer(b"\5")
    )

    plain = hash_arrays([pa.array(["a", None, "b"])], ["string"])

    assert plain.tolist() == hash_arrays([array], ["string"]).tolist()


def test_a_string_that_is_not_utf8_is_refused() -> None:
    """No other engine could hash it alike."""
    offsets = pa.py_buffer(np.array([0, 1], np.int32).tobytes())
    array = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"\xff"))

    with pytest.raises(InvalidInputError, match="not UTF-8"):
        hash_arrays([array], ["string"])


def test_columns_of_different_length_are_refused() -> None:
    """Rows would be paired with the wrong ones."""
    with pytest.raises(InvalidInputError, match=r"\[2, 1\] rows"):
        hash_arrays([pa.array([1, 2]), pa.array([1])], ["long", "long"])


def test_a_key_without_columns_is_refused() -> None:
    """There would be no number of rows."""
    with pytest.raises(InvalidInputError, match="at least one key column"):
        hash_arrays([], [])


def test_a_table_without_rows_hashes_to_nothing() -> None:
    """Empty arrays and chunked arrays without a chunk."""
    assert hash_arrays([pa.array([], pa.string())], ["string"]).tolist() == []
    assert hash_arrays([pa.chunked_array([], pa.int32())], ["int"]).tolist() == []

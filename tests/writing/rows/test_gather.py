"""Rows that are held, and rows that are taken."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.writing.rows import gather
from arctic.writing.rows.gather import Picked, RowBuffer, take_rows
from arctic.writing.target import WriteOptions
from tests.writing.local_table import OPTIONS

BATCH = pa.record_batch({"id": ["a", "b", "c"], "note": ["x", None, "z"], "raw": [b"", b"1", None]})


def buffer_of(options: WriteOptions, *, joins: bool = True) -> RowBuffer:
    """Return a buffer of chunks."""
    return RowBuffer(options, everything=False, joins=joins, exact_columns=())


@pytest.mark.parametrize(
    ("rows", "joins", "expected"), [(2_000, False, 2), (2_000, True, 1), (3, False, 1)]
)
def test_batches_are_joined_where_that_pays(rows: int, joins: bool, expected: int) -> None:
    """Short ones always: an array costs memory beside its values."""
    buffer = buffer_of(OPTIONS, joins=joins)
    for _ in range(2):
        buffer.add(pa.record_batch({"n": np.arange(rows)}), None)

    drained = buffer.drain().rows

    assert drained["n"].num_chunks == expected
    assert drained["n"].to_pylist() == [*range(rows), *range(rows)]


def test_a_chunk_is_full_by_rows_or_by_bytes() -> None:
    """Wide rows make short chunks."""
    by_rows = RowBuffer(
        replace(OPTIONS, chunk_rows=6), everything=False, joins=True, exact_columns=()
    )
    by_bytes = RowBuffer(
        replace(OPTIONS, buffer_bytes=8 * BATCH.nbytes),
        everything=False,
        joins=True,
        exact_columns=(),
    )

    for buffer in (by_rows, by_bytes):
        full = []
        for actions in ([1, 2, 3], [4, 5, 6]):
            buffer.add(BATCH, np.array(actions))
            full.append(buffer.is_full)
        assert full == [False, True]
        drained = buffer.drain()
        assert drained.rows.num_rows == 6
        assert {column.num_chunks for column in drained.rows.columns} == {1}
        assert drained.actions is not None
        assert drained.actions.tolist() == [1, 2, 3, 4, 5, 6]
        assert (buffer.row_count, buffer.is_full) == (0, False)


def test_a_long_batch_comes_in_pieces() -> None:
    """None longer than a chunk; an empty batch in none."""
    buffer = RowBuffer(
        replace(OPTIONS, chunk_rows=2), everything=False, joins=True, exact_columns=()
    )

    assert [piece.num_rows for piece in buffer.pieces(BATCH)] == [2, 1]
    assert list(buffer.pieces(BATCH.slice(0, 0))) == []


def test_a_large_gather_gets_wide_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only columns that nothing but the file looks at; values stay."""
    monkeypatch.setattr(gather, "_WIDEN_BYTES", 0)
    buffer = RowBuffer(
        replace(OPTIONS, chunk_rows=1), everything=True, joins=True, exact_columns={"id"}
    )
    buffer.add(BATCH, None)
    buffer.add(BATCH, None)
    assert not buffer.is_full

    drained = buffer.drain()

    assert drained.rows.schema.types == [pa.string(), pa.large_string(), pa.large_binary()]
    assert drained.rows.to_pylist() == BATCH.to_pylist() * 2
    assert drained.actions is None


def test_rows_are_taken_by_number() -> None:
    """All rows in order are the table itself: nothing is copied."""
    rows = pa.table({"a": [5, 6, 7]})

    assert take_rows(rows, np.array([0, 1, 2])) is rows
    assert take_rows(rows, np.array([0, 2, 1]))["a"].to_pylist() == [5, 7, 6]
    assert take_rows(rows, np.array([], dtype=np.int64)).num_rows == 0


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=5),
    random=st.randoms(use_true_random=False),
    rising=st.booleans(),
)
def test_rows_are_taken_alike_from_any_chunks(
    lengths: list[int], random: Random, rising: bool
) -> None:
    """Rising numbers chunk by chunk, others as Arrow takes them."""
    count = sum(lengths)
    whole = pa.table({"n": np.arange(count), "t": pa.array(map(str, range(count)), pa.string())})
    starts = [sum(lengths[:number]) for number in range(len(lengths))]
    chunked = pa.concat_tables(
        whole.slice(start, length) for start, length in zip(starts, lengths, strict=True)
    )
    chosen = random.choices(range(count), k=random.randint(0, 6)) if count else []
    numbers = np.array(sorted(set(chosen)) if rising else chosen, dtype=np.int64)

    taken = take_rows(chunked, numbers)

    assert taken.to_pylist() == [whole.slice(n, 1).to_pylist()[0] for n in numbers.tolist()]
    assert taken.schema == whole.schema


def test_picked_rows_are_those_of_their_slices() -> None:
    """Weighed by their share of the table."""
    rows = pa.table({"n": np.arange(100)})

    some = Picked.by_number(rows, np.array([7, 3, 90, 4]))
    every = Picked(source=rows, numbers=None, nbytes=rows.nbytes)

    assert some.table()["n"].to_pylist() == [7, 3, 90, 4]
    assert (some.num_rows, some.nbytes) == (4, 32)
    assert some.slice(1, 2).table()["n"].to_pylist() == [3, 90]
    assert (some.slice(3, 5).num_rows, some.slice(3, 5).nbytes) == (1, 8)
    assert every.slice(98, 5).table()["n"].to_pylist() == [98, 99]
    assert every.slice(98, 5).nbytes == 16

"""Keys that are kept: the same batches, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.mor.files import kept_keys
from arctic.mor.files.kept_keys import KeptKeys, Numbered, place_of

WHOLE = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.lists(WHOLE | st.integers(0, 2**33) | st.integers(0, 300) | st.none(), max_size=40)


class File:
    """Batches, and how often they were read."""

    def __init__(self, *batches: pa.RecordBatch) -> None:
        self.batches = batches
        self.reads = 0

    def read(self) -> Iterator[Numbered]:
        """Yield the batches, one row of another column apart."""
        self.reads += 1
        first_row = 0
        for batch in self.batches:
            yield first_row, batch
            first_row += len(batch) + 1


def rows(numbers: Sequence[int | None]) -> pa.RecordBatch:
    """Return columns of each type that is kept in its own way, and of others."""
    whole = pa.array(numbers, pa.int64())
    return pa.record_batch(
        {
            "whole": whole,
            "time": whole.view(pa.timestamp("us", tz="UTC")),
            "small": pa.array([None if n is None else n % 100 for n in numbers], pa.int32()),
            "text": pa.array([None if n is None else str(n) for n in numbers], pa.string()),
        }
    )


@given(NUMBERS, NUMBERS)
def test_every_look_finds_the_same_batches(
    some: list[int | None], others: list[int | None]
) -> None:
    """Whatever the values: they rise or not, are far apart, are missing."""
    rising = rows(sorted(number for number in some if number is not None))
    file, keys = File(rising, rows(some), rows(others), rising.select([])), KeptKeys()
    expected = list(file.read())
    file.reads = 0
    for _ in range(4):
        found = list(keys.of("a", file.read))
        assert [first_row for first_row, _ in found] == [first_row for first_row, _ in expected]
        for (_, batch), (_, right) in zip(found, expected, strict=True):
            batch.validate(full=True)
            assert batch.equals(right, check_metadata=True)
            assert batch.num_rows == right.num_rows
    assert file.reads == 1


def test_who_comes_once_keeps_nothing() -> None:
    """Nor does who stops early."""
    file, keys = File(rows([1, 2]), rows([3])), KeptKeys()
    for _ in range(3):
        list(keys.of(None, file.read))
        next(keys.of("a", file.read))
    assert (file.reads, keys.nbytes) == (6, 0)
    for _ in range(3):
        list(keys.of("a", file.read))
    assert file.reads == 7
    keys.forget()
    assert keys.nbytes == 0


def test_keys_that_lie_close_together_take_half() -> None:
    """In whatever order."""
    ids = np.random.default_rng(1).permutation(np.arange(2**40, 2**40 + 400_000, 4))
    keys = KeptKeys()
    list(keys.of("a", File(pa.record_batch({"id": ids})).read))
    assert keys.nbytes < 4.1 * len(ids)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large is read each time; of others those that were used last stay."""
    monkeypatch.setattr(kept_keys, "MOST_BYTES", 40_000)
    monkeypatch.setattr(kept_keys, "FILE_BYTES", 10_000)
    random = np.random.default_rng(1)
    files = [File(pa.record_batch({"id": random.permutation(900) << 40})) for _ in range(9)]
    large = File(*[pa.record_batch({"id": random.permutation(700) << 40}) for _ in range(2)])
    keys = KeptKeys()
    for _ in range(3):
        list(keys.of("large", large.read))
    assert large.reads == 3
    for number, file in enumerate(files):
        for _ in range(3):
            list(keys.of(number, file.read))
            assert keys.nbytes <= 40_000
    assert [file.reads for file in files] == [1] * 9
    list(keys.of(8, files[8].read))
    list(keys.of(0, files[0].read))
    assert (files[8].reads, files[0].reads) == (1, 2)


def test_places_without_a_row_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of files in which no row group can hold a deleted key."""
    monkeypatch.setattr(kept_keys, "MOST_BYTES", 10_000)
    keys, first = KeptKeys(), File()
    for number in range(50):
        list(keys.of(number, first.read if number == 0 else File().read))
        assert 0 < keys.nbytes <= 10_000
    list(keys.of(0, first.read))
    assert first.reads == 2


def test_only_names_that_nobody_else_gives_have_a_place() -> None:
    """Others may come back with other rows."""
    names = ("t/4-B-0-00001-0-2889679053109490213-00001.parquet", "t/part-0.parquet")
    assert [place_of(name, ("id",), (0,)) is not None for name in names] == [True, False]

"""A file put together from blocks is the file, and nothing is fetched that is here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.errors import StorageError
from arctic.iceberg.storage.cache.block import BLOCK_BYTES, Block
from arctic.iceberg.storage.cache.cache_counts import CacheCounts
from arctic.iceberg.storage.cache.cached_file import WHOLE_BYTES, CachedFile, FileParts
from arctic.iceberg.storage.cache.memory_blocks import MemoryBlocks
from arctic.iceberg.storage.far_threads import AT_A_TIME, far_threads
from arctic.last_used import LastUsed

KEY = b"k" * 20
LARGE = bytes(range(256)) * (20 * BLOCK_BYTES // 256) + b"the end"


@dataclass
class Place:
    """Where a file lies: it can be opened, or is gone."""

    content: bytes
    most_bytes: int = 2**30
    counts: CacheCounts = field(default_factory=CacheCounts)
    blocks: MemoryBlocks = field(init=False)
    opens: int = 0

    def __post_init__(self) -> None:
        """Keep blocks of its own."""
        self.blocks = MemoryBlocks(self.most_bytes, LastUsed())

    def plain(self, path: str) -> Any:
        """Open the file where it lies."""
        self.opens += 1
        if not self.content:
            raise StorageError(f"file {path!r} does not exist") from FileNotFoundError(path)
        return pa.BufferReader(self.content)

    def open(self) -> CachedFile:
        """Open it by what is here of it."""
        return CachedFile(FileParts("p", KEY, self.blocks, self.plain, self.counts))


@settings(max_examples=60, deadline=None)
@given(
    size=st.one_of(
        st.integers(1, 2_000),
        st.integers(WHOLE_BYTES - 2, WHOLE_BYTES + 2),
        st.just(len(LARGE)),
    ),
    most_bytes=st.sampled_from([0, 3 * BLOCK_BYTES, 2**30]),
    data=st.data(),
)
def test_every_part_is_that_of_the_file(size: int, most_bytes: int, data: st.DataObject) -> None:
    """Wherever it is read, in whatever order, told before or not, kept or not."""
    place = Place(LARGE[:size], most_bytes)
    for _ in range(2):
        with place.open() as file:
            assert file.size() == size
            for _ in range(data.draw(st.integers(0, 4))):
                start = data.draw(st.integers(0, size))
                length = data.draw(st.integers(0, size))
                if data.draw(st.booleans()):
                    file.fetch([(start, length)])
                assert file.read_at(length, start) == place.content[start : start + length]
            file.seek(0)
            assert file.read() == place.content


def test_what_is_here_is_not_fetched() -> None:
    """Once read, a file needs not even be opened; one that is gone is read all the same."""
    place = Place(LARGE)
    with place.open() as file:
        file.read_at(10, 0)
        file.read_at(10, 2 * BLOCK_BYTES + 1_000)
    assert (place.opens, place.counts.requests) == (1, 3)
    assert place.counts.fetched_bytes < 4 * BLOCK_BYTES
    place.content = b""
    with place.open() as file:
        assert file.read_at(10, 0) == LARGE[:10]
        assert file.read_at(7, len(LARGE) - 7) == b"the end"
        with pytest.raises(StorageError) as caught:
            file.read_at(10, 10 * BLOCK_BYTES)

    assert isinstance(caught.value.__cause__, FileNotFoundError)
    assert place.counts.requests == 3
    assert place.counts.kept_bytes >= 2 * BLOCK_BYTES


def test_a_small_file_comes_whole() -> None:
    """In one request, whatever is read of it."""
    place = Place(LARGE[:WHOLE_BYTES])
    with place.open() as file:
        file.read_at(1, 0)
        file.read_at(1, WHOLE_BYTES - 1)

    assert (place.counts.requests, place.counts.fetched_bytes) == (1, WHOLE_BYTES)


def test_a_small_file_with_a_gap_is_filled_while_it_is_opened() -> None:
    """One after the other: it may be opened in a thread that must not wait for another one."""
    place = Place(LARGE[:WHOLE_BYTES])
    place.open().close()
    for number in (0, 2):
        place.blocks.forget(KEY, number)
    opening = [far_threads().submit(place.open) for _ in range(2 * AT_A_TIME)]
    for each in opening:
        with each.result(timeout=20) as file:
            assert file.read() == place.content


def test_neighbours_come_in_one_request() -> None:
    """And what lies apart side by side."""
    place = Place(LARGE)
    with place.open() as file:
        file.fetch([(0, 5 * BLOCK_BYTES), (10 * BLOCK_BYTES + 1_000, 1)])

    assert place.counts.requests == 3, "the end, five blocks and a bit, one block"


def test_a_file_of_another_length_is_refused_and_forgotten() -> None:
    """Nobody writes one under the same name; if somebody does, it is not mixed with the old one."""
    place = Place(LARGE)
    place.open().close()
    place.content = LARGE + b"!"
    with place.open() as file, pytest.raises(StorageError, match="read again"):
        file.read_at(10, 0)
    with place.open() as file:
        assert file.read_at(1, len(LARGE)) == b"!"


def test_a_block_of_another_length_of_the_file_is_not_taken() -> None:
    """The end of the file decides."""
    place = Place(LARGE)
    place.open().close()
    place.blocks.put(KEY, [Block(5, len(LARGE) + 1, b"x" * BLOCK_BYTES)])
    with place.open() as file:
        file.seek(0)
        assert file.read() == LARGE


def test_a_file_that_made_no_sense_is_fetched_anew() -> None:
    """What came damaged may come whole the next time."""
    place = Place(b"damaged" + LARGE[7:])
    with place.open() as file:
        assert file.read_at(7, 0) == b"damaged"
        file.forget()
    place.content = LARGE
    with place.open() as file:
        assert file.read_at(7, 0) == LARGE[:7]


def test_what_is_not_kept_is_told() -> None:
    """As where there is less room than a block."""
    place = Place(LARGE, most_bytes=10)
    place.open().close()

    assert place.counts.unkept_bytes == place.counts.fetched_bytes == BLOCK_BYTES


def test_arrow_reads_it_in_its_threads() -> None:
    """Parquet with many row groups, columns fetched ahead."""
    sink = pa.BufferOutputStream()
    rows = pa.table({"a": range(400_000), "b": [str(each) for each in range(400_000)]})
    pq.write_table(rows, sink, row_group_size=20_000, compression="none")
    place = Place(sink.getvalue().to_pybytes())
    for _ in range(2):
        with place.open() as file:
            assert pq.ParquetFile(file, pre_buffer=True).read() == rows
    assert place.opens == 1

"""Blocks in memory: the last used ones, in no more bytes than may be."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from arctic.iceberg.storage.cache.block import Block
from arctic.iceberg.storage.cache.memory_blocks import KeptBlocks, MemoryBlocks
from arctic.last_used import LastUsed


def block(number: int, size: int = 100) -> Block:
    """Return a block."""
    return Block(number, 10_000, bytes([number % 251]) * size)


@given(
    steps=st.lists(st.tuples(st.sampled_from("pgf"), st.integers(0, 9), st.integers(0, 500))),
    most=st.integers(0, 3_000),
)
def test_there_are_never_more_bytes_than_may_be(
    steps: list[tuple[str, int, int]], most: int
) -> None:
    """Whatever is put, read and forgotten."""
    kept: KeptBlocks = LastUsed()
    blocks = MemoryBlocks(most, kept)
    model: dict[int, Block] = {}
    for what, number, size in steps:
        if what == "p" and blocks.put(b"k", [block(number, size)]):
            model[number] = block(number, size)
        elif what == "g":
            assert blocks.get(b"k", number) in (None, model.get(number))
        elif what == "f":
            blocks.forget(b"k", number)
            assert blocks.get(b"k", number) is None
        held = [found for each in range(10) if (found := blocks.get(b"k", each))]
        assert kept.weight <= most
        assert sum(len(each.content) for each in held) <= kept.weight


def test_the_last_used_stay() -> None:
    """One that is larger than all may be is not kept, and drives nothing out."""
    blocks = MemoryBlocks(1_200, LastUsed())
    for number in range(4):
        assert blocks.put(b"k", [block(number)])
        blocks.get(b"k", 0)
    assert not blocks.put(b"k", [block(9, 2_000)])

    assert [number for number in range(10) if blocks.get(b"k", number)] == [0, 2, 3]


def test_a_fork_has_its_own() -> None:
    """A thread of the parent may hold the lock when it forks."""
    kept: KeptBlocks = LastUsed()
    blocks = MemoryBlocks(10_000, kept)
    blocks.put(b"k", [block(1)])
    with kept._lock:
        child = os.fork()
        if child == 0:
            is_free = kept._lock.acquire(timeout=5)
            os._exit(0 if is_free and not kept.weight else 1)
    _, status = os.waitpid(child, 0)

    assert status == 0
    assert blocks.get(b"k", 1) == block(1)

"""A block: a part of a data file, of one length, numbered from the file's end.

Strategy: the last bytes of a Parquet file, where its footer is, are block 0; every block says how
long its file is. So who has block 0 knows the length and, of most files, the footer, and asks the
store for neither.

Rules:
    - Only files are cut whose names hold a random number: nobody writes another one under the same
      name, so a block is never out of date.
    - A file is known by its path and by who reaches it how: other properties are another file, but
      for the keys that a catalog hands out, see ``io_properties``.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple, Protocol

from arctic.iceberg.storage.io_properties import known_by

BLOCK_BYTES = 256 * 2**10
"""Fetched in 2 to 20 ms over a network, where a request takes as long before its first byte."""


class Block(NamedTuple):
    """Bytes of a file."""

    number: int
    """0 is the last one of the file."""
    file_bytes: int
    """Length of the whole file."""
    content: bytes


class Blocks(Protocol):
    """Where blocks are; of files by their keys."""

    def get(self, key: bytes, number: int) -> Block | None:
        """Return a block that is here, as it was put."""

    def put(self, key: bytes, blocks: list[Block]) -> bool:
        """Keep blocks of a file; False: they are not kept, for whatever reason."""

    def forget(self, key: bytes, number: int) -> None:
        """Let a block go."""


def file_key(path: str, properties: Mapping[str, str]) -> bytes:
    """Return what a file is known by, 20 bytes.

    Args:
        path: of a file with a random name.
        properties: by which it is reached.
    """
    state = blake2b(digest_size=20)
    for name, text in known_by(properties):
        state.update(f"{name}={text}\0".encode())
    state.update(f"\0{path}".encode())
    return state.digest()


def block_range(number: int, file_bytes: int) -> tuple[int, int]:
    """Return where a block begins and ends in its file; the end is exclusive.

    >>> block_range(0, 600_000), block_range(2, 600_000)
    ((337856, 600000), (0, 75712))
    """
    return max(0, file_bytes - (number + 1) * BLOCK_BYTES), file_bytes - number * BLOCK_BYTES


def numbers_of(start: int, end: int, file_bytes: int) -> range:
    """Return the numbers of the blocks that hold a range, as they follow in the file.

    Args:
        start: inclusive.
        end: exclusive, at most the length.
        file_bytes: length of the file.
    """
    if start >= end:
        return range(0)
    first, last = (file_bytes - 1 - start) // BLOCK_BYTES, (file_bytes - end) // BLOCK_BYTES
    return range(first, last - 1, -1)


def blocks_in(content: bytes | memoryview, start: int, file_bytes: int) -> list[Block]:
    """Cut bytes of a file into its blocks.

    Args:
        content: begins and ends where blocks do.
        start: where it begins in the file.
        file_bytes: length of the file.
    """
    view = memoryview(content)
    found = []
    for number in numbers_of(start, start + len(view), file_bytes):
        begin, end = block_range(number, file_bytes)
        found.append(Block(number, file_bytes, bytes(view[begin - start : end - start])))
    return found

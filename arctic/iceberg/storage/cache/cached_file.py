"""A data file of which parts are on this machine, open for reading at any position.

Strategy: what is read is put together from blocks. Those that are missing are fetched, neighbours
in one request and several requests side by side, and kept. The file is opened where it lies once
something is missing, so a file that is here as a whole costs no request.

Rules:
    - Bytes are those of the file, wherever they come from: blocks are checked as they are read, and
      those of another length of the file than it has are forgotten.
    - Who finds the bytes to make no sense says so, and all that is here of the file is forgotten:
      what came damaged may come whole the next time.

Memory: the blocks of what is asked for at once, ``_HELD`` of them at the least.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from arctic.errors import StorageError
from arctic.iceberg.storage.cache.block import (
    BLOCK_BYTES,
    Block,
    Blocks,
    block_range,
    blocks_in,
    numbers_of,
)
from arctic.iceberg.storage.cache.cache_counts import CacheCounts
from arctic.iceberg.storage.far_threads import far_threads

WHOLE_BYTES = 2**20
"""A file of no more is fetched whole."""
_HELD = 8
_AT_ONCE = 32
"""Blocks of one request."""


class CachedFile(pa.PythonFile):  # type: ignore[misc]
    """A file for Arrow, which also takes what will be read before it is."""

    def __new__(cls, parts: FileParts) -> CachedFile:
        """Have Arrow read the parts."""
        made: CachedFile = super().__new__(cls, parts, mode="r")
        made.parts = parts
        return made

    def __init__(self, parts: FileParts) -> None:
        """Do nothing: it was made."""

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Have parts of the file here before they are read.

        Args:
            ranges: begin and length of each.
        """
        self.parts.fetch(ranges)

    def forget(self) -> None:
        """Forget all that is here of the file: it makes no sense."""
        self.parts.forget()


class FileParts:
    """What Arrow takes for a Python file."""

    def __init__(
        self,
        path: str,
        key: bytes,
        blocks: Blocks,
        open_plain: Callable[[str], Any],
        counts: CacheCounts,
    ) -> None:
        """Open a file, by what is here of it if anything is.

        Args:
            path: of the file.
            key: by which it is known.
            blocks: where its blocks are kept.
            open_plain: opens the file where it lies.
            counts: what to add to.

        Raises:
            StorageError: the file is missing or cannot be read.
            UnsupportedError: no file system is installed for the path's scheme.
        """
        self._path, self._key, self._blocks = path, key, blocks
        self._open_plain, self._counts = open_plain, counts
        self._lock = threading.RLock()
        self._held: OrderedDict[int, bytes] = OrderedDict()
        self._plain: Any = None
        self._most = _HELD
        self._at = 0
        self.closed = False
        self._is_open = False
        tail = blocks.get(key, 0)
        self._size = self._opened().size() if tail is None else tail.file_bytes
        if tail is not None:
            self._counts.kept(len(tail.content))
            self._held[0] = tail.content
        is_small = self._size <= WHOLE_BYTES
        start = 0 if is_small else self._size - BLOCK_BYTES
        try:
            self._load(numbers_of(start, self._size, self._size))
        except BaseException:
            self.close()
            raise
        self._is_open = True

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that any place can be read."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return bytes from the place on."""
        start, end = self._at, self._size if size < 0 else min(self._at + size, self._size)
        if start >= end:
            return b""
        with self._lock:
            numbers = numbers_of(start, end, self._size)
            self._load(numbers)
            parts = [memoryview(self._held[number]) for number in numbers]
        first, _ = block_range(numbers[0], self._size)
        last, _ = block_range(numbers[-1], self._size)
        # The end first: both may be of the same block.
        parts[-1] = parts[-1][: end - last]
        parts[0] = parts[0][start - first :]
        self._at = end
        return b"".join(parts)

    def read_buffer(self, size: int = -1) -> pa.Buffer:
        """Return bytes from the place on, which Arrow does not copy."""
        return pa.py_buffer(self.read(size))

    def close(self) -> None:
        """Close the file where it lies, if it was opened there."""
        self.closed = True
        with self._lock:
            self._held.clear()
            plain, self._plain = self._plain, None
        if plain is not None:
            plain.close()

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Have parts of the file here before they are read."""
        wanted: dict[int, None] = {}
        for start, length in ranges:
            wanted.update(
                dict.fromkeys(numbers_of(start, min(start + length, self._size), self._size))
            )
        with self._lock:
            self._most = max(_HELD, len(wanted))
            self._load(sorted(wanted, reverse=True))

    def forget(self) -> None:
        """Forget all that is here of the file."""
        with self._lock:
            self._held.clear()
        for number in numbers_of(0, self._size, self._size):
            self._blocks.forget(self._key, number)

    def _load(self, numbers: Sequence[int]) -> None:
        """Hold blocks, descending, and a few of those that were held."""
        missing = []
        for number in numbers:
            if number in self._held:
                self._held.move_to_end(number)
                continue
            found = self._blocks.get(self._key, number)
            if found is None:
                missing.append(number)
            elif found.file_bytes != self._size:
                self._blocks.forget(self._key, number)
                missing.append(number)
            else:
                self._counts.kept(len(found.content))
                self._held[number] = found.content
        if missing:
            self._fetch(missing)
        while len(self._held) > max(self._most, len(numbers)):
            self._held.popitem(last=False)

    def _fetch(self, numbers: Sequence[int]) -> None:
        plain = self._opened()
        if plain.size() != self._size:
            self.forget()
            raise StorageError(
                f"file {self._path!r} has {plain.size()} bytes, and had {self._size} when parts of "
                "it were kept; read again"
            )
        requests = list(_neighbours(numbers))
        # Files are opened in these threads, where nothing waits for another one.
        is_beside = self._is_open and len(requests) > 1
        answers = list((far_threads().map if is_beside else map)(self._answer, requests))
        for blocks in answers:
            self._held.update((block.number, block.content) for block in blocks)
            if not self._blocks.put(self._key, blocks):
                self._counts.unkept(sum(len(block.content) for block in blocks))

    def _answer(self, numbers: Sequence[int]) -> list[Block]:
        start, _ = block_range(numbers[0], self._size)
        _, end = block_range(numbers[-1], self._size)
        content = self._plain.read_at(end - start, start)
        if len(content) != end - start:
            raise StorageError(
                f"cannot read file {self._path!r}: {len(content)} of {end - start} bytes came from "
                f"{start} on"
            )
        self._counts.fetched(len(content))
        return blocks_in(content, start, self._size)

    def _opened(self) -> Any:
        if self._plain is None:
            self._plain = self._open_plain(self._path)
        return self._plain


def _neighbours(numbers: Sequence[int]) -> Iterable[list[int]]:
    """Yield what one request brings, of descending numbers."""
    run: list[int] = []
    for number in numbers:
        if run and (run[-1] - 1 != number or len(run) == _AT_ONCE):
            yield run
            run = []
        run.append(number)
    yield run

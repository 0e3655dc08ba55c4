"""Blocks in the memory of this process: the ones that were used last.

Memory: what the caller who keeps a block says, for all callers together.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass

from arctic.iceberg.storage.cache.block import Block

_EACH_BYTES = 256
"""What an entry takes beside its content."""


class KeptBlocks:
    """Blocks by file and number; safe for threads and forks."""

    def __init__(self) -> None:
        self._forget_all()
        if hasattr(os, "register_at_fork"):
            # The lock may be held by a thread that the child does not have.
            os.register_at_fork(after_in_child=self._forget_all)

    def get(self, key: bytes, number: int) -> Block | None:
        """Return a block that is here."""
        with self._lock:
            found = self._kept.get((key, number))
            if found is not None:
                self._kept.move_to_end((key, number))
            return found

    def put(self, key: bytes, blocks: list[Block], max_bytes: int) -> bool:
        """Keep blocks, and let those go that were not used for longest."""
        if sum(map(_size, blocks)) > max_bytes:
            return False
        with self._lock:
            for block in blocks:
                before = self._kept.pop((key, block.number), None)
                self.held_bytes += _size(block) - (0 if before is None else _size(before))
                self._kept[key, block.number] = block
            while self.held_bytes > max_bytes:
                self.held_bytes -= _size(self._kept.popitem(last=False)[1])
        return True

    def forget(self, key: bytes, number: int) -> None:
        """Let a block go."""
        with self._lock:
            found = self._kept.pop((key, number), None)
            self.held_bytes -= 0 if found is None else _size(found)

    def _forget_all(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[bytes, int], Block] = OrderedDict()
        self.held_bytes = 0


_KEPT = KeptBlocks()
"""Of this process."""


@dataclass(frozen=True, slots=True)
class MemoryBlocks:
    """The blocks of this process, for a caller who allows so much memory."""

    max_bytes: int
    kept: KeptBlocks = _KEPT

    def get(self, key: bytes, number: int) -> Block | None:
        """Return a block that is here."""
        return self.kept.get(key, number)

    def put(self, key: bytes, blocks: list[Block]) -> bool:
        """Keep blocks of a file."""
        return self.kept.put(key, blocks, self.max_bytes)

    def forget(self, key: bytes, number: int) -> None:
        """Let a block go."""
        self.kept.forget(key, number)


def _size(block: Block) -> int:
    return len(block.content) + _EACH_BYTES

"""Blocks in the memory of this process: the ones that were used last.

Memory: what the caller who keeps a block says, for all callers together.
"""

from __future__ import annotations

from dataclasses import dataclass

from arctic.iceberg.storage.cache.block import Block
from arctic.iceberg.storage.cache.cache_counts import OF_PROCESS
from arctic.last_used import LastUsed

_EACH_BYTES = 256
"""What an entry takes beside its content."""

KeptBlocks = LastUsed[tuple[bytes, int], Block]
"""By file and number."""

_KEPT: KeptBlocks = LastUsed()
"""Of this process."""


@dataclass(frozen=True, slots=True)
class MemoryBlocks:
    """The blocks of this process, for a caller who allows so much memory."""

    max_bytes: int
    kept: KeptBlocks = _KEPT

    def get(self, key: bytes, number: int) -> Block | None:
        """Return a block that is here."""
        return self.kept.get((key, number))

    def put(self, key: bytes, blocks: list[Block]) -> bool:
        """Keep blocks of a file, and let those go that were not used for longest."""
        if sum(map(_size, blocks)) > self.max_bytes:
            return False
        for block in blocks:
            gone = self.kept.put(
                (key, block.number), block, weight=_size(block), most=self.max_bytes
            )
            OF_PROCESS.evicted(gone)
        return True

    def forget(self, key: bytes, number: int) -> None:
        """Let a block go."""
        self.kept.drop((key, number))


def _size(block: Block) -> int:
    return len(block.content) + _EACH_BYTES

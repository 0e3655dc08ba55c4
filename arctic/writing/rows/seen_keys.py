"""The keys that a task has inserted, of which a later chunk may hold the next event.

Keys of one slot are taken for each other: that makes a delete too many, never too few.
"""

from __future__ import annotations

import numpy as np

from arctic.writing.rows.collapse import Survivors

SLOTS = 1 << 22
"""Keys that a task may insert before most of its later inserts get a delete for nothing."""


class SeenKeys:
    """Remembers inserts from chunk to chunk; 4 MiB, however many keys."""

    def __init__(self) -> None:
        self._seen = np.zeros(SLOTS, dtype=bool)

    def with_deletes(self, survivors: Survivors, hashes: np.ndarray) -> Survivors:
        """Return what is left of a chunk, with a delete before each key that was inserted before.

        Args:
            survivors: of the chunk.
            hashes: the key hash of each of its rows.
        """
        slots = hashes[survivors.last] & (SLOTS - 1)
        repeated = self._seen[slots]
        self._seen[slots[survivors.inserts]] = True
        return survivors.also_deleting(repeated)

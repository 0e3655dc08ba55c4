"""A chunk of rows that are all kept: each is an insert, and nobody asks for its key."""

from __future__ import annotations

import numpy as np

from arctic.writing.change_output import ChangeOutput
from arctic.writing.route import hash_keys
from arctic.writing.rows.gather import Gathered


class AppendedChunks:
    """Writes one chunk of appended rows after the other; see ``EventChunks``."""

    renewed = None

    def __init__(self, files: ChangeOutput) -> None:
        self._files = files

    def folded(self, chunk: Gathered) -> Gathered:
        """Return it as it is: a table that makes one row of several takes no appended ones."""
        return chunk

    def write(self, chunk: Gathered, next_offset: int) -> int:
        """Write a chunk from this offset on; return the offset that is next."""
        rows = chunk.rows
        hashes = hash_keys(rows, self._files.target)
        every = np.arange(rows.num_rows, dtype=np.int64)
        places = self._files.places(rows, hashes)
        self._files.write_inserts(rows, every, next_offset + every, places)
        return next_offset + len(every)

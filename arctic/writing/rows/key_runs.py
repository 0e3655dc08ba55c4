"""The last row of each key of more rows than there is room for, in key order.

Strategy: what there is room for is brought in order, without the rows that a later event of their
key replaces, and waits on local disk. All of it is merged by ranges of keys in the end, and each
range is looked at for keys of several runs: of these the last event stays.

Rows can be told to wait in blocks, which come one after the other: so that whoever writes them need
not have all of its files open at once.

Rules:
    - No key is twice in a run, so all rows of a key are in one range; a key stays in its block.
    - Of events that are equal the one that came last stays: runs are merged in the order they came.

Memory: the rows that are added, and once more where they come in no order; then what
``spilled_runs`` says.

Must not know: nodes, files of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.writing.rows.last_by_key import last_by_key
from arctic.writing.rows.runs import merge_runs
from arctic.writing.rows.spilled_runs import SpilledRuns

_BLOCK = "_arctic_block"
"""Column beside those of the rows; no table has such a name."""


class KeyRuns:
    """Rows of a table with a key that wait on local disk; to be closed, which removes them."""

    def __init__(self, key: Sequence[str], schema: pa.Schema, *, events: Sequence[str]) -> None:
        """Describe the rows.

        Args:
            key: the key columns, most significant first; no floating-point numbers, of which two
                that are different keys can be equal to a sort.
            schema: of the rows.
            events: columns that order events; none: as rows come.
        """
        self._key = key
        self._events = events
        self._spilled = SpilledRuns([_BLOCK, *key], schema.append(pa.field(_BLOCK, pa.int32())))

    def add(self, rows: pa.Table, blocks: npt.NDArray[np.int32]) -> None:
        """Take rows, at least one.

        Args:
            rows: none of key and events null; large_string and large_binary may stand for string
                and binary.
            blocks: the number of the block of each row.

        Raises:
            StorageError: local disk does not take them.
        """
        numbers = last_by_key(rows, self._key, events=self._events)
        rows = rows.append_column(_BLOCK, pa.array(blocks))
        if (blocks != blocks[0]).any():
            numbers = np.arange(rows.num_rows) if numbers is None else numbers
            numbers = numbers[np.argsort(blocks[numbers], kind="stable")]
        if numbers is not None:
            # Rows in any order are taken from all over the table: faster from one piece.
            rows = rows.combine_chunks()
        self._spilled.add(rows, numbers)

    def ranges(self) -> Iterator[tuple[pa.Table, np.ndarray | None]]:
        """Yield the rows by ranges of keys that rise in each block, with the numbers of some.

        Those are the ones that stay, in the order of the keys, whatever the blocks are; None: all,
        as they stand. Nothing may be added afterwards.

        Raises:
            StorageError: local disk does not take the end of a run, or has lost one.
        """
        for rows in merge_runs(self._spilled.runs()):
            numbers = last_by_key(rows, self._key, events=self._events)
            yield (rows if numbers is None else rows.combine_chunks()), numbers

    def close(self) -> None:
        """Remove what waits."""
        self._spilled.close()

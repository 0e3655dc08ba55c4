"""Rows of one destination that are not written yet, and the row groups they make.

Must not know: files, threads.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from arctic.writing.rows.gather import Picked

_ARRAY_BYTES = 731
"""Memory of an Arrow array beside its values, as measured: with thousands of partitions a few
rows of each are gathered at a time, and this is most of it."""


class WaitingRows:
    """Tables in the order they came."""

    def __init__(self) -> None:
        self._tables: list[tuple[pa.Table, int]] = []
        self.row_bytes = 0
        self.held_bytes = 0
        """``row_bytes`` and what the arrays cost beside their values."""

    def add(self, rows: pa.Table) -> int:
        """Take rows, at least one; return the bytes that are held for them."""
        row_bytes = int(rows.nbytes)
        held_bytes = row_bytes + int(rows.num_columns) * _ARRAY_BYTES
        self._tables.append((rows, row_bytes))
        self.row_bytes += row_bytes
        self.held_bytes += held_bytes
        return held_bytes

    def row_groups(self, row_group_bytes: int, row_group_rows: int) -> Iterator[Picked]:
        """Yield everything in row groups of about so many bytes, and at most so many rows."""
        for rows in self._joined(row_group_bytes):
            yield from cut(rows, row_group_bytes, row_group_rows)

    def _joined(self, row_group_bytes: int) -> Iterator[Picked]:
        """Join neighbours to about a row group, and never split one to do so.

        What was added together may cover a range of keys without being sorted in it.
        """
        held: list[pa.Table] = []
        held_bytes = 0
        for rows, size in self._tables:
            if held and held_bytes + size >= 1.5 * row_group_bytes:
                yield Picked(source=pa.concat_tables(held), numbers=None, nbytes=held_bytes)
                held, held_bytes = [], 0
            held.append(rows)
            held_bytes += size
        yield Picked(source=pa.concat_tables(held), numbers=None, nbytes=held_bytes)


def cut(rows: Picked, row_group_bytes: int, row_group_rows: int) -> Iterator[Picked]:
    """Cut rows that belong together into row groups of equal length."""
    by_rows = -(-rows.num_rows // row_group_rows)
    groups = max(1, round(rows.nbytes / row_group_bytes), by_rows)
    step = -(-rows.num_rows // groups)
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)

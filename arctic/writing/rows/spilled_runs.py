"""Sorted rows that wait on local disk, as runs that are merged later.

Strategy: what goes on where the last run ends makes it longer. Rows that come in order, or in a few
long stretches of it, are few runs then, however many times there was no more room for them.

Rules:
    - A file is open only while a part of it is written or read: there may be any number of them.

Memory: a chunk while rows are written. Later two chunks of each run, which are a thirtieth of what
waits on disk.

Must not know: tables, what the rows are.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from arctic.columns.row_order import RowKey, greatest_row, least_row
from arctic.errors import StorageError
from arctic.writing.rows.runs import Run

CHUNK_ROWS = 65_536
_CHUNKS_OF_A_RUN = 64
"""At least so many, if it has the rows: with wide rows chunks of any number would be all of it."""


class SpilledRuns:
    """Takes sorted rows, hands out runs; to be closed, which removes the files."""

    def __init__(self, columns: Sequence[str], schema: pa.Schema) -> None:
        """Describe the rows.

        Args:
            columns: what they are sorted by, most significant first.
            schema: of the rows that runs hand out.
        """
        self._columns = columns
        self._schema = schema
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: list[Path] = []
        self._open: Any = None
        self._run_rows = 0
        self._last: RowKey | None = None

    def add(self, rows: pa.Table, numbers: np.ndarray | None = None) -> None:
        """Take rows.

        Args:
            rows: at least one; large_string and large_binary may stand for string and binary.
            numbers: of those that are taken, in order; None: all, as they stand.

        Raises:
            StorageError: local disk does not take them.
        """
        count = rows.num_rows if numbers is None else len(numbers)
        first, last = (0, count - 1) if numbers is None else (int(numbers[0]), int(numbers[-1]))
        with _disk_errors():
            self._begin(rows.slice(first, 1))
            self._run_rows += count
            step = min(CHUNK_ROWS, -(-self._run_rows // _CHUNKS_OF_A_RUN))
            for start in range(0, count, step):
                if numbers is None:
                    chunk = rows.slice(start, step)
                else:
                    chunk = rows.take(pa.array(numbers[start : start + step]))
                # One batch of a chunk, however many there were.
                self._open.write_table(chunk.cast(self._schema).combine_chunks())
        self._last = greatest_row(rows.slice(last, 1), self._columns)

    def runs(self) -> list[Run]:
        """Return everything that was taken, in the order it came; nothing may be added afterwards.

        Raises:
            StorageError: local disk does not take the end of it.
        """
        with _disk_errors():
            self._end()
        return [Run(_chunks_of(path), self._columns, is_sorted=True) for path in self._files]

    def close(self) -> None:
        """Remove the files."""
        if self._open is not None:
            with contextlib.suppress(OSError):
                self._open.close()
            self._open = None
        if self._folder is not None:
            self._folder.cleanup()

    def _begin(self, first: pa.Table) -> None:
        """Go on with the last run, if rows come after its end; else begin another one."""
        if self._last is not None and self._last < least_row(first, self._columns):
            return
        self._end()
        self._run_rows = 0
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="arctic-sort-")
        self._files.append(Path(self._folder.name) / f"{len(self._files)}.arrow")
        # Not compressed: that would take longer than all else that is done for these rows here.
        self._open = pa.ipc.new_file(str(self._files[-1]), self._schema)

    def _end(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


@contextlib.contextmanager
def _disk_errors(
    fault: str = "do not fit on", remedy: str = "free some, or point TMPDIR elsewhere"
) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"rows that are being sorted {fault} local disk: {error}; {remedy}"
        ) from error


def _chunks_of(path: Path) -> Iterator[pa.Table]:
    number, count = 0, 1
    while number < count:
        with (
            _disk_errors("cannot be read back from", "point TMPDIR to where nobody removes files"),
            pa.ipc.open_file(str(path)) as file,
        ):
            count = file.num_record_batches
            chunk = pa.Table.from_batches([file.get_batch(number)])
        yield chunk
        number += 1

"""Rows in no order become sorted runs; those that do not fit in memory wait on local disk.

Memory: ``buffer_bytes`` of Arrow data, of which half is the copy that sorting makes; later two
chunks of each run, which are a thirtieth of what waits on disk.

Must not know: tables, what the rows are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from arctic.columns.row_order import sort_rows
from arctic.errors import StorageError
from arctic.optimizing.sorting.runs import Run

_CHUNK_ROWS = 65_536
_CHUNKS_OF_A_RUN = 64
"""At least so many, if it has the rows: with wide rows chunks of any number would be all of it."""


class SortBuffer:
    """Takes rows, hands out runs; to be used as a context manager, which removes the files."""

    def __init__(self, columns: Sequence[str], *, buffer_bytes: int) -> None:
        self._columns = columns
        self._room_bytes = max(1, buffer_bytes // 2)
        self._held: list[pa.Table] = []
        self._held_bytes = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: list[Path] = []

    def __enter__(self) -> SortBuffer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, rows: pa.Table) -> None:
        """Take rows.

        Raises:
            StorageError: local disk does not take a run.
        """
        if not rows.num_rows:
            return
        if self._held and self._held_bytes + rows.nbytes > self._room_bytes:
            self._spill()
        self._held.append(rows)
        self._held_bytes += rows.nbytes

    def runs(self) -> list[Run]:
        """Return everything that was taken as sorted runs; nothing may be added afterwards."""
        runs = [Run(_chunks_of(path), self._columns, is_sorted=True) for path in self._files]
        if self._held:
            runs.append(Run(_slices(self._drain()), self._columns, is_sorted=True))
        return runs

    def _drain(self) -> pa.Table:
        rows = sort_rows(pa.concat_tables(self._held), self._columns)
        self._held, self._held_bytes = [], 0
        return rows

    def _spill(self) -> None:
        rows = self._drain()
        try:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="arctic-sort-")
            path = Path(self._folder.name) / f"{len(self._files)}.arrow"
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with pa.ipc.new_file(str(path), rows.schema, options=options) as file:
                chunk_rows = min(_CHUNK_ROWS, -(-rows.num_rows // _CHUNKS_OF_A_RUN))
                file.write_table(rows, max_chunksize=chunk_rows)
        except OSError as error:
            raise StorageError(
                f"rows that are being sorted do not fit on local disk: {error}; free some, or "
                "point TMPDIR elsewhere"
            ) from error
        self._files.append(path)


def _slices(rows: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, rows.num_rows, _CHUNK_ROWS):
        yield rows.slice(start, _CHUNK_ROWS)


def _chunks_of(path: Path) -> Iterator[pa.Table]:
    with pa.ipc.open_file(str(path)) as file:
        for number in range(file.num_record_batches):
            yield pa.Table.from_batches([file.get_batch(number)])

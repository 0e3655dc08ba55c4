"""Ends of large files that lie far away, kept for whoever reads other columns or rows of them.

A file's footer is a request of its own before the first column can be asked for, and it is the same
every time.

Rules:
    - What is kept was compared with its checksum, and is of files whose names hold a random number:
      nobody writes another one under the same name. Its length must be the same, too.
    - Of a file of this machine nothing is kept: its end costs next to nothing to read, and damage
      to it shows the next time.
    - Who finds a file to make no sense has its end read the next time.

Memory: ``MOST_BYTES``.
"""

from __future__ import annotations

import re
from typing import Any

from arctic.last_used import LastUsed
from arctic.mor.files.parquet_footer import (
    FileEnd,
    Size,
    checked_end,
    checked_size,
    metadata_in,
)
from arctic.table.filename import has_random_name
from arctic.table.footer_checksum import index_start

MOST_BYTES = 16 * 2**20
"""Those that were used the longest time ago are forgotten first."""
LEAST_BYTES = 2**20
"""Of a file; a shorter one comes whole when it is opened, and its footer with it."""
_EACH_BYTES = 500
"""What one takes beside its bytes."""
_IS_FAR = re.compile(r"(?!file:)[A-Za-z][\w+.-]*:")


class KeptFooters:
    """The ends of files by path, with their lengths; safe for threads and forks."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._held: LastUsed[str, tuple[int, FileEnd]] = LastUsed()

    def of(self, path: str, source: Any, expected: Size | None) -> tuple[FileEnd, Any]:
        """Return the end of a file, as ``checked_end`` does, and the metadata in it.

        Args:
            path: of the file.
            source: the open file.
            expected: what a manifest says of the file; None: nothing is known.

        Raises:
            FormatError: a wrong checksum.
            ArrowInvalid: no Parquet file, or one of another size than expected.
        """
        size = checked_size(source, expected)
        if size < LEAST_BYTES or not _IS_FAR.match(path) or not has_random_name(path):
            end = checked_end(path, source, expected)
            return end, metadata_in(end.footer)
        held = self._held.get(path)
        if held is not None and held[0] == size:
            return held[1], metadata_in(held[1].footer)
        end = checked_end(path, source, expected)
        metadata = metadata_in(end.footer)
        kept = _with_indexes(path, size, end, metadata)
        weight = len(kept.content) + len(path) + _EACH_BYTES
        self._held.put(path, (size, kept), weight=weight, most=self._most_bytes)
        return end, metadata

    def drop(self, path: str) -> None:
        """Keep nothing of a file."""
        self._held.drop(path)

    def forget(self) -> None:
        """Keep nothing."""
        self._held.forget()

    @property
    def nbytes(self) -> int:
        """What all that is kept takes."""
        return self._held.weight


def _with_indexes(path: str, size: int, end: FileEnd, metadata: Any) -> FileEnd:
    """Return the footer of a file, with the indexes before it if they came along."""
    start = index_start(path, metadata.metadata)
    before = 0 if start is None else max(0, size - end.footer_bytes - start)
    indexes = end.before_footer(before) or b""
    # A copy: what it is cut from is longer, and would stay in memory.
    return FileEnd(indexes + end.footer, end.footer_bytes)


KEPT_FOOTERS = KeptFooters()
"""Of this process."""

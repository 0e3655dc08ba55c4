"""Small data files that this process has read from far away, kept whole.

Who comes back to a table reads the same small files, those of its last upserts, and each of them is
a request or two. Where nothing was said of a cache these few bytes are kept all the same.

Rules:
    - Only files are kept whose names hold a random number: nobody writes another one under the
      same name. Of a file of this machine nothing is: it costs next to nothing to read.
    - Who reaches a path by other properties, or who is somebody else, is given nothing; keys that a
      catalog hands out may be others.
    - Who finds a file to make no sense says so, and it is fetched the next time.

Memory: ``MOST_BYTES``.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from arctic.iceberg.storage.io_properties import known_by
from arctic.iceberg.storage.local_files import is_local
from arctic.last_used import LastUsed
from arctic.table.filename import has_random_name

if TYPE_CHECKING:
    from pyiceberg.io import FileIO

MOST_BYTES = 16 * 2**20
"""Those that were read the longest time ago are forgotten first."""
SMALL_BYTES = 64 * 2**10
"""A longer file is not kept: hundreds of these take the place of some that are longer."""
_EACH_BYTES = 500
"""What one takes beside its bytes."""


class KeptSmallFiles:
    """Opens files, those that are kept without a request; safe for threads and forks."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: LastUsed[tuple[Hashable, str], pa.Buffer] = LastUsed()

    def opened(self, access: FileIO, path: str) -> Any:
        """Open a file for reading at any position.

        Args:
            access: how it is reached.
            path: of the file.
        """
        if is_local(path) or not has_random_name(path):
            return access.new_input(path).open()
        place = known_by(access.properties), path
        content = self._kept.get(place)
        if content is None:
            opened = access.new_input(path).open()
            content = _whole_and_small(opened)
            if content is None:
                return opened
            weight = content.size + len(path) + _EACH_BYTES
            self._kept.put(place, content, weight=weight, most=self._most_bytes)
        return KeptFile(content, lambda: self._kept.drop(place))

    def forget(self) -> None:
        """Keep nothing."""
        self._kept.forget()

    @property
    def nbytes(self) -> int:
        """What all that is kept takes."""
        return self._kept.weight


class KeptFile(pa.BufferReader):  # type: ignore[misc]
    """A whole file for Arrow, which may be told that it makes no sense."""

    forget: Callable[[], None]
    """Let it be fetched the next time."""

    def __new__(cls, content: pa.Buffer, forget: Callable[[], None]) -> KeptFile:
        """Have Arrow read the content."""
        made: KeptFile = super().__new__(cls, content)
        made.forget = forget
        return made

    def __init__(self, content: pa.Buffer, forget: Callable[[], None]) -> None:
        """Do nothing: it was made."""

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Do nothing: all of it is here."""


KEPT_SMALL_FILES = KeptSmallFiles()
"""Of this process."""


def _whole_and_small(opened: Any) -> pa.Buffer | None:
    """Return all of a file that came whole when it was opened; None: it did not, or is longer."""
    if isinstance(opened, pa.BufferReader) and opened.size() <= SMALL_BYTES:
        return pa.py_buffer(opened.read_at(SMALL_BYTES, 0))
    if isinstance(opened, io.BytesIO) and opened.getbuffer().nbytes <= SMALL_BYTES:
        return pa.py_buffer(opened.getvalue())
    return None

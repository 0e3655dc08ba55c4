"""Small files of metadata that were read or written by this process, for stores that are far away.

A file of metadata never changes: its name holds a UUID. A commit reads the manifest list that the
last one wrote, and each read of a table begins with the same few files.

Rules:
    - Only files elsewhere are kept: one of this machine costs next to nothing to read.
    - Only for callers that reach a file by the same FileIO properties.
    - What is kept is what the file held, whole: who read it has compared it with its checksum.

Memory: ``MAX_KEPT_BYTES``.
"""

from __future__ import annotations

import re

from arctic.iceberg.storage.local_files import local_path
from arctic.last_used import LastUsed

Properties = tuple[tuple[str, str], ...]
"""By which files are reached, sorted."""

MAX_KEPT_BYTES = 16 * 2**20

_UNIQUE = re.compile(
    r".*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-m\d+)?\.(avro|puffin|(gz\.)?metadata\.json)",
    re.DOTALL,
)


class KeptFiles:
    """The files that were used last; safe for threads and forks."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: LastUsed[tuple[str, Properties], bytes] = LastUsed()

    def get(self, location: str, properties: Properties) -> bytes | None:
        """Return what a file holds; None: it is to be read."""
        return self._kept.get((location, properties))

    def put(self, location: str, properties: Properties, content: bytes) -> None:
        """Keep what a file holds, if it is of those that are kept."""
        if len(content) <= self._max_bytes // 2 and is_kept(location):
            key = (location, properties)
            self._kept.put(key, content, weight=len(content), most=self._max_bytes)

    def forget(self) -> None:
        """Keep nothing."""
        self._kept.forget()


KEPT_FILES = KeptFiles(MAX_KEPT_BYTES)
"""Of this process."""


def is_kept(location: str) -> bool:
    """Say whether a file is of those that are kept, if it is not too large."""
    return _UNIQUE.fullmatch(location) is not None and local_path(location) is None

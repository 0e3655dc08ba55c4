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

import os
import re
import threading
from collections import OrderedDict

from arctic.iceberg.storage.local_files import local_path

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
        self._forget()
        if hasattr(os, "register_at_fork"):
            # The lock may be held by a thread that the child does not have.
            os.register_at_fork(after_in_child=self._forget)

    def get(self, location: str, properties: Properties) -> bytes | None:
        """Return what a file holds; None: it is to be read."""
        with self._lock:
            content = self._kept.get((location, properties))
            if content is not None:
                self._kept.move_to_end((location, properties))
            return content

    def put(self, location: str, properties: Properties, content: bytes) -> None:
        """Keep what a file holds, if it is of those that are kept."""
        if len(content) > self._max_bytes // 2 or not is_kept(location):
            return
        with self._lock:
            self._bytes += len(content) - len(self._kept.pop((location, properties), b""))
            self._kept[location, properties] = content
            while self._bytes > self._max_bytes:
                self._bytes -= len(self._kept.popitem(last=False)[1])

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Properties], bytes] = OrderedDict()
        self._bytes = 0


KEPT_FILES = KeptFiles(MAX_KEPT_BYTES)
"""Of this process."""


def is_kept(location: str) -> bool:
    """Say whether a file is of those that are kept, if it is not too large."""
    return _UNIQUE.fullmatch(location) is not None and local_path(location) is None

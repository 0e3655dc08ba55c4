"""Table metadata that was parsed or written by this process, kept by where its file lies.

A metadata file never changes: its name holds a UUID, and every commit writes another one. To parse
one with a thousand snapshots takes longer than all the rest of a small commit.

Rules:
    - Only files with a UUID in their names are kept, and only for callers that reach them by the
      same FileIO properties.
    - A file of this machine is looked at each time, which costs next to nothing: if it was removed,
      replaced or damaged since, it is read as if nothing were kept.
    - What is kept is shared by everybody who loads it. Nobody changes it in place.

Memory: the metadata of ``_MOST`` files, of which those with a thousand snapshots take a few MB.
"""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict

from pyiceberg.table.metadata import TableMetadata

from arctic.iceberg.storage.local_files import local_path

Properties = tuple[tuple[str, str], ...]
"""By which files are reached, sorted."""

_MOST = 8
_UNIQUE = re.compile(
    r".*-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.gz)?\.metadata\.json", re.DOTALL
)
_Stamp = tuple[int, ...]


class KeptMetadata:
    """The newest metadata that was used, by location; safe for threads and forks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._forget()
        if hasattr(os, "register_at_fork"):
            # The lock may be held by a thread that the child does not have.
            os.register_at_fork(after_in_child=self._forget)

    def get(self, location: str, properties: Properties) -> TableMetadata | None:
        """Return the metadata of a file; None: it is to be read."""
        with self._lock:
            found = self._kept.get((location, properties))
            if found is not None:
                self._kept.move_to_end((location, properties))
        if found is None or found[0] != _stamp(location):
            return None
        return found[1]

    def stamp(self, location: str) -> _Stamp | None:
        """Return the state of a file before it is read, for ``put``; None: it is not to be kept."""
        return _stamp(location) if _UNIQUE.fullmatch(location) else None

    def put(
        self,
        location: str,
        properties: Properties,
        metadata: TableMetadata,
        stamp: _Stamp | None,
    ) -> None:
        """Keep the metadata of a file, as it was when ``stamp`` was taken."""
        if stamp is None:
            return
        with self._lock:
            self._kept[location, properties] = (stamp, metadata)
            self._kept.move_to_end((location, properties))
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def known(self) -> dict[str, TableMetadata]:
        """Return everything that is kept, by location."""
        with self._lock:
            return {location: metadata for (location, _), (_, metadata) in self._kept.items()}

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Properties], tuple[_Stamp, TableMetadata]] = (
            OrderedDict()
        )


KEPT = KeptMetadata(_MOST)
"""Of this process."""


def _stamp(location: str) -> _Stamp | None:
    """Return what changes when a file is replaced; empty where only its name can tell."""
    path = local_path(location)
    if path is None:
        return ()
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns

"""Files of metadata that this process has read or written, kept by where they lie.

None ever changes: its name holds a UUID, and every commit writes others. To parse table metadata
with a thousand snapshots takes longer than all the rest of a small commit, so it is kept as it was
parsed. Of other files those that are far away are kept as bytes: a commit reads the manifest list
that the last one wrote, and each read of a table begins with the same few files.

Rules:
    - Only files with a UUID in their names are kept, and only for callers that reach them by the
      same FileIO properties; keys that the catalog handed out may be others.
    - Where table metadata lies on this machine, its file is looked at each time, which costs next
      to nothing: if it was removed, replaced or damaged since, it is read as if nothing were kept.
    - What was parsed is shared by everybody who loads it. Nobody changes it in place.
    - Bytes are kept whole: who read them has compared them with their checksum. Of a file of this
      machine none are: it costs next to nothing to read.

Memory: the metadata of ``_MOST`` files, of which those with a thousand snapshots take a few MB, and
``MAX_KEPT_BYTES``.
"""

from __future__ import annotations

import os
import re

from pyiceberg.table.metadata import TableMetadata

from arctic.iceberg.storage.local_files import local_path
from arctic.last_used import LastUsed

Properties = tuple[tuple[str, str], ...]
"""By which those are known who reach files: ``known_by`` of how they do."""

_MOST = 8
MAX_KEPT_BYTES = 16 * 2**20

_UNIQUE = re.compile(
    r".*-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.gz)?\.metadata\.json", re.DOTALL
)
_UNIQUE_FAR = re.compile(
    r".*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-m\d+)?\.(avro|puffin|(gz\.)?metadata\.json)",
    re.DOTALL,
)
_Stamp = tuple[int, ...]


class KeptMetadata:
    """The newest metadata that was used, by location; safe for threads and forks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: LastUsed[tuple[str, Properties], tuple[_Stamp, TableMetadata]] = LastUsed()

    def get(self, location: str, properties: Properties) -> TableMetadata | None:
        """Return the metadata of a file; None: it is to be read."""
        found = self._kept.get((location, properties))
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
        if stamp is not None:
            self._kept.put((location, properties), (stamp, metadata), weight=1, most=self._most)

    def known(self) -> dict[str, TableMetadata]:
        """Return everything that is kept, by location."""
        return {location: metadata for (location, _), (_, metadata) in self._kept.held()}

    def forget(self) -> None:
        """Keep nothing."""
        self._kept.forget()


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


class KeptFiles:
    """The bytes of the files that were used last; safe for threads and forks."""

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
    return _UNIQUE_FAR.fullmatch(location) is not None and local_path(location) is None

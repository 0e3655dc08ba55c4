"""What manifests hold, decoded once per process: the one cache of both decoders.

A manifest never changes, so what was read from its path stays true; the memory is bounded by the
weight of what is kept.

Two decoders read the same bytes for two uses. ``manifest_decoder`` keeps a dozen values of each
file, and is what planning of very many files affords. ``manifest_files`` makes PyIceberg's own
entries, because a commit that replaces files writes the other entries of their manifests again,
and must write every field of them as it was: a file's column sizes, value counts, NaN counts,
split offsets and encryption keys, which a view of the first would have dropped.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TypeVar, cast

MAX_CACHED_BYTES = 140_000_000
"""Of all tables together."""

Entry = TypeVar("Entry")


class ManifestCache:
    """What was decoded of manifests; those that were used last stay."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[type, str], tuple[tuple[object, ...], int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, kind: type[Entry], path: str) -> tuple[Entry, ...] | None:
        """Return what was kept of one kind for a manifest."""
        with self._lock:
            kept = self._kept.get((kind, path))
            if kept is None:
                return None
            self._kept.move_to_end((kind, path))
            return cast(tuple[Entry, ...], kept[0])

    def put(
        self, kind: type[Entry], path: str, entries: tuple[Entry, ...], *, entry_bytes: int
    ) -> None:
        """Keep the entries of a manifest, unless they alone are too heavy.

        Args:
            kind: of the entries.
            path: of the manifest.
            entries: all of them.
            entry_bytes: what one of them weighs, about.
        """
        weight = len(entries) * entry_bytes
        with self._lock:
            if (kind, path) in self._kept or weight > self._max_bytes:
                return
            self._kept[kind, path] = entries, weight
            self._bytes += weight
            while self._bytes > self._max_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]

    @property
    def weight(self) -> int:
        """How many bytes are kept now, about."""
        return self._bytes


CACHE = ManifestCache(MAX_CACHED_BYTES)

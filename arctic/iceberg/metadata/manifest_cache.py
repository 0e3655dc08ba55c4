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

from typing import TypeVar, cast

from arctic.last_used import LastUsed

MAX_CACHED_BYTES = 140_000_000
"""Of all tables together."""

Entry = TypeVar("Entry")


class ManifestCache:
    """What was decoded of manifests, used last; safe for threads and forks."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: LastUsed[tuple[type, str], tuple[object, ...]] = LastUsed()

    def get(self, kind: type[Entry], path: str) -> tuple[Entry, ...] | None:
        """Return what was kept of one kind for a manifest."""
        return cast("tuple[Entry, ...] | None", self._kept.get((kind, path)))

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
        self._kept.put((kind, path), entries, weight=weight, most=self._max_bytes)

    def forget(self) -> None:
        """Keep nothing."""
        self._kept.forget()

    @property
    def weight(self) -> int:
        """How many bytes are kept now, about."""
        return self._kept.weight


CACHE = ManifestCache(MAX_CACHED_BYTES)

"""The properties by which PyIceberg opens files: those beneath its checks, and those that end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from arctic.table.property_names import CHOSEN_IO

IO_IMPL = "py-io-impl"
"""Names another FileIO, for every scheme."""
CHECKED = "arctic.iceberg.storage.checked_io.CheckedFileIO"


class KeySource(Protocol):
    """Keys of a store that end, and are followed by others; goes to tasks."""

    def properties(self, path: str) -> Mapping[str, str]:
        """Return how a file is reached, by keys that have not ended as far as anybody knows."""
        ...

    def renewed(self, path: str, tried: Mapping[str, str]) -> Mapping[str, str] | None:
        """Return how a file is reached by other keys than those tried; None: by none."""
        ...


def with_checks(properties: Mapping[str, str]) -> dict[str, str]:
    """Return FileIO properties with which metadata is checked.

    >>> with_checks({"py-io-impl": "their.IO"})["arctic.py-io-impl"]
    'their.IO'
    """
    plain = without_checks(properties)
    kept = {CHOSEN_IO: plain[IO_IMPL]} if IO_IMPL in plain else {}
    return {**plain, **kept, IO_IMPL: CHECKED}


def without_checks(properties: Mapping[str, str]) -> dict[str, str]:
    """Return FileIO properties as the user gave them.

    What a configuration says in several lines, how to log in and by which certificates, is the
    catalog's alone.

    >>> without_checks(with_checks({"py-io-impl": "their.IO", "s3.region": "x"}))
    {'py-io-impl': 'their.IO', 's3.region': 'x'}
    """
    plain = {
        name: text
        for name, text in properties.items()
        if name != CHOSEN_IO and not isinstance(text, Mapping)
    }
    if plain.get(IO_IMPL) == CHECKED:
        del plain[IO_IMPL]
        if CHOSEN_IO in properties:
            plain = {IO_IMPL: properties[CHOSEN_IO], **plain}
    return plain

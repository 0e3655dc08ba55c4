"""The properties by which PyIceberg opens files: those beneath its checks, and those that end.

What was read by some properties is kept for whoever comes with the same. Those of a catalog say
who opened it, by a digest of all that it was opened with. So two who log in differently share
nothing, whatever each may read. Keys that the catalog hands out are the same person's however often
they come anew: that there are some counts, and not what they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Protocol

from arctic.table.property_names import CHOSEN_IO, OPENED_BY

IO_IMPL = "py-io-impl"
"""Names another FileIO, for every scheme."""
_SIGNER = "s3.signer"
"""Has each request signed by the catalog, whom it asks by what logs in to it."""
_OF_KEYS = re.compile("key|secret|token|credential|expir", re.IGNORECASE)
"""In names of properties that are a key, or say when one ends."""
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
    catalog's alone. So is what PyIceberg makes of it, which is no text, but for those whom it may
    concern: who has requests signed, and whatever FileIO the user chose.

    >>> without_checks(with_checks({"py-io-impl": "their.IO", "s3.region": "x"}))
    {'py-io-impl': 'their.IO', 's3.region': 'x'}
    """
    takes_objects = _SIGNER in properties or CHOSEN_IO in properties
    plain = {
        name: text
        for name, text in properties.items()
        if name != CHOSEN_IO
        and (_is_plain(text) or (takes_objects and not isinstance(text, Mapping)))
    }
    if plain.get(IO_IMPL) == CHECKED:
        del plain[IO_IMPL]
        if CHOSEN_IO in properties:
            plain = {IO_IMPL: properties[CHOSEN_IO], **plain}
    return plain


def opened_by(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return what to add to the properties of a catalog, so that they say who opened it.

    Args:
        properties: all that it was opened with, sections of a configuration among them.
    """
    told = json.dumps(dict(properties), sort_keys=True, default=str)
    return {OPENED_BY: blake2b(told.encode(), digest_size=20).hexdigest()}


def known_by(properties: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return by what those are known who reach files by these properties, sorted.

    >>> known_by({"s3.region": "x", "s3.session-token": "1"})
    (('s3.region', 'x'), ('s3.session-token', '1'))
    >>> known_by({"arctic.opened-by": "4f2c", "s3.region": "x", "s3.session-token": "1"})
    (('arctic.opened-by', '4f2c'), ('s3.region', 'x'), ('s3.session-token', ''))
    """
    is_told = OPENED_BY in properties
    return tuple(
        sorted(
            (name, "" if is_told and _OF_KEYS.search(name) else str(text))
            for name, text in properties.items()
            if _is_plain(text)
        )
    )


def _is_plain(text: object) -> bool:
    return isinstance(text, str | int | float)

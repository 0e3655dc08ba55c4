"""The properties by which PyIceberg finds the FileIO that checks metadata, and those beneath it."""

from __future__ import annotations

from collections.abc import Mapping

IO_IMPL = "py-io-impl"
"""Names another FileIO, for every scheme."""
CHECKED = "arctic.iceberg.checked_io.CheckedFileIO"
_USERS = "arctic.py-io-impl"
"""Keeps the FileIO that the user has chosen."""


def with_checks(properties: Mapping[str, str]) -> dict[str, str]:
    """Return FileIO properties with which metadata is checked.

    >>> with_checks({"py-io-impl": "their.IO"})["arctic.py-io-impl"]
    'their.IO'
    """
    plain = without_checks(properties)
    kept = {_USERS: plain[IO_IMPL]} if IO_IMPL in plain else {}
    return {**plain, **kept, IO_IMPL: CHECKED}


def without_checks(properties: Mapping[str, str]) -> dict[str, str]:
    """Return FileIO properties as the user gave them.

    >>> without_checks(with_checks({"py-io-impl": "their.IO", "s3.region": "x"}))
    {'py-io-impl': 'their.IO', 's3.region': 'x'}
    """
    plain = {name: text for name, text in properties.items() if name != _USERS}
    if plain.get(IO_IMPL) == CHECKED:
        del plain[IO_IMPL]
        if _USERS in properties:
            plain = {IO_IMPL: properties[_USERS], **plain}
    return plain

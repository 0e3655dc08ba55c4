"""Checksums inside metadata files, where each kind has room that other readers pass over.

A checksum covers the name of the file and every byte of it, its own digits taken as zeros. So a
file that was damaged is told from a whole one, and a whole one under another's name as well.

Table metadata with ten thousand snapshots has megabytes, and a commit writes nearly the same ones
again. So there the name is covered last, and what the last file began with is not gone over anew.

Rules:
    - A file without a checksum is as good as ever: other engines write them so.
    - Nothing here knows what a file is for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import takewhile

from arctic.errors import FormatError
from arctic.last_used import GrowingLists

CHECKSUM = "arctic-checksum"
UNKNOWN = "0" * 32
"""Stands where a checksum goes, until the rest of the file is known."""
LONG_PART = 1 << 16
"""Bytes of a part of a file from which on it is worth being known again;"""
_LONG_PIECE = 1 << 13
"""and of what becomes of one that is compressed."""

_NAME_LAST = "name-last:"
GZIP_ROOM = f"{CHECKSUM}={_NAME_LAST}{UNKNOWN}".encode()
"""Stands for the name of the original file in the header of gzip."""
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = re.compile(
    rb"\A\x1f\x8b\x08\x08.{6}arctic-checksum=name-last:([0-9a-f]{32})\x00", re.DOTALL
)
"""Table metadata that is compressed, see ``packed_metadata``: the bytes as they lie are covered."""
_JSON = re.compile(rb'\A\{"arctic-checksum":"(?:name-last:)?([0-9a-f]{32})"')
"""Table metadata: the first member of the object. Files of before cover their names first."""
_AVRO = re.compile(rb"\AObj\x01[\x02-\x7e]\x1earctic-checksum@([0-9a-f]{32})")
"""Manifests and manifest lists: the first entry of the header's map, lengths before the texts."""
_PUFFIN = re.compile(rb'"arctic-checksum": "([0-9a-f]{32})"\}\}.{8}PFA1\Z', re.DOTALL)
"""Puffin files: the last property of the footer, before its length, its flags and the magic."""

_AVRO_MAGIC = b"Obj\x01"
_AVRO_ENTRY = b"\x1e" + CHECKSUM.encode() + b"@" + UNKNOWN.encode()
_AVRO_COUNTS = {bytes([2 * count]) for count in range(1, 63)}
"""Numbers of entries, as Avro writes them, to which one more can be added in the same byte."""


def sealed(path: str, parts: Sequence[bytes]) -> Sequence[bytes]:
    """Return a file with its checksum in it; as it is, where there is no room for one.

    Args:
        path: where it is going to be.
        parts: the whole file, one after the other. Table metadata can have many megabytes: no part
            but its first is copied.
    """
    if not parts or not parts[0].startswith((b'{"', _GZIP_MAGIC)):
        parts = (_with_room(b"".join(parts)),)
        found = _found(parts[0])
    elif parts[0].startswith(_GZIP_MAGIC):
        found = _GZIP.match(parts[0])
    else:
        found = _JSON.match(parts[0])
        if found is None:
            parts = (f'{{"{CHECKSUM}":"{_NAME_LAST}{UNKNOWN}",'.encode() + parts[0][1:], *parts[1:])
            found = _JSON.match(parts[0])
    if found is None:
        return parts
    start, end = found.span(1)
    before, after = parts[0][:start], (parts[0][end:], *parts[1:])
    return before, _digest(path, before, *after), *after


def check(path: str, content: bytes) -> bool:
    """Compare a file with its checksum; return whether it has one.

    Raises:
        FormatError: it is not what was written under this name, naming the file.
    """
    found = _found(content)
    if found is None:
        return False
    start, end = found.span(1)
    view = memoryview(content)
    if found.group(1) != _digest(path, view[:start], view[end:]):
        raise FormatError(
            f"file {path!r}: its checksum does not match: it was damaged, or it is another file "
            "under this name; restore it from a copy"
        )
    return True


def _with_room(content: bytes) -> bytes:
    """Return a file of Avro with a place for its checksum."""
    if content.startswith(_AVRO_MAGIC) and not _AVRO.match(content):
        start = len(_AVRO_MAGIC)
        count = content[start : start + 1]
        if count in _AVRO_COUNTS:
            return _AVRO_MAGIC + bytes([count[0] + 2]) + _AVRO_ENTRY + content[start + 1 :]
    return content


def _found(content: bytes) -> re.Match[bytes] | None:
    if content.endswith(b"PFA1"):
        return _PUFFIN.search(content, max(0, len(content) - 128))
    return _JSON.match(content) or _AVRO.match(content) or _GZIP.match(content)


def _digest(path: str, before: bytes | memoryview, *after: bytes | memoryview) -> bytes:
    name = path.rpartition("/")[2].encode()
    head = bytes(before) + UNKNOWN.encode()
    if not head.endswith(f"{_NAME_LAST}{UNKNOWN}".encode()):
        return _hashed(None, (name, head, *after)).hexdigest().encode()
    first, *others = after
    least = _LONG_PIECE if head.startswith(_GZIP_MAGIC) else LONG_PART
    long = tuple(takewhile(lambda part: len(part) >= least, others))
    begun = (head, first, *long)
    state = _BEGUN.of(long[0], begun) if long else _hashed(None, begun)
    return _hashed(state, (*others[len(long) :], name)).hexdigest().encode()


def _hashed(state: hashlib.blake2b | None, parts: Sequence[bytes | memoryview]) -> hashlib.blake2b:
    """Return a state that has gone over further parts; the one before stays as it is."""
    state = hashlib.blake2b(digest_size=16) if state is None else state.copy()
    for part in parts:
        state.update(part)
    return state


_BEGUN = GrowingLists(_hashed)
"""Of this process: over what files begin with."""

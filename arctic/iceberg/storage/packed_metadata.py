"""Metadata files in gzip, of which a commit compresses what is new alone.

With ten thousand snapshots a metadata file has six megabytes, and to write them and delete those of
an old one takes longer than the rest of a tiny commit. In gzip they are one.

Rules:
    - A file is one member of gzip, as any other; its name says so, and readers go by that. Long
      parts are compressed each for itself, and end so that others can follow (a full flush).
    - Where the name of the original file stands in gzip's header there is room for a checksum.
    - The table decides, by Iceberg's property; where that says nothing, many snapshots do.

Memory: ``_KEPT_BYTES`` of parts that this process has compressed, and of what became of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import groupby, takewhile

from pyiceberg.table.metadata import TableMetadata

from arctic.iceberg.storage.checksum import GZIP_ROOM, LONG_PART
from arctic.last_used import GrowingLists, LastUsed

_PLAIN = ".metadata.json"
PACKED = f".gz{_PLAIN}"
"""How the name of such a file ends."""
MANY_SNAPSHOTS = 2_000
"""With fewer the file is written as fast as it is compressed, and people can read it."""

_CODEC = "write.metadata.compression-codec"
_LEVEL = 1
_KEPT_BYTES = 64 * 2**20
_HEADER = b"\x1f\x8b\x08\x08" + bytes(4) + b"\x04\xff"
"""Deflate, with a name, without a time, compressed fast, of no system."""


def file_name(path: str, metadata: TableMetadata) -> str:
    """Return the name of a metadata file, by which readers know whether it is compressed.

    Args:
        path: where it would lie if it were not.
        metadata: what it says.
    """
    codec = metadata.properties.get(_CODEC, "").lower()
    is_packed = codec == "gzip" or (not codec and len(metadata.snapshots) >= MANY_SNAPSHOTS)
    if not is_packed or path.endswith(PACKED) or not path.endswith(_PLAIN):
        return path
    return path.removesuffix(_PLAIN) + PACKED


def packed(parts: Sequence[bytes]) -> list[bytes]:
    """Return a file in gzip.

    Args:
        parts: all of it; those of ``LONG_PART`` bytes and more come again in the next files.
    """
    first, *others = parts
    pieces = [_HEADER + GZIP_ROOM + b"\x00" + _deflated(first, zlib.Z_FULL_FLUSH)]
    for is_long, group in groupby(others, lambda part: len(part) >= LONG_PART):
        some = list(group)
        pieces += map(_long, some) if is_long else [_deflated(b"".join(some), zlib.Z_FULL_FLUSH)]
    length = sum(map(len, parts)) & 0xFFFFFFFF
    ending = _crc(parts).to_bytes(4, "little") + length.to_bytes(4, "little")
    return [*pieces, _deflated(b"", zlib.Z_FINISH) + ending]


def _long(part: bytes) -> bytes:
    piece = _PIECES.get(part)
    if piece is None:
        piece = _deflated(part, zlib.Z_FULL_FLUSH)
        _PIECES.put(part, piece, weight=len(part) + len(piece), most=_KEPT_BYTES)
    return piece


def _deflated(part: bytes, end: int) -> bytes:
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflate.compress(part) + deflate.flush(end)


def _crc(parts: Sequence[bytes]) -> int:
    """Return the checksum of gzip; over what files begin with it is gone on with."""
    long = tuple(takewhile(lambda part: len(part) >= LONG_PART, parts[1:]))
    begun = (parts[0], *long)
    value = _CHECKED.of(long[0], begun) if long else _gone_over(None, begun)
    return _gone_over(value, parts[len(begun) :])


def _gone_over(value: int | None, parts: Sequence[bytes]) -> int:
    value = value or 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


_PIECES: LastUsed[bytes, bytes] = LastUsed()
_CHECKED = GrowingLists(_gone_over)
"""Both of this process."""

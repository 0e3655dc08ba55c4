"""A block as the bytes of a file of its own, with what tells whether they are whole.

Rules:
    - Bytes that are not exactly what was written for this block of this file are no block: cut,
      damaged, of another file, of another version of Arctic.
"""

from __future__ import annotations

import struct
from zlib import crc32

from arctic.iceberg.storage.cache.block import Block, block_range

_MAGIC = b"ARB1"
_HEAD = struct.Struct("<4s20sIQ")
"""Magic, key of the file, number of the block, length of the file."""
_SUM = struct.Struct("<I")
"""A checksum of all the rest: of 32 bits, which a disk that errs meets once in 4 billion errors,
and in a fifth of the time of a hash."""
HEAD_BYTES = _HEAD.size + _SUM.size


def sealed_block(key: bytes, block: Block) -> bytes:
    """Return the bytes of a file that holds a block."""
    head = _HEAD.pack(_MAGIC, key, block.number, block.file_bytes)
    return b"".join((head, _SUM.pack(crc32(block.content, crc32(head))), block.content))


def block_in(sealed: bytes, key: bytes, number: int) -> Block | None:
    """Return the block in the bytes of a file; None: it is not in them, or not whole."""
    if len(sealed) < HEAD_BYTES:
        return None
    head, content = sealed[: _HEAD.size], sealed[HEAD_BYTES:]
    magic, found_key, found_number, file_bytes = _HEAD.unpack(head)
    if (magic, found_key, found_number) != (_MAGIC, key, number):
        return None
    (checksum,) = _SUM.unpack_from(sealed, _HEAD.size)
    start, end = block_range(number, file_bytes)
    if len(content) != end - start or crc32(content, crc32(head)) != checksum:
        return None
    return Block(number, file_bytes, content)

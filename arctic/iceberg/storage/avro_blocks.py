"""The blocks of an Avro file, which is whole or is refused.

PyIceberg's compiled decoder trusts every length: bytes that are damaged can end the process. So it
only sees what a checksum vouches for; other files are decoded by a slower one that trusts nothing.

Rules:
    - Whatever is wrong with the bytes is a FormatError that names the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from pyiceberg.avro.decoder import BinaryDecoder, new_decoder
from pyiceberg.avro.file import MAGIC, META_SCHEMA, SYNC_SIZE, AvroFileHeader
from pyiceberg.avro.resolver import construct_reader

from arctic.errors import ArcticError, FormatError
from arctic.iceberg.storage.checksum import check

_HEADER = construct_reader(META_SCHEMA, {-1: AvroFileHeader})
_MOST_BITS = 63
"""Before the last byte of a number, seven in each."""


class Block(NamedTuple):
    """Records that were compressed together."""

    entries: int
    decoder: BinaryDecoder
    plain_bytes: int

    def check_end(self) -> None:
        """Refuse what follows the last record; to be called after it was read."""
        if self.decoder.tell() != self.plain_bytes:
            raise ValueError(f"a block of {self.entries} entries holds more than them")


class AvroContent:
    """An Avro file in memory."""

    def __init__(self, path: str, content: bytes) -> None:
        self._content = content
        self._decoder_of = new_decoder if check(path, content) else CheckedDecoder
        self._decoder = self._decoder_of(content)
        self._header: AvroFileHeader = _HEADER.read(self._decoder)
        if self._header.magic != MAGIC:
            raise ValueError("it does not begin as an Avro file")

    @property
    def meta(self) -> Mapping[str, str]:
        """What the header says of the file."""
        return self._header.meta

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks; each record must be read before the next block is asked for."""
        codec = self._header.compression_codec()
        decoder = self._decoder
        while decoder.tell() < len(self._content):
            count = decoder.read_int()
            packed = decoder.read(decoder.read_int())
            if decoder.read(SYNC_SIZE) != self._header.sync:
                raise ValueError("a block does not end in the file's marker")
            plain = packed if codec is None else codec.decompress(packed)
            if not 0 <= count <= len(plain):
                raise ValueError(f"a block of {len(plain)} bytes is said to hold {count} entries")
            yield Block(count, self._decoder_of(plain), len(plain))


@contextmanager
def decoding(subject: str) -> Iterator[None]:
    """Translate whatever the decoding of a file raises.

    Args:
        subject: the file: ``manifest '/x'``.
    """
    try:
        yield
    except (ArcticError, MemoryError):
        raise
    except Exception as error:  # PyIceberg raises anything on bytes that it trusts
        reason = str(error) or "it ends early"
        raise FormatError(f"{subject}: it cannot be decoded: {reason}") from error


class CheckedDecoder(BinaryDecoder):
    """Reads Avro's values out of bytes that may be anything; never beyond their end."""

    __slots__ = ("_at", "_content", "_end")

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._end = len(content)

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._at

    def read(self, n: int) -> bytes:
        """Read so many bytes."""
        start = self._at
        self.skip(n)
        return self._content[start : self._at]

    def skip(self, n: int) -> None:
        """Pass so many bytes over."""
        if not 0 <= n <= self._end - self._at:
            raise EOFError(f"{n} bytes are asked for where {self._end - self._at} are left")
        self._at += n

    def read_int(self) -> int:
        """Read a number of seven bits a byte, its sign in the last bit."""
        content, at = self._content, self._at
        try:
            byte = content[at]
            number = byte & 0x7F
            shift = 7
            while byte & 0x80:
                if shift > _MOST_BITS:
                    raise ValueError("a number is longer than 64 bits")
                at += 1
                byte = content[at]
                number |= (byte & 0x7F) << shift
                shift += 7
        except IndexError:
            raise EOFError("it ends in a number") from None
        self._at = at + 1
        return (number >> 1) ^ -(number & 1)

    def read_ints(self, n: int) -> tuple[int, ...]:
        """Read so many numbers."""
        if not 0 <= n <= self._end - self._at:
            raise EOFError(f"{n} numbers are asked for where {self._end - self._at} bytes are left")
        return tuple([self.read_int() for _ in range(n)])

    def read_bytes(self) -> bytes:
        """Read bytes behind their number."""
        return self.read(self.read_int())

    def skip_int(self) -> None:
        """Pass a number over."""
        self.read_int()

"""The checksum of a Parquet footer, inside that footer.

Parquet has checksums of pages and none of the footer, which says where the pages are, which columns
they hold, and by its bounds which of them need not be read.

It stands in the file's key-value metadata, before the name of the file, and covers all of the
footer but its own digits. Some engines copy key-value metadata into files that they write anew, so
a checksum that fits neither the footer nor the name of the file says nothing.

Where a file has bloom filters, one more text says where what lies between the rows and the footer
begins, and has its checksum: by a damaged filter, rows would be left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from arctic.errors import FormatError
from arctic.table.property_names import FOOTER_CHECKSUM, INDEX_CHECKSUM

KEY = FOOTER_CHECKSUM
INDEX_KEY = INDEX_CHECKSUM
_DIGITS, _PLACE = 32, 20
_BEFORE = KEY.encode() + b"\x18"
"""The key, then what Thrift writes before a text; its length follows, seven bits in each byte."""


def unknown(path: str) -> str:
    """Return what stands in the metadata of a file until its footer is known."""
    return f"{'0' * _DIGITS} {_name(path)}"


def unknown_indexes(path: str) -> str:
    """Return what stands there for the filters, of which nothing is known yet either."""
    return f"{'0' * _DIGITS} {'0' * _PLACE} {_name(path)}"


def sealed(path: str, footer: bytes, *, indexes: bytes, start: int) -> bytes:
    """Return a footer with checksums in place of ``unknown`` and ``unknown_indexes``.

    Args:
        path: of the file.
        footer: to the end of the file.
        indexes: what lies between the rows and the footer.
        start: where they begin.
    """
    digest = hashlib.blake2b(indexes, digest_size=_DIGITS // 2).hexdigest()
    known = f"{digest} {start:0{_PLACE}} {_name(path)}"
    return _sealed(path, footer.replace(unknown_indexes(path).encode(), known.encode()))


def index_start(path: str, metadata: Mapping[bytes, bytes] | None) -> int | None:
    """Return where the indexes of a file begin; None: their checksum is not known.

    Args:
        path: of the file.
        metadata: the key-value metadata of its footer.
    """
    _, place, name = _index_parts(metadata)
    return int(place) if name == _name(path).encode() and place.isdigit() else None


def check_indexes(path: str, metadata: Mapping[bytes, bytes] | None, indexes: bytes) -> None:
    """Compare the indexes of a file with their checksum, where ``index_start`` knows it.

    Raises:
        FormatError: they are not what was written.
    """
    digest = hashlib.blake2b(indexes, digest_size=_DIGITS // 2).hexdigest().encode()
    if digest != _index_parts(metadata)[0]:
        raise FormatError(
            f"file {path!r}: the checksum of its indexes does not match: it was damaged; restore "
            "it from a copy"
        )


def _index_parts(metadata: Mapping[bytes, bytes] | None) -> tuple[bytes, bytes, bytes]:
    text = (metadata or {}).get(INDEX_KEY.encode(), b"")
    digest, _, rest = text.partition(b" ")
    place, _, name = rest.partition(b" ")
    return digest, place, name


def _sealed(path: str, footer: bytes) -> bytes:
    start = footer.rindex(unknown(path).encode())
    return b"".join((footer[:start], _digest(footer, start), footer[start + _DIGITS :]))


def check(path: str, footer: bytes) -> None:
    """Compare a footer with its checksum; a footer that has none is accepted.

    Raises:
        FormatError: it is not what was written under this name.
    """
    at = footer.rfind(_BEFORE)
    if at < 0:
        return
    start, length = _text(footer, at + len(_BEFORE))
    is_own = footer[start + _DIGITS + 1 : start + length] == _name(path).encode()
    is_whole = footer[start : start + _DIGITS] == _digest(footer, start)
    if is_own != is_whole:
        what = "it was damaged" if is_own else "it is another file under this name"
        raise FormatError(
            f"file {path!r}: the checksum of its footer does not match: {what}; restore it from a "
            "copy"
        )


def _text(footer: bytes, at: int) -> tuple[int, int]:
    """Return where a text begins, and its length."""
    length = shift = 0
    while shift < 28 and footer[at] & 0x80:
        length |= (footer[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return at + 1, length | footer[at] << shift


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _digest(footer: bytes, start: int) -> bytes:
    state = hashlib.blake2b(footer[:start], digest_size=_DIGITS // 2)
    state.update(footer[start + _DIGITS :])
    return state.hexdigest().encode()

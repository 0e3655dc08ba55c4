"""Descriptions of tables that a binary log repeats before every statement, taken in once.

The client takes one apart column by column in Python, for most of the time that it spends on a row
which was changed alone.

Rules:
    - One is left out only if it is, byte for byte, the last of its number, and the client has had
      no other file of the log since: numbers begin anew in some. So the client knows the same.
    - What has no checksum at its end is never left out: its last bytes say something else.

Source: the layouts are those of MySQL's "Binary Log Event".
"""

from __future__ import annotations

import zlib

_ROTATE, _FORMAT, _TABLE_MAP = 4, 15, 19
_BODY = 20
"""Where the body of an event begins in its packet, behind a zero and the header."""
_NUMBER = slice(_BODY, _BODY + 6)
_CHECKSUM_BYTES = 4


class KnownTables:
    """What the client of one connection has taken in."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._bodies: dict[bytes, bytes] = {}

    def has(self, packet: bytes) -> bool:
        """Say whether a packet tells what the client knows; what it does not know is noted.

        Args:
            packet: whatever the server sent, events of a log among it, in order.
        """
        if len(packet) < _BODY or packet[0] or _size(packet) != len(packet) - 1:
            return False
        kind = packet[5]
        if kind in (_ROTATE, _FORMAT):
            self._bodies.clear()
        if kind != _TABLE_MAP:
            return False
        number, body = packet[_NUMBER], packet[_BODY:-_CHECKSUM_BYTES]
        if self._bodies.get(number) == body and _is_checked(packet):
            return True
        self._bodies[number] = body
        return False


def _size(packet: bytes) -> int:
    return int.from_bytes(packet[10:14], "little")


def _is_checked(packet: bytes) -> bool:
    told = int.from_bytes(packet[-_CHECKSUM_BYTES:], "little")
    return zlib.crc32(packet[1:-_CHECKSUM_BYTES]) == told

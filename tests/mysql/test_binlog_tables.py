"""A description of a table is left out where the client has had it, byte for byte."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from arctic.mysql.binlog_tables import KnownTables

ROTATE, FORMAT, TABLE, ROWS = 4, 15, 19, 23


def event(kind: int, body: bytes, *, place: int = 1, is_checked: bool = True) -> bytes:
    """Return a packet that holds an event of a log."""
    size = (19 + len(body) + 4).to_bytes(4, "little")
    whole = b"\x09\x00\x00\x00" + bytes([kind]) + b"\x01\x00\x00\x00" + size
    whole += place.to_bytes(4, "little") + b"\x00\x00" + body
    return b"\x00" + whole + (zlib.crc32(whole) ^ (not is_checked)).to_bytes(4, "little")


def table(number: int, columns: bytes, *, place: int = 1, is_checked: bool = True) -> bytes:
    """Return a description of a table."""
    body = number.to_bytes(6, "little") + b"\x01\x00" + columns
    return event(TABLE, body, place=place, is_checked=is_checked)


@dataclass(frozen=True)
class Case:
    """Packets, and whether the last one is known."""

    id: str
    packets: Sequence[bytes]
    expected: bool


ROW = event(ROWS, b"\x07\x00\x00\x00\x00\x00row")
CASES = [
    Case("the first", [table(7, b"ab")], False),
    Case("again, elsewhere in the log", [table(7, b"ab"), ROW, table(7, b"ab", place=9)], True),
    Case("another table", [table(7, b"ab"), table(8, b"ab")], False),
    Case("other columns", [table(7, b"ab"), table(7, b"ac")], False),
    Case("the last but one", [table(7, b"ab"), table(7, b"ac"), table(7, b"ab")], False),
    Case("two at once", [table(7, b"ab"), table(8, b"x"), table(7, b"ab")], True),
    Case("in the next file", [table(7, b"ab"), event(ROTATE, b"bin.2"), table(7, b"ab")], False),
    Case("behind a beginning", [table(7, b"ab"), event(FORMAT, b"11.4"), table(7, b"ab")], False),
    Case("without a checksum", [table(7, b"ab", is_checked=False)] * 2, False),
    Case("rows are never known", [ROW, ROW], False),
    Case("what is no event", [table(7, b"ab")[:-1] + b"xy"] * 2, False),
    Case("what is shorter than any", [b"\x00\x00\x00\x02\x00\x13\x00"] * 2, False),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_the_client_knows_is_left_out(case: Case) -> None:
    """All else is handed on, and noted."""
    known = KnownTables()
    *before, last = case.packets
    for packet in before:
        known.has(packet)

    assert known.has(last) is case.expected

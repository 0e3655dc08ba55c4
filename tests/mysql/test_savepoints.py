"""Transactions of a log that take some of their rows back; the server is a list of events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from arctic.errors import UnsupportedError
from arctic.mysql.binlog import Binlog

BEGUN = (1 << 32) + 4


@dataclass
class QueryEvent:
    """A statement."""

    query: str
    schema: bytes = b"shop"
    event_type: int = 2
    packet: Any = None


@dataclass
class XidEvent:
    """The end of a transaction."""

    event_type: int = 16
    packet: Any = None


@dataclass
class WriteRowsEvent:
    """One row, which is a number."""

    number: int
    schema: str = "shop"
    table: str = "t"
    number_of_columns: int = 1
    columns_present_bitmap: bytes = b"\x01"
    columns: Any = None
    event_type: int = 23
    packet: Any = None


@dataclass
class Stream:
    """What a server sends, 100 bytes for each event."""

    events: Iterator[Any]
    log_file: str = "bin.000001"
    log_pos: int = field(default=4)

    def fetchone(self) -> Any:
        """Return the next event; None: there is none."""
        event = next(self.events, None)
        if event is not None:
            self.log_pos += 100
            payload = f"{getattr(event, 'number', '')}....".encode()
            event.packet = SimpleNamespace(
                log_pos=self.log_pos, flags=0, packet=SimpleNamespace(read_all=lambda: payload)
            )
        return event


def _read(*log: str | int) -> tuple[list[int], int]:
    """Return the rows of a log, and how far it was read; it has statements, and rows."""
    events: list[Any] = [QueryEvent("BEGIN")]
    for each in log:
        ends = XidEvent() if each == "COMMIT" else QueryEvent(str(each))
        events.append(WriteRowsEvent(each) if isinstance(each, int) else ends)
    binlog = Binlog(
        connection=None, server={}, server_id=1, sources=frozenset({("shop", "t")}), place=BEGUN,
        _stream=Stream(iter(events)),
    )  # fmt: skip
    piece = binlog.read(100)
    return [int(each.payload) for each in piece.rows], piece.reached


@pytest.mark.parametrize(
    "back", ["ROLLBACK TO Half", "ROLLBACK TO hALF", "rollback work to savepoint `HALF` /* app */"]
)
def test_rows_after_a_savepoint_are_taken_back(back: str) -> None:
    """However it is named; those before it stay, and so do those that come later."""
    rows, _ = _read(1, "SAVEPOINT `Half`", 2, "SAVEPOINT `later`", 3, back, 4, "COMMIT")

    assert rows == [1, 4]


def test_a_savepoint_that_is_set_again_is_where_it_was_set_last() -> None:
    """And going back to it leaves it there."""
    rows, _ = _read(
        1, "SAVEPOINT a", 2, "SAVEPOINT A", 3, "ROLLBACK TO a", 4, "ROLLBACK TO a", 5, "COMMIT"
    )  # fmt: skip

    assert rows == [1, 2, 5]


def test_a_savepoint_of_another_transaction_is_none() -> None:
    """Which rows would stay is not known: it is an error, not all of them or none."""
    with pytest.raises(UnsupportedError, match="to savepoint 'a', which its transaction did not"):
        _read(1, "SAVEPOINT a", 2, "COMMIT", "BEGIN", 3, "ROLLBACK TO a", "COMMIT")

    assert _read(1, "COMMIT", "BEGIN", "ROLLBACK TO a", 2, "COMMIT")[0] == [1, 2]


def test_no_place_is_inside_of_a_transaction() -> None:
    """Rows from before it would not be read again."""
    inside: list[str | int] = [
        "SAVEPOINT a",
        2,
        "ROLLBACK TO a",
        "RELEASE SAVEPOINT a",
        "CREATE TEMPORARY TABLE u",
    ]

    assert _read(1, *inside, 3, "COMMIT") == ([1, 3], BEGUN + 900)
    assert _read(1, "COMMIT", "BEGIN", 2, *inside) == ([1], BEGUN + 300)
    assert _read("COMMIT", "CREATE TEMPORARY TABLE u") == ([], BEGUN + 300)

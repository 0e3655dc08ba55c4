"""A binary log, read from a place: whole transactions of some tables, and what altered the tables.

Rules:
    - Rows count once their transaction is complete; what was rolled back never does.
    - What the log holds and this does not know stops it: an event may hold rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from arctic.errors import InvalidInputError, StorageError, UnsupportedError
from arctic.mysql.binlog_columns import binlog_columns
from arctic.mysql.binlog_events import LoggedRows
from arctic.mysql.binlog_stream import (
    POSITION_BITS,
    file_number,
    log_files,
    opened_stream,
    place_of,
    position_in,
)
from arctic.mysql.characters import BinlogColumn
from arctic.mysql.server import mysql_errors
from arctic.mysql.statements import Alteration, alteration_of, savepoint_of

_CHECKSUM_BYTES = 4
_MOST_BYTES = 2**26
_ROW_BYTES = 128
"""A row of an event is taken for so long, to know about how many there are."""
_IGNORABLE = 0x80
_BEGINNINGS = frozenset({"GtidEvent", "MariadbGtidEvent"})
_BEGINNING_NUMBERS = frozenset({34, 42})
"""Of MySQL: transactions without an id, and with one that has a tag."""
_WITHOUT_ROWS = frozenset({5, 13, 27, 28, 36, 37, 41})
"""Numbers of events that the client does not read and that say nothing of rows: variables,
heartbeats, and what MySQL's groups of servers tell one another."""
_ROWS = {"WriteRowsEvent": "I", "UpdateRowsEvent": "U", "DeleteRowsEvent": "D"}
Alterations = tuple[tuple[Alteration, int], ...]
"""Statements that altered a table, one after the other, and where of the log each ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinlogPiece:
    """A piece of the log."""

    rows: tuple[LoggedRows, ...]
    altered: Mapping[str, Alterations]
    """Source -> what was done to it at the very beginning of the piece."""
    reached: int


@dataclass(slots=True, kw_only=True)
class Binlog:
    """The log of a server from a place on; ``read`` goes on where it stopped."""

    connection: Any
    """A session, to ask for the names of files."""
    server: Mapping[str, Any]
    """What PyMySQL is told."""
    server_id: int
    """That of a replica: no two readers of a server have the same."""
    sources: Collection[tuple[str, str]]
    """Schema and name of each table."""
    place: int
    mark: str = ""
    """Tells the file of the place from another one of the same name; empty: not known."""
    _stream: Any = None
    _held: Any = None
    """An event that begins the next piece."""
    _pending: list[LoggedRows] = field(default_factory=list)
    _savepoints: dict[str, int] = field(default_factory=dict)
    _is_open: bool = False
    """Whether a transaction was begun and not completed."""
    _known: dict[Any, tuple[BinlogColumn, ...]] = field(default_factory=dict)
    _last: dict[str, tuple[Any, tuple[BinlogColumn, ...]]] = field(default_factory=dict)
    """Source -> what the client told of it last, and what that came to."""

    def close(self) -> None:
        """Leave the log."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def read(self, limit: int) -> BinlogPiece:
        """Return the next transactions: about as many rows as ``limit``, one transaction at least.

        Raises:
            UnsupportedError: the log holds what this does not know.
            StorageError: the server cannot be reached, or has no such piece of the log any more.
        """
        rows: list[LoggedRows] = []
        altered: dict[str, Alterations] = {}
        count = size = 0
        with mysql_errors("read the binary log"):
            while count < limit and size < _MOST_BYTES:
                event, self._held = self._held or self._next(), None
                if event is None:
                    break
                kind = type(event).__name__
                if kind in ("RotateEvent", "FormatDescriptionEvent"):
                    if self._begins_file(event, kind) and rows:
                        break
                    continue
                done = self._statement(event, kind, rows, altered)
                if done is None:
                    self._held = event
                    break
                for each in done:
                    count += max(1, len(each.payload) // _ROW_BYTES)
                    size += len(each.payload)
        return BinlogPiece(rows=tuple(rows), altered=altered, reached=self.place)

    def _next(self) -> Any:
        if self._stream is None:
            self._stream = self._opened()
        event = self._stream.fetchone()
        if event is None:
            if not self._is_open:
                # What came last may have said nothing of rows.
                last = place_of(self._stream.log_file, self._stream.log_pos)
                self.place = max(self.place, last)
            self._stream, self._is_open = None, False
            self._forget()
        return event

    def _opened(self) -> Any:
        number = file_number(self.place)
        files = log_files(self.connection)
        if number not in files:
            raise StorageError(
                f"the server has no binary log {number} any more; drop the mirrors, and they are "
                "copied anew"
            )
        return opened_stream(self.server, self.server_id, files[number], position_in(self.place),
                       self.sources)  # fmt: skip

    def _begins_file(self, event: Any, kind: str) -> bool:
        """Note which file is read; return whether it is another one than before."""
        if kind == "FormatDescriptionEvent":
            if self.mark and self.mark != str(event.timestamp):
                raise StorageError(
                    f"binary log {file_number(self.place)} is another one than the mirror knows, "
                    "as after RESET MASTER; drop the mirrors, and they are copied anew"
                )
            self.mark = str(event.timestamp)
            return False
        begun = place_of(event.next_binlog, event.position)
        if file_number(begun) == file_number(self.place):
            return False
        # A transaction that a file leaves open was rolled back when the server came up again.
        self._forget()
        self.place, self.mark = begun, ""
        return True

    def _statement(
        self, event: Any, kind: str, rows: list[LoggedRows], altered: dict[str, Alterations]
    ) -> list[LoggedRows] | None:
        """Take an event in; return what it completes, or None if it has to begin a piece."""
        if kind in _ROWS:
            self._take_rows(event, _ROWS[kind])
            return []
        if kind in _BEGINNINGS or event.event_type in _BEGINNING_NUMBERS:
            self._is_open = True
            return []
        if kind == "XidEvent":
            return self._committed(event, rows)
        if kind in ("QueryEvent", "ExecuteLoadQueryEvent"):
            return self._query(event, rows, altered)
        if kind == "XAPrepareEvent":
            if self._pending and not event.one_phase:
                raise UnsupportedError(
                    "the log has a prepared XA transaction of a mirrored table, which is not "
                    "followed; copy the table anew after it"
                )
            return self._committed(event, rows)
        number = event.event_type
        if number not in _WITHOUT_ROWS and not event.packet.flags & _IGNORABLE:
            raise UnsupportedError(
                f"the log has an event of kind {number}, which is not known here and may hold "
                "rows; switch off what writes it, such as compression, and copy the tables anew"
            )
        return []

    def _take_rows(self, event: Any, kind: str) -> None:
        if (event.schema, event.table) not in self.sources:
            return
        source = f"{event.schema}.{event.table}"
        bitmaps = [event.columns_present_bitmap, getattr(event, "columns_present_bitmap2", b"")]
        is_whole = all(
            int.from_bytes(bits, "little") == (1 << event.number_of_columns) - 1
            for bits in bitmaps
            if bits
        )
        if not is_whole:
            raise InvalidInputError(
                f"table {source}: the log does not hold whole rows; set the server's "
                "binlog_row_image to FULL, drop the mirror, and it is copied anew"
            )
        payload = event.packet.packet.read_all()[:-_CHECKSUM_BYTES]
        columns = self._columns(source, event.columns)
        self._pending.append(LoggedRows(source=source, kind=kind, columns=columns, payload=payload))

    def _columns(self, source: str, given: Any) -> tuple[BinlogColumn, ...]:
        last, columns = self._last.get(source, (None, ()))
        if last is given:
            return columns
        key = (
            source,
            *(
                tuple(v if not isinstance(v, list) else tuple(v) for v in vars(column).values())
                for column in given
            ),
        )
        if key not in self._known:
            self._known[key] = binlog_columns(source, given)
        self._last[source] = given, self._known[key]
        return self._known[key]

    def _committed(self, event: Any, rows: list[LoggedRows]) -> list[LoggedRows]:
        self._reach(event)
        done = [replace(each, ends=self.place) for each in self._pending]
        self._forget()
        rows += done
        return done

    def _forget(self) -> None:
        """Take no more rows of the transaction to be there."""
        self._pending.clear()
        self._savepoints.clear()

    def _reach(self, event: Any) -> None:
        reached = (file_number(self.place) << POSITION_BITS) | event.packet.log_pos
        if reached < self.place:
            raise UnsupportedError(
                f"binary log {file_number(self.place)} is longer than 4 GiB, so places in it are "
                "not told apart; drop the mirrors, and they are copied anew"
            )
        self.place, self._is_open = reached, False

    def _query(
        self, event: Any, rows: list[LoggedRows], altered: dict[str, Alterations]
    ) -> list[LoggedRows] | None:
        query = event.query if isinstance(event.query, str) else event.query.decode()
        word = query.strip().upper()
        if word.startswith(("BEGIN", "START TRANSACTION", "XA ")):
            self._is_open = True
            return []
        if word == "COMMIT":
            return self._committed(event, rows)
        if word == "ROLLBACK":
            self._pending.clear()
            return self._committed(event, rows)
        saved = savepoint_of(query)
        if saved is not None:
            self._go_back(*saved)
            return []
        return self._definition(event, query, rows, altered)

    def _go_back(self, verb: str, name: str) -> None:
        """Note how many rows there are at a savepoint, or take back those that came after it."""
        if verb == "SAVEPOINT":
            self._savepoints[name] = len(self._pending)
        elif verb == "ROLLBACK" and self._pending:
            if name not in self._savepoints:
                raise UnsupportedError(
                    f"the log rolls back to savepoint {name!r}, which its transaction did not set, "
                    "so which of its rows stay is not known; drop the mirrors, and they are "
                    "copied anew"
                )
            del self._pending[self._savepoints[name] :]

    def _definition(
        self, event: Any, query: str, rows: list[LoggedRows], altered: dict[str, Alterations]
    ) -> list[LoggedRows] | None:
        """Take in a statement that may alter tables; it begins a piece if it does."""
        database = event.schema.decode() if isinstance(event.schema, bytes) else event.schema
        found = {
            f"{schema}.{table}": done
            for schema, table in self.sources
            if (done := alteration_of(query, database, schema, table)) is not None
        }
        if not found and self._pending:
            # Inside of a transaction, whose place counts once it is complete.
            return []
        emptied = [source for source, done in found.items() if done.truncates]
        others = {source: done for source, done in found.items() if not done.truncates}
        if others and rows:
            return None
        self._reach(event)
        for source, done in others.items():
            altered[source] = (*altered.get(source, ()), (done, self.place))
        done_rows = [
            LoggedRows(source=source, kind="T", columns=(), payload=b"", ends=self.place)
            for source in emptied
        ]
        rows += done_rows
        return done_rows

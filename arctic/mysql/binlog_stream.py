"""The files of a binary log, places in them, and the client that reads one.

Rules:
    - A place is the number of a file and a position in it, as one number that only grows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from arctic.errors import InvalidInputError, StorageError, UnsupportedError
from arctic.mysql.binlog_tables import KnownTables
from arctic.mysql.server import fetched, mysql_errors

FIRST_POSITION = 4
"""Where the first event of a file begins."""
POSITION_BITS = 32


def place_of(file: str, position: int) -> int:
    """Return a place; files are numbered by what follows the last dot of their names.

    >>> place_of("bin.000002", 4) == (2 << 32) + 4
    True
    """
    return (int(file.rpartition(".")[2]) << POSITION_BITS) | position


def file_number(place: int) -> int:
    """Return the number of the file of a place; -1 for a place before every file."""
    return place >> POSITION_BITS


def position_in(place: int) -> int:
    """Return the position of a place in its file."""
    return place & ((1 << POSITION_BITS) - 1)


def log_end(connection: Any) -> int:
    """Return how far the log is written."""
    try:
        found = fetched(connection, "look at the log", "SHOW MASTER STATUS")
    except StorageError:
        # What MySQL calls it from 8.4 on.
        found = fetched(connection, "look at the log", "SHOW BINARY LOG STATUS")
    if not found:
        raise InvalidInputError("the server keeps no binary log; set log_bin")
    return place_of(str(found[0][0]), int(found[0][1]))


def now_ms(connection: Any) -> int:
    """Return the server's time in milliseconds since 1970-01-01 UTC."""
    query = "SELECT FLOOR(UNIX_TIMESTAMP(SYSDATE(6)) * 1000)"
    return int(fetched(connection, "look at the clock", query)[0][0])


def log_files(connection: Any) -> dict[int, str]:
    """Return the files that the server still has, by number."""
    names = [str(row[0]) for row in fetched(connection, "look at the log", "SHOW BINARY LOGS")]
    return {file_number(place_of(name, 0)): name for name in names}


def opened_stream(
    server: Mapping[str, Any],
    server_id: int,
    file: str,
    position: int,
    sources: Collection[tuple[str, str]],
) -> Any:
    """Return the client's reader of a log."""
    try:
        # An extra, which few processes need.
        from pymysqlreplication import BinLogStreamReader, event, row_event  # noqa: PLC0415
    except ImportError as error:
        raise UnsupportedError(
            "the binary log needs mysql-replication; install the extra, in a checkout: "
            "pip install '.[mysql]'"
        ) from error
    wanted = [
        event.GtidEvent, event.MariadbGtidEvent, event.QueryEvent, event.RotateEvent,
        event.FormatDescriptionEvent, event.XidEvent, event.XAPrepareEvent,
        event.ExecuteLoadQueryEvent, event.NotImplementedEvent, row_event.WriteRowsEvent,
        row_event.UpdateRowsEvent, row_event.DeleteRowsEvent, row_event.PartialUpdateRowsEvent,
    ]  # fmt: skip
    return BinLogStreamReader(
        {**server, "read_timeout": 60},
        server_id=server_id,
        log_file=file,
        log_pos=position,
        resume_stream=True,
        only_events=wanted,
        filter_non_implemented_events=False,
        only_schemas=sorted({schema for schema, _ in sources}),
        only_tables=sorted({table for _, table in sources}),
        pymysql_wrapper=_once_each(),
        enable_logging=False,
    )


def _once_each() -> Any:
    """Return what opens the reader's two connections, and none when it has lost one.

    It would go on in the middle of a transaction. Nor is it told of a table what it knows.
    """
    from pymysql import connections  # noqa: PLC0415 - as in arctic.mysql.server

    class Connection(connections.Connection):
        """Leaves out what the reader knows."""

        def __init__(self, **given: Any) -> None:
            self._known = KnownTables()
            super().__init__(**given)

        def _read_packet(self, *given: Any) -> Any:
            read: Any = super()._read_packet
            packet = read(*given)
            while self._known.has(packet.get_all_data()):
                packet = read(*given)
            return packet

    opened = 0

    def opens(**given: Any) -> Any:
        nonlocal opened
        opened += 1
        if opened > 2:
            raise StorageError("the connection to the binary log was lost; run again")
        return Connection(**given)

    return opens


def mark_of(server: Mapping[str, Any], server_id: int, file: str) -> str:
    """Return what tells a file from another one of the same name: when it was begun."""
    stream = opened_stream(server, server_id, file, FIRST_POSITION, [("", "")])
    try:
        with mysql_errors("read the binary log"):
            while (event := stream.fetchone()) is not None:
                if type(event).__name__ == "FormatDescriptionEvent":
                    return str(event.timestamp)
    finally:
        stream.close()
    return ""

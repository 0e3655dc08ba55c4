"""The rows of a table, as columns of texts, a range of keys at a time.

Rules:
    - A copy sees one snapshot, whose place in the log is known: it begins while the table is locked
      for writing, so every transaction of the log is either in it as a whole or comes later.
    - The server gathers a range into one JSON array for each column, so no row is handled here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from arctic.cdc.mysql_types import arrow_type
from arctic.errors import StorageError
from arctic.mysql.mysql_tables import ColumnFacts, TableFacts
from arctic.mysql.server import fetched, mysql_errors, quoted

_PIECE_BYTES = 2**21
_PIECE_ROWS = 20_000
_TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"})


@contextmanager
def one_snapshot(
    connection: Any, locker: Any, table: tuple[str, str], log_end: Callable[[], int]
) -> Iterator[int]:
    """Let all queries see one state of a table, and yield its place in the log.

    Args:
        connection: in no transaction; it sees the state.
        locker: another session, which locks the table for a moment.
        table: schema and name.
        log_end: asks how far the log is written.
    """
    action = f"begin to copy {'.'.join(table)}"
    full_name = f"{quoted(table[0])}.{quoted(table[1])}"
    try:
        # Waits for transactions that have changed the table, until they are done everywhere.
        fetched(locker, action, f"LOCK TABLES {full_name} READ")
        try:
            place = log_end()
            fetched(connection, action, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            # From here on nobody alters it, until the transaction ends.
            fetched(connection, action, f"SELECT 1 FROM {full_name} LIMIT 0")
        finally:
            fetched(locker, action, "UNLOCK TABLES")
        yield place
    finally:
        with mysql_errors("end the copy"):
            connection.rollback()


def copied_rows(connection: Any, table: TableFacts) -> Iterator[pa.Table]:
    """Yield the rows of a table, a column of texts for each of its columns.

    Args:
        connection: inside ``one_snapshot``.
        table: as it is at that moment.

    Memory: a piece, a few times; a row that is longer than it counts.
    """
    types = {column.name: column.type for column in table.columns}
    keys = [_comparable(key, types[key]) for key in table.key]
    most = max(1, min(_PIECE_ROWS, _PIECE_BYTES // table.row_bytes))
    after: tuple[Any, ...] | None = None
    count = most
    while True:
        bound = _bound(connection, table, keys, after, count)
        rows = _piece(connection, table, keys, after, bound)
        if rows is None and count == 1:
            raise StorageError(
                f"copy table {table.full_name}: a row is longer than the server sends; raise its "
                "max_allowed_packet"
            )
        if rows is None:
            count = max(1, count // 8)
            continue
        if rows.num_rows:
            yield rows
        if bound is None:
            return
        after, count = bound, min(most, count * 2)


def _comparable(column: str, type_: str) -> str:
    """Return a key column as an expression that compares as the index orders it."""
    # Labels compare as texts, but are in the order of their numbers.
    is_numbered = type_.startswith(("enum", "set", "bit"))
    return f"({quoted(column)} + 0)" if is_numbered else quoted(column)


def _bound(
    connection: Any,
    table: TableFacts,
    keys: Sequence[str],
    after: tuple[Any, ...] | None,
    count: int,
) -> tuple[Any, ...] | None:
    """Return the key of the last row of the next piece; None: the piece is the last one."""
    where, values = _range(keys, after, None)
    order = ", ".join(quoted(key) for key in table.key)
    query = (
        f"SELECT {', '.join(keys)} FROM {_source(table)} WHERE {where} ORDER BY {order} "
        f"LIMIT {count - 1}, 1"
    )
    found = fetched(connection, f"copy table {table.full_name}", query, *values)
    return found[0] if found else None


def _piece(
    connection: Any,
    table: TableFacts,
    keys: Sequence[str],
    after: tuple[Any, ...] | None,
    bound: tuple[Any, ...] | None,
) -> pa.Table | None:
    """Return the rows of a range; None: they are too long to be sent at once."""
    where, values = _range(keys, after, bound)
    columns = ", ".join(f"JSON_ARRAYAGG({_printed(column)})" for column in table.columns)
    query = f"SELECT COUNT(*), {columns} FROM {_source(table)} WHERE {where}"
    action = f"copy table {table.full_name}"
    try:
        count, *arrays = fetched(connection, action, query, *values)[0]
    except StorageError as error:
        if "max_allowed_packet" not in str(error):
            raise
        return None
    if not count:
        arrays = ["[]"] * len(table.columns)
    return _rows_of(arrays, count, [column.name for column in table.columns])


def _rows_of(arrays: Sequence[Any], count: int, names: Sequence[str]) -> pa.Table | None:
    """Return the rows of one JSON array for each column; None: one was cut, as too long."""
    if _is_cut(arrays):
        return None
    document = ",".join(f'"c{number}":{_text(array)}' for number, array in enumerate(arrays))
    text = f"{{{document}}}".encode()
    types = [(f"c{number}", pa.list_(pa.string())) for number in range(len(names))]
    try:
        found = pj.read_json(
            pa.BufferReader(text),
            read_options=pj.ReadOptions(block_size=len(text) + 1, use_threads=False),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema(types), newlines_in_values=True
            ),
        )
    except pa.ArrowInvalid:
        return None
    columns = [found[each].combine_chunks() for each, _ in types]
    is_whole = all(len(each) == 1 and len(each.values) == count for each in columns)
    return pa.table([each.values for each in columns], names=list(names)) if is_whole else None


def _is_cut(arrays: Sequence[Any]) -> bool:
    return any(array is None or not _text(array).rstrip().endswith("]") for array in arrays)


def _text(array: Any) -> str:
    return array.decode() if isinstance(array, bytes) else str(array or "")


def _source(table: TableFacts) -> str:
    return f"{quoted(table.schema)}.{quoted(table.name)} FORCE INDEX (PRIMARY)"


def _range(
    keys: Sequence[str], after: tuple[Any, ...] | None, bound: tuple[Any, ...] | None
) -> tuple[str, list[Any]]:
    """Return the condition of keys beyond one and up to another, and its values."""
    conditions, values = ["TRUE"], []
    if after is not None:
        # The first column alone lets the index find the range.
        conditions += [f"{keys[0]} >= %s", _beyond(keys)]
        values += [after[0], *_beyond_values(after)]
    if bound is not None:
        conditions += [f"{keys[0]} <= %s", f"NOT {_beyond(keys)}"]
        values += [bound[0], *_beyond_values(bound)]
    return " AND ".join(conditions), values


def _beyond(keys: Sequence[str]) -> str:
    first, *rest = keys
    if not rest:
        return f"({first} > %s)"
    return f"({first} > %s OR ({first} = %s AND {_beyond(rest)}))"


def _beyond_values(key: Sequence[Any]) -> list[Any]:
    first, *rest = key
    return [first, first, *_beyond_values(rest)] if rest else [first]


def _printed(column: ColumnFacts) -> str:
    quoted_name = quoted(column.name)
    ours, kind = arrow_type(column.type), column.type.partition("(")[0]
    if ours is not None and pa.types.is_binary(ours):
        return f"HEX({quoted_name})"
    if kind == "bit":
        return f"CAST(CAST({quoted_name} AS UNSIGNED) AS CHAR)"
    if kind == "float":
        # As a float it would be printed with six digits.
        return f"CAST(CAST({quoted_name} AS DOUBLE) AS CHAR)"
    if kind in _TEXTS:
        return f"CAST({quoted_name} AS CHAR CHARACTER SET utf8mb4)"
    # MariaDB reckons one character too few for a decimal without digits before the point.
    text = f"CAST({quoted_name} AS CHAR(100))"
    return f"CONCAT({text}, '+00')" if kind == "timestamp" else text

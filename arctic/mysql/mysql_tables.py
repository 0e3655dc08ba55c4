"""What a table of MySQL is, and whether its log will say everything of its changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arctic.cdc.mysql_types import arrow_type
from arctic.errors import InvalidInputError
from arctic.mysql.server import fetched

_COLUMNS = """
SELECT COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""
_TABLE = """
SELECT TABLE_TYPE, ENGINE, AVG_ROW_LENGTH, TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
"""
_KEY = """
SELECT COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX
"""
_CASCADES = """
SELECT CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS
WHERE CONSTRAINT_SCHEMA = %s AND TABLE_NAME = %s
  AND (DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION') OR UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION'))
"""
_CHARSETS = (None, "utf8", "utf8mb3", "utf8mb4", "ascii", "latin1")
_NEEDED: Mapping[str, str] = {
    "log_bin": "ON",
    "binlog_format": "ROW",
    "binlog_row_image": "FULL",
    "binlog_row_metadata": "FULL",
    "binlog_checksum": "CRC32",
    "binlog_row_value_options": "",
    "binlog_transaction_compression": "OFF",
    "log_bin_compress": "OFF",
}
"""Variables of the server, of which each server has some."""
_ESSENTIAL = frozenset({"log_bin", "binlog_format", "binlog_row_image", "binlog_row_metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """One column, as the information schema has it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One table, at one moment."""

    schema: str
    name: str
    columns: tuple[ColumnFacts, ...]
    key: tuple[str, ...]
    row_bytes: int
    """How long a row is, about."""

    @property
    def full_name(self) -> str:
        """``schema.table``, as events have it."""
        return f"{self.schema}.{self.name}"


def parse_table(text: str, database: str | None) -> tuple[str, str]:
    """Split ``schema.table``; without a schema it is that of the connection.

    Raises:
        InvalidInputError: more than one dot, an empty part, or no schema at all.
    """
    parts = text.strip().split(".")
    if len(parts) == 1 and database:
        parts = [database, *parts]
    if len(parts) != 2 or not all(parts):
        raise InvalidInputError(f"table {text!r} of MySQL: expected 'schema.table'")
    return parts[0], parts[1]


def check_server(connection: Any) -> None:
    """Refuse a server whose log does not say all of a change.

    Raises:
        InvalidInputError: with the setting that mends it.
    """
    names = ", ".join(f"'{name}'" for name in _NEEDED)
    query = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"
    found = dict(fetched(connection, "look at the server's settings", query))
    given = {**dict.fromkeys(_ESSENTIAL, "missing"), **found}
    for name, value in given.items():
        if value.upper() != _NEEDED[name]:
            raise InvalidInputError(
                f"the server's {name} is {value!r}; mirrors need {_NEEDED[name]!r}, from before "
                "the first change that is to be mirrored"
            )


def find_facts(connection: Any, schema: str, name: str) -> TableFacts | None:
    """Return a table that can be mirrored, as it is now; None: there is none.

    Raises:
        InvalidInputError: a table whose changes could not be followed exactly.
    """
    action = f"look at table {schema}.{name}"
    found = fetched(connection, action, _TABLE, schema, name)
    if not found:
        return None
    # A server that folds names has them in its log as it keeps them.
    kind, storage, row_bytes, schema, name = next(
        (row for row in found if row[3:] == (schema, name)), found[0]
    )
    columns = fetched(connection, action, _COLUMNS, schema, name)
    key = fetched(connection, action, _KEY, schema, name)
    cascades = fetched(connection, action, _CASCADES, schema, name)
    subject = f"table {schema}.{name} of MySQL"
    if kind != "BASE TABLE" or storage != "InnoDB":
        raise InvalidInputError(f"{subject} is a {kind} of {storage}; expected one of InnoDB")
    if not key or any(part is not None for _, part in key):
        raise InvalidInputError(
            f"{subject} has no primary key of whole columns; add one, because its rows are found "
            "by it"
        )
    if cascades:
        raise InvalidInputError(
            f"{subject}: the foreign key {cascades[0][0]} changes its rows in silence, as no log "
            "tells what cascades; use RESTRICT"
        )
    for column, type_, charset, collation in columns:
        _check_column(f"{subject}: column {column!r}", type_, charset, collation)
    return TableFacts(
        schema=schema,
        name=name,
        columns=tuple(ColumnFacts(name=column, type=type_) for column, type_, _, _ in columns),
        key=tuple(column for column, _ in key),
        row_bytes=max(int(row_bytes or 0), 1),
    )


def _check_column(subject: str, type_: str, charset: str | None, collation: str | None) -> None:
    if arrow_type(type_) is None:
        raise InvalidInputError(
            f"{subject} is of type {type_}, which is not mirrored; change its type, or mirror a "
            "table without it"
        )
    is_labelled = type_.startswith(("enum", "set"))
    # The client takes collations that it does not know for those of UTF-8.
    is_doubtful = charset == "latin1" and (is_labelled or "nopad" in str(collation))
    if charset not in _CHARSETS or is_doubtful:
        raise InvalidInputError(
            f"{subject} has the character set {charset} ({collation}), which is not "
            "read here; convert it to utf8mb4"
        )


def system_of_server(connection: Any) -> str:
    """Return what tells this server from every other one."""
    query = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')"
    found = fetched(connection, "identify the server", query)
    if found:
        return str(found[0][1])
    named = "SELECT CONCAT_WS('/', @@hostname, @@port, @@server_id, @@datadir)"
    return str(fetched(connection, "identify the server", named)[0][0])

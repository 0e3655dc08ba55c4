"""Columns as a binary log describes them -> how their values are read.

The client names them in the log's own types; what the information schema says of a table may be
newer than an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.mysql.characters import BinlogColumn
from arctic.mysql.column_values import decimal_bytes
from arctic.mysql.row_images import Extent

_INTEGERS: Mapping[int, tuple[str, int]] = {
    1: ("tinyint", 1),
    2: ("smallint", 2),
    3: ("int", 4),
    8: ("bigint", 8),
    9: ("mediumint", 3),
}
_LONG_TEXT = 255
_FIXED_TEXT = 254


def binlog_columns(table: str, given: Any) -> tuple[BinlogColumn, ...]:
    """Return the columns of an event.

    Args:
        table: for messages.
        given: columns as the client describes them.

    Raises:
        InvalidInputError: the log does not name columns.
        UnsupportedError: a column of a type that is not mirrored.
    """
    found = []
    for column in given:
        if not column.name:
            raise InvalidInputError(
                f"table {table}: the log does not name its columns; set the server's "
                "binlog_row_metadata to FULL, drop the mirror, and it is copied anew"
            )
        if column.type not in _READERS:
            raise UnsupportedError(
                f"table {table}: column {column.name!r} is of type {column.type} of the binary "
                "log, which is not mirrored; change its type"
            )
        found.append(_READERS[column.type](column))
    return tuple(found)


def _integer(column: Any) -> BinlogColumn:
    name, size = _INTEGERS[column.type]
    return BinlogColumn(
        name=column.name,
        type=f"{name} unsigned" if column.unsigned else name,
        kind="integer",
        extent=Extent(prefix=0, size=size),
        size=size,
        is_unsigned=column.unsigned,
    )


def _plain(type_: str, kind: str, size: int) -> Callable[[Any], BinlogColumn]:
    return lambda column: BinlogColumn(
        name=column.name, type=type_, kind=kind, extent=Extent(prefix=0, size=size), size=size
    )


def _temporal(type_: str, size: int) -> Callable[[Any], BinlogColumn]:
    return lambda column: BinlogColumn(
        name=column.name,
        type=type_,
        kind=type_,
        extent=Extent(prefix=0, size=size + (column.fsp + 1) // 2),
        scale=column.fsp,
    )


def _decimal(column: Any) -> BinlogColumn:
    precision, scale = column.precision, column.decimals
    return BinlogColumn(
        name=column.name,
        type=f"decimal({precision},{scale})",
        kind="decimal",
        extent=Extent(prefix=0, size=decimal_bytes(precision, scale)),
        precision=precision,
        scale=scale,
    )


def _bit(column: Any) -> BinlogColumn:
    return BinlogColumn(
        name=column.name,
        type=f"bit({column.bits})",
        kind="bit",
        extent=Extent(prefix=0, size=column.bytes),
        size=column.bytes,
    )


def _string(column: Any) -> BinlogColumn:
    prefix = 2 if column.max_length > _LONG_TEXT else 1
    return _characters(column, Extent(prefix=prefix), ("varchar", "varbinary"))


def _long_string(column: Any) -> BinlogColumn:
    return _characters(column, Extent(prefix=column.length_size), ("text", "blob"))


def _characters(column: Any, extent: Extent, types: tuple[str, str]) -> BinlogColumn:
    charset = column.character_set_name
    if charset == "binary":
        size = column.max_length if column.type == _FIXED_TEXT else 0
        return BinlogColumn(
            name=column.name, type=types[1], kind="binary", extent=extent, size=size
        )
    kind = "latin" if charset == "cp1252" else "text"
    return BinlogColumn(name=column.name, type=types[0], kind=kind, extent=extent)


def _labelled(kind: str) -> Callable[[Any], BinlogColumn]:
    return lambda column: BinlogColumn(
        name=column.name,
        type=kind,
        kind=kind,
        extent=Extent(prefix=0, size=column.size),
        size=column.size,
        labels=tuple((column.enum_values if kind == "enum" else column.set_values) or ()),
    )


_READERS: Mapping[int, Callable[[Any], BinlogColumn]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    4: _plain("float", "float", 4),
    5: _plain("double", "float", 8),
    10: _plain("date", "date", 3),
    13: _plain("year", "year", 1),
    15: _string,
    16: _bit,
    17: _temporal("timestamp", 4),
    18: _temporal("datetime", 5),
    19: _temporal("time", 3),
    246: _decimal,
    247: _labelled("enum"),
    248: _labelled("set"),
    252: _long_string,
    253: _string,
    254: _string,
}
"""By the numbers that types have in the log; MySQL 5.6 brought those of times with fractions."""

"""Types of MySQL and MariaDB: the table's type that holds every value, and how its text is read.

What has no such type stays text, as the server prints it: times of day (which may be negative, and
longer than a day), enumerations, sets, decimals of more than 38 digits.
"""

from __future__ import annotations

import json
import re

import pyarrow as pa

from arctic.cdc.decode import PLAIN, Decoding, Encoding
from arctic.cdc.events import SourceColumn
from arctic.cdc.source_table import Dialect
from arctic.errors import InvalidInputError

_PLAIN: dict[str, pa.DataType] = {
    "tinyint": pa.int32(),
    "smallint": pa.int32(),
    "mediumint": pa.int32(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "tinyint unsigned": pa.int32(),
    "smallint unsigned": pa.int32(),
    "mediumint unsigned": pa.int32(),
    "int unsigned": pa.int64(),
    "bigint unsigned": pa.decimal128(20, 0),
    "year": pa.int32(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_TEXTS = frozenset(
    {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "time"}
)
_BYTES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
_PARTS = re.compile(r"(\w+)(?:\((.*)\))?(.*)", re.DOTALL)
_DECIMAL_DIGITS = 38
_BITS = 63


def source_column(name: str, type_: str, *, position: int | None) -> SourceColumn:
    """Return what a column becomes; ``type_`` is ``COLUMN_TYPE`` of the information schema.

    >>> source_column("price", "decimal(10,2) unsigned", position=1).type
    Decimal128Type(decimal128(10, 2))

    Raises:
        InvalidInputError: a type that is not mirrored.
    """
    type_of_ours = arrow_type(type_)
    if type_of_ours is None:
        raise InvalidInputError(
            f"column {name!r} is of type {type_}, which is not mirrored; change its type, or "
            "mirror a table without it"
        )
    decoding = Decoding(encoding=Encoding.HEX) if pa.types.is_binary(type_of_ours) else PLAIN
    return SourceColumn(name=name, type=type_of_ours, decoding=decoding, position=position)


def arrow_type(type_: str) -> pa.DataType | None:
    """Return the table's type for one of MySQL's; None: there is none that keeps its values.

    >>> [str(arrow_type(text)) for text in ("int(10) unsigned", "varchar(20)", "bit(4)", "json")]
    ['int64', 'string', 'int64', 'None']
    """
    found = _PARTS.fullmatch(type_.strip().lower())
    if found is None:
        return None
    name, given, rest = found.groups()
    name = "int" if name == "integer" else name
    if name == "decimal":
        precision, scale = (int(part) for part in given.split(","))
        return pa.decimal128(precision, scale) if precision <= _DECIMAL_DIGITS else pa.string()
    if name == "bit":
        return pa.int64() if int(given) <= _BITS else pa.decimal128(20, 0)
    if name in _TEXTS:
        return pa.string()
    if name in _BYTES:
        return pa.binary()
    is_unsigned = "unsigned" in rest and name.endswith("int")
    return _PLAIN.get(f"{name} unsigned" if is_unsigned else name)


def columns_of(shape: str) -> tuple[SourceColumn, ...]:
    """Return the columns that an event describes."""
    return tuple(source_column(name, type_, position=None) for name, type_ in json.loads(shape))


DIALECT = Dialect(
    source="MySQL", source_column=source_column, columns_of=columns_of, numbers_columns=False
)

"""PostgreSQL's types: the table's type that holds every value, and how its text is read.

What has no such type stays text, exactly as PostgreSQL prints it: numerics without a declared
precision, times of day, intervals, arrays, JSON, UUIDs, enumerations, ranges, everything else.
"""

from __future__ import annotations

import re

import pyarrow as pa

from arctic.cdc.decode import Decoding, Encoding
from arctic.cdc.events import SourceColumn

_PLAIN: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "smallint": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "oid": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "date": pa.date32(),
    "timestamp without time zone": pa.timestamp("us"),
    "timestamp with time zone": pa.timestamp("us", tz="UTC"),
}
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_PRECISION = re.compile(r"\(\d+\)")
_DECIMAL_DIGITS = 38


def source_column(name: str, type_: str, *, position: int | None) -> SourceColumn:
    """Return what a column becomes; ``type_`` is the text of PostgreSQL's ``format_type``.

    >>> source_column("price", "numeric(10,2)", position=1).type
    Decimal128Type(decimal128(10, 2))
    """
    decoding = Decoding(encoding=Encoding.HEX) if type_ == "bytea" else Decoding()
    return SourceColumn(name=name, type=arrow_type(type_), decoding=decoding, position=position)


def arrow_type(type_: str) -> pa.DataType:
    """Return the table's type for one of PostgreSQL's.

    >>> [str(arrow_type(text)) for text in ("timestamp(3) with time zone", "numeric", "inet[]")]
    ['timestamp[us, tz=UTC]', 'string', 'string']
    """
    if type_ == "bytea":
        return pa.binary()
    numeric = _NUMERIC.fullmatch(type_)
    if numeric is not None:
        precision, scale = int(numeric.group(1)), int(numeric.group(2))
        if precision <= _DECIMAL_DIGITS and 0 <= scale <= precision:
            return pa.decimal128(precision, scale)
    # A precision of seconds only leaves digits out.
    return _PLAIN.get(_PRECISION.sub("", type_), pa.string())

"""Values of a column as a binary log has them -> a type of a table, all at once and exactly.

Rules:
    - A column with a value that does not become exactly that type is left to ``column_values``,
      whose texts are judged one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from arctic.cdc.decode import Encoding
from arctic.cdc.unread import ReadColumn
from arctic.mysql.characters import BinlogColumn, Places
from arctic.mysql.column_values import decimal_groups, integers, slices, texts
from arctic.mysql.row_images import Bytes, Integers, big_endian, little_endian

_INT64_DIGITS = 18
_MICROSECONDS = 1_000_000
_DAY_SECONDS = 86_400


def values(
    buffer: Bytes, starts: Integers, lengths: Integers, column: BinlogColumn, wanted: ReadColumn
) -> pa.Array:
    """Return the values of a column, in the table's type or as texts; a length of -1 is null."""
    is_there = lengths >= 0
    read = _READERS.get(column.kind)
    is_plain = wanted.decoding.encoding is (
        Encoding.HEX if column.kind == "binary" else Encoding.TEXT
    )
    if read is None or not is_plain or not is_there.any():
        return texts(buffer, starts, lengths, column)
    places = Places(buffer=buffer, starts=starts[is_there], lengths=lengths[is_there])
    try:
        found = read(places, column, wanted.field.type)
    except pa.ArrowInvalid:
        found = None
    if found is None:
        return texts(buffer, starts, lengths, column)
    if is_there.all():
        return found
    return found.take(pa.array(np.cumsum(is_there) - 1, mask=~is_there))


def _integer(places: Places, column: BinlogColumn, target: pa.DataType) -> pa.Array | None:
    is_number = pt.is_integer(target) or (pt.is_decimal(target) and target.scale == 0)
    return pa.array(integers(places, column)).cast(target) if is_number else None


def _float(places: Places, column: BinlogColumn, target: pa.DataType) -> pa.Array | None:
    size = column.size
    raw = places.buffer[places.starts[:, None] + np.arange(size)]
    found = np.ascontiguousarray(raw).view(f"<f{size}").ravel()
    if not pt.is_floating(target) or target.bit_width < 8 * size or not np.isfinite(found).all():
        return None
    return pa.array(found).cast(target)


def _decimal(places: Places, column: BinlogColumn, target: pa.DataType) -> pa.Array | None:
    fits = pt.is_decimal(target) and target.scale == column.scale
    if not fits or column.precision > min(_INT64_DIGITS, target.precision):
        return None
    unscaled = np.zeros(places.count, np.int64)
    is_negative, groups = decimal_groups(places, column)
    for width, number in groups:
        unscaled = unscaled * 10**width + number
    unscaled = np.where(is_negative, -unscaled, unscaled)
    halves = np.empty((places.count, 2), "<i8")
    halves[:, 0], halves[:, 1] = unscaled, unscaled >> 63
    return pa.Array.from_buffers(target, places.count, [None, pa.py_buffer(halves)])


def _days(year: Integers, month: Integers, day: Integers) -> Integers | None:
    """Return days since 1970; None if one is no day of the calendar that begins with year 1."""
    if not len(year) or year.min() < 1 or month.min() < 1 or month.max() > 12 or day.min() < 1:
        return None
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    found: Integers = months.astype("datetime64[D]").astype(np.int64) + day - 1
    is_inside = found.astype("datetime64[D]").astype("datetime64[M]") == months
    return found if is_inside.all() else None


def _date(places: Places, _: BinlogColumn, target: pa.DataType) -> pa.Array | None:
    value = little_endian(places.buffer, places.starts, 3)
    days = _days(value >> 9, (value >> 5) & 15, value & 31)
    if days is None or target != pa.date32():
        return None
    return pa.array(days.astype(np.int32)).cast(target)


def _fraction(places: Places, column: BinlogColumn, at: int) -> Integers:
    """Return microseconds, which are stored in pairs of digits."""
    size = (column.scale + 1) // 2
    found: Integers = big_endian(places.buffer, places.starts + at, size) * 10 ** (6 - 2 * size)
    return found


def _datetime(places: Places, column: BinlogColumn, target: pa.DataType) -> pa.Array | None:
    value = big_endian(places.buffer, places.starts, 5) - (1 << 39)
    months = value >> 22
    days = _days(months // 13, months % 13, (value >> 17) & 31)
    hour, minute, second = (value >> 12) & 31, (value >> 6) & 63, value & 63
    is_clock = hour.max() < 24 and minute.max() < 60 and second.max() < 60
    if days is None or not is_clock or target != pa.timestamp("us"):
        return None
    seconds = days * _DAY_SECONDS + hour * 3600 + minute * 60 + second
    return pa.array(seconds * _MICROSECONDS + _fraction(places, column, 5)).cast(target)


def _timestamp(places: Places, column: BinlogColumn, target: pa.DataType) -> pa.Array | None:
    seconds = big_endian(places.buffer, places.starts, 4)
    # The server's own zero is no moment.
    if not seconds.all() or target != pa.timestamp("us", tz="UTC"):
        return None
    return pa.array(seconds * _MICROSECONDS + _fraction(places, column, 4)).cast(target)


def _binary(places: Places, column: BinlogColumn, target: pa.DataType) -> pa.Array | None:
    # The log leaves out the zeros at the end of bytes of one size.
    if target != pa.binary() or (places.lengths < column.size).any():
        return None
    data, offsets = slices(places)
    buffers = pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))
    return pa.Array.from_buffers(target, places.count, [None, *buffers])


_READERS: Mapping[str, Callable[[Places, BinlogColumn, pa.DataType], pa.Array | None]] = {
    "integer": _integer,
    "float": _float,
    "decimal": _decimal,
    "date": _date,
    "datetime": _datetime,
    "timestamp": _timestamp,
    "binary": _binary,
}

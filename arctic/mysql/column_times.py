"""Dates and times as a binary log has them -> texts as the server prints them, all at once.

Source: MySQL's "Date and Time Data Type Representation".
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.mysql.characters import BinlogColumn, Places, digits, joined, marks
from arctic.mysql.row_images import Bytes, Integers, big_endian, little_endian


def _date_characters(year: Integers, month: Integers, day: Integers) -> list[Bytes]:
    dash = marks(len(year), "-")
    return [digits(year, 4), dash, digits(month, 2), dash, digits(day, 2)]


def _clock_characters(
    packed: Integers, fraction: Integers, scale: int, *, hour_digits: int = 2
) -> list[Bytes]:
    colon = marks(len(packed), ":")
    found = [
        digits(packed >> 12, hour_digits), colon,
        digits((packed >> 6) & 63, 2), colon, digits(packed & 63, 2),
    ]  # fmt: skip
    if scale:
        # Stored in pairs of digits; an odd one has a zero behind it.
        all_digits = digits(fraction, _fraction_bytes(scale) * 2)
        found += [marks(len(fraction), "."), all_digits[:, :scale]]
    return found


def _fraction_bytes(scale: int) -> int:
    return (scale + 1) // 2


def date_texts(places: Places, _: BinlogColumn) -> pa.Array:
    """Return ``YYYY-MM-DD``."""
    value = little_endian(places.buffer, places.starts, 3)
    return joined(np.concatenate(_date_characters(value >> 9, (value >> 5) & 15, value & 31), 1))


def datetime_texts(places: Places, column: BinlogColumn) -> pa.Array:
    """Return ``YYYY-MM-DD HH:MM:SS``, and a fraction if it has one."""
    value = big_endian(places.buffer, places.starts, 5) - (1 << 39)
    fraction = big_endian(places.buffer, places.starts + 5, _fraction_bytes(column.scale))
    days = value >> 17
    months = days >> 5
    parts = _date_characters(months // 13, months % 13, days & 31)
    clock = _clock_characters(value & 0x1FFFF, fraction, column.scale)
    return joined(np.concatenate([*parts, marks(places.count, " "), *clock], 1))


def timestamp_texts(places: Places, column: BinlogColumn) -> pa.Array:
    """Return moments in UTC, the server's zero as such."""
    seconds = big_endian(places.buffer, places.starts, 4)
    size = _fraction_bytes(column.scale)
    fraction = big_endian(places.buffer, places.starts + 4, size) * 10 ** (6 - 2 * size)
    moments = (seconds * 1_000_000 + fraction).astype("datetime64[us]")
    text = pa.array(np.datetime_as_string(moments, unit="us").astype(object), pa.string())
    # The server's own zero, which is no moment.
    zero = pa.scalar("0000-00-00 00:00:00")
    known = pc.if_else(pa.array((seconds == 0) & (fraction == 0)), zero, text)
    return pc.binary_join_element_wise(known, pa.scalar("+00"), "")


def time_texts(places: Places, column: BinlogColumn) -> pa.Array:
    """Return hours, which may be many or negative, minutes and seconds."""
    bits = 8 * _fraction_bytes(column.scale)
    value = big_endian(places.buffer, places.starts, 3 + bits // 8) - (1 << (23 + bits))
    size = np.abs(value)
    fraction = size & ((1 << bits) - 1)
    clock = _clock_characters(size >> bits, fraction, column.scale, hour_digits=3)
    text = pc.replace_substring_regex(joined(np.concatenate(clock, 1)), r"^0(\d\d:)", r"\1")
    sign = pc.if_else(pa.array(value < 0), pa.scalar("-"), pa.scalar(""))
    return pc.binary_join_element_wise(sign, text, "")

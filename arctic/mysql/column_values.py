"""Values of a column as a binary log has them -> texts as the server prints them, all at once.

Rules:
    - A value is what the server would print, down to days and months of zero: whether a table can
      hold it is decided where its type is known.
    - Bytes become hexadecimal digits.

Source: the layouts are those of MySQL's "Rows Event".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic.errors import FormatError
from arctic.mysql.characters import BinlogColumn, Places, digits, joined, marks
from arctic.mysql.column_times import date_texts, datetime_texts, time_texts, timestamp_texts
from arctic.mysql.row_images import Bytes, Integers, little_endian

_GROUP, _GROUP_BYTES = 9, 4
_BYTES_OF_DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Of the digits that do not fill a group of a decimal."""


def texts(buffer: Bytes, starts: Integers, lengths: Integers, column: BinlogColumn) -> pa.Array:
    """Return the values of a column; a length of -1 is null.

    Raises:
        FormatError: a text that is none in its encoding.
    """
    is_there = lengths >= 0
    places = Places(buffer=buffer, starts=starts[is_there], lengths=lengths[is_there])
    found = KINDS[column.kind](places, column)
    if is_there.all():
        return found
    numbers = np.where(is_there, np.cumsum(is_there) - 1, 0)
    return found.take(pa.array(numbers, mask=~is_there)) if len(found) else _nulls(len(is_there))


def _nulls(count: int) -> pa.Array:
    return pa.nulls(count, pa.string())


def _of_numbers(numbers: npt.NDArray[np.generic]) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _fixed(places: Places, size: int) -> Bytes:
    """Return the bytes of values of one size, a row for each."""
    found: Bytes = places.buffer[places.starts[:, None] + np.arange(size)]
    return found


def integers(places: Places, column: BinlogColumn) -> npt.NDArray[np.generic]:
    """Return the numbers of a column of integers."""
    size = 4 if column.size == 3 else column.size
    raw = np.zeros((places.count, size), np.uint8)
    raw[:, : column.size] = _fixed(places, column.size)
    if column.size == 3 and not column.is_unsigned:
        raw[:, 3] = np.where(raw[:, 2] >= 128, 255, 0)
    sign = "u" if column.is_unsigned else "i"
    found: npt.NDArray[np.generic] = np.ascontiguousarray(raw).view(f"<{sign}{size}").ravel()
    return found


def _integer(places: Places, column: BinlogColumn) -> pa.Array:
    return _of_numbers(integers(places, column))


def _float(places: Places, column: BinlogColumn) -> pa.Array:
    raw = np.ascontiguousarray(_fixed(places, column.size))
    # All digits of a float are those of the double with its value.
    return _of_numbers(raw.view(f"<f{column.size}").ravel().astype(np.float64))


def decimal_groups(
    places: Places, column: BinlogColumn
) -> tuple[npt.NDArray[np.bool_], list[tuple[int, Integers]]]:
    """Return which decimals are negative, and their digits in groups: how many, as a number."""
    whole, rest = column.precision - column.scale, column.scale
    raw = _fixed(places, decimal_bytes(column.precision, column.scale))
    is_negative = raw[:, 0] < 128
    raw = raw ^ np.where(is_negative, np.uint8(255), np.uint8(0))[:, None]
    raw[:, 0] ^= 128
    widths = [whole % _GROUP, *[_GROUP] * (whole // _GROUP)]
    widths += [*[_GROUP] * (rest // _GROUP), rest % _GROUP]
    groups, at = [], 0
    for width in widths:
        size = _BYTES_OF_DIGITS[width]
        number = np.zeros(len(raw), np.int64)
        for byte in range(at, at + size):
            number = (number << 8) | raw[:, byte]
        at += size
        groups.append((width, number))
    return is_negative, groups


def _decimal(places: Places, column: BinlogColumn) -> pa.Array:
    whole = column.precision - column.scale
    is_negative, groups = decimal_groups(places, column)
    every = np.concatenate([digits(number, width) for width, number in groups], axis=1)
    signs = np.where(is_negative, ord("-"), ord("+")).astype(np.uint8)[:, None]
    parts = [signs, marks(places.count, "0"), every[:, :whole]]
    if column.scale:
        parts += [marks(places.count, "."), every[:, whole:]]
    text = joined(np.concatenate(parts, axis=1))
    # Only the digits that count, and no sign but a minus.
    return pc.replace_substring_regex(text, r"^\+?(-?)0*(\d)", r"\1\2")


def decimal_bytes(precision: int, scale: int) -> int:
    """Return how many bytes a decimal has.

    >>> decimal_bytes(10, 2), decimal_bytes(20, 5)
    (5, 10)
    """
    return sum(
        digits // _GROUP * _GROUP_BYTES + _BYTES_OF_DIGITS[digits % _GROUP]
        for digits in (precision - scale, scale)
    )


def _year(places: Places, _: BinlogColumn) -> pa.Array:
    value = little_endian(places.buffer, places.starts, 1)
    return _of_numbers(np.where(value == 0, 0, value + 1900))


def _bit(places: Places, column: BinlogColumn) -> pa.Array:
    raw = np.zeros((places.count, 8), np.uint8)
    raw[:, 8 - column.size :] = _fixed(places, column.size)
    return _of_numbers(np.ascontiguousarray(raw).view(">u8").ravel().astype(np.uint64))


def _enumeration(places: Places, column: BinlogColumn) -> pa.Array:
    numbers = little_endian(places.buffer, places.starts, column.size)
    if (numbers >= len(column.labels)).any():
        raise FormatError(f"column {column.name!r}: an enumeration with a number it does not have")
    return pa.array(column.labels, pa.string()).take(pa.array(numbers))


def _set(places: Places, column: BinlogColumn) -> pa.Array:
    raw = np.zeros((places.count, 8), np.uint8)
    raw[:, : column.size] = _fixed(places, column.size)
    masks, numbers = np.unique(np.ascontiguousarray(raw).view("<u8").ravel(), return_inverse=True)
    found = [
        ",".join(label for bit, label in enumerate(column.labels) if int(mask) >> bit & 1)
        for mask in masks
    ]
    return pa.array(found, pa.string()).take(pa.array(numbers.ravel()))


def slices(places: Places) -> tuple[Bytes, Integers]:
    """Return the bytes of values one after the other, and where each begins and the last ends."""
    offsets = np.concatenate([[0], np.cumsum(places.lengths)]).astype(np.int64)
    shift = np.repeat(places.starts - offsets[:-1], places.lengths)
    return places.buffer[shift + np.arange(offsets[-1], dtype=np.int64)], offsets


def _string_array(data: Bytes, offsets: Integers) -> pa.Array:
    count = len(offsets) - 1
    buffers = pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))
    return pa.BinaryArray.from_buffers(pa.binary(), count, [None, *buffers]).cast(pa.string())


def _text(places: Places, column: BinlogColumn) -> pa.Array:
    data, offsets = slices(places)
    try:
        return _string_array(data, offsets)
    except pa.ArrowInvalid as error:
        raise FormatError(f"column {column.name!r}: a text that is no UTF-8") from error


# What the server calls latin1, with the five codes that Windows leaves out.
_LATIN = [
    bytes([code]).decode("cp1252" if code not in (129, 141, 143, 144, 157) else "latin-1").encode()
    for code in range(256)
]
_LATIN_LENGTHS = np.array([len(each) for each in _LATIN], np.int64)
_LATIN_STARTS = np.concatenate([[0], np.cumsum(_LATIN_LENGTHS)[:-1]])
_LATIN_BYTES = np.frombuffer(b"".join(_LATIN), np.uint8)


def _latin(places: Places, _: BinlogColumn) -> pa.Array:
    data, offsets = slices(places)
    if not len(data) or data.max() < 128:
        return _string_array(data, offsets)
    lengths = _LATIN_LENGTHS[data]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    shift = np.repeat(_LATIN_STARTS[data] - ends[:-1], lengths)
    return _string_array(_LATIN_BYTES[shift + np.arange(ends[-1])], ends[offsets])


_HEX = np.frombuffer(b"".join(b"%02X" % byte for byte in range(256)), np.uint8).reshape(256, 2)


def _binary(places: Places, column: BinlogColumn) -> pa.Array:
    data, offsets = slices(places)
    text = _string_array(_HEX[data].ravel(), offsets * 2)
    # The log leaves out the zeros at the end of bytes of one size.
    return pc.utf8_rpad(text, 2 * column.size, "0") if column.size else text


KINDS: Mapping[str, Callable[[Places, BinlogColumn], pa.Array]] = {
    "integer": _integer,
    "float": _float,
    "decimal": _decimal,
    "date": date_texts,
    "datetime": datetime_texts,
    "timestamp": timestamp_texts,
    "time": time_texts,
    "year": _year,
    "bit": _bit,
    "enum": _enumeration,
    "set": _set,
    "text": _text,
    "latin": _latin,
    "binary": _binary,
}

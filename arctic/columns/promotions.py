"""Which type may become which: one table, three questions, each more lenient than the last.

Rules:
    - ``promotes``: a column of a table may change to this type; every older file stays readable.
    - ``reads_as``: values of a file can be read as this type, none of them changed. It is true of
      what promotes, and of other Arrow layouts and units of one logical type.
    - ``takes``: values that are written may become this type; each that does not fit is refused.
    - For all three a double never becomes a float, nor a time without a zone an instant.

Must not know: nested types, whose parts are asked about one by one.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pat

PROMOTIONS = ((pa.int32(), pa.int64()), (pa.float32(), pa.float64()))
"""Iceberg's, beside those of decimals to more digits."""
_TEXT_OR_BYTES = (
    pat.is_string,
    pat.is_large_string,
    pat.is_string_view,
    pat.is_binary,
    pat.is_large_binary,
    pat.is_binary_view,
    pat.is_fixed_size_binary,
)
"""Old writers left out the mark that tells a string from binary; a cast to string checks the
encoding, and a cast to fixed size the length."""


def promotes(narrow: pa.DataType, wide: pa.DataType) -> bool:
    """Say whether a column of one type may become one of another, greater type.

    >>> promotes(pa.decimal128(6, 2), pa.decimal128(8, 2)), promotes(pa.int64(), pa.int32())
    (True, False)
    """
    if pat.is_decimal(narrow) and pat.is_decimal(wide):
        return narrow.precision < wide.precision and _holds_digits(narrow, wide)
    return (narrow, wide) in PROMOTIONS


def reads_as(source: pa.DataType, target: pa.DataType) -> bool:
    """Say whether values of one primitive type may be read as another.

    >>> reads_as(pa.uint32(), pa.int64()), reads_as(pa.timestamp("ns"), pa.timestamp("us", "UTC"))
    (True, False)
    """
    source, target = storage_type(source), storage_type(target)
    if source == target:
        return True
    if pat.is_integer(source) and pat.is_integer(target):
        return _integer_fits(source, target)
    if pat.is_floating(source) and pat.is_floating(target):
        return bool(source.bit_width <= target.bit_width)
    if pat.is_decimal(source) and pat.is_decimal(target):
        return _holds_digits(source, target)
    if pat.is_timestamp(source) and pat.is_timestamp(target):
        return _agree_on_zone(source, target)
    if _is_text_or_bytes(source) and _is_text_or_bytes(target):
        return True
    return any(test(source) and test(target) for test in (pat.is_date, pat.is_time))


def takes(wanted: pa.DataType, incoming: pa.DataType) -> bool:
    """Say whether a column takes values of another primitive type, each one that fits.

    >>> takes(pa.int32(), pa.int64()), takes(pa.float32(), pa.float64())
    (True, False)
    """
    if wanted in (pa.int32(), pa.int64()):
        return bool(pat.is_integer(incoming))
    if wanted == pa.string():
        return bool(pat.is_large_string(incoming) or pat.is_string_view(incoming))
    if wanted == pa.binary():
        return bool(pat.is_large_binary(incoming) or pat.is_binary_view(incoming))
    if pat.is_fixed_size_binary(wanted):
        return takes(pa.binary(), incoming) or bool(pat.is_binary(incoming))
    if pat.is_decimal(wanted) and pat.is_decimal(incoming):
        return _holds_digits(incoming, wanted)
    if pat.is_timestamp(wanted) and pat.is_timestamp(incoming):
        return _agree_on_zone(incoming, wanted)
    return promotes(incoming, wanted)


def storage_type(kind: pa.DataType) -> pa.DataType:
    """Return the plain type below a dictionary or an extension type such as a uuid."""
    if pat.is_dictionary(kind):
        return storage_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return storage_type(kind.storage_type)
    return kind


def _holds_digits(narrow: pa.DataType, wide: pa.DataType) -> bool:
    return bool(narrow.scale == wide.scale and narrow.precision <= wide.precision)


def _agree_on_zone(one: pa.DataType, other: pa.DataType) -> bool:
    # Which zone it is only says how an instant is printed.
    return (one.tz is None) == (other.tz is None)


def _integer_fits(source: pa.DataType, target: pa.DataType) -> bool:
    if pat.is_signed_integer(source) or pat.is_unsigned_integer(target):
        return bool(
            source.bit_width <= target.bit_width
            and pat.is_signed_integer(source) == pat.is_signed_integer(target)
        )
    return bool(source.bit_width < target.bit_width)


def _is_text_or_bytes(kind: pa.DataType) -> bool:
    return any(test(kind) for test in _TEXT_OR_BYTES)

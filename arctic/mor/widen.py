"""Which primitive types read as which others without changing a value."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pat

from arctic.errors import FormatError


def can_widen(source: pa.DataType, target: pa.DataType) -> bool:
    """Say whether values of one type may be read as another.

    Iceberg's promotions (int to long, float to double, a decimal of more digits), and the other
    Arrow layouts and time units of one logical type. Time zones only name how an instant is
    printed, but a time without a zone is no instant.
    """
    source, target = storage_type(source), storage_type(target)
    if source == target:
        return True
    if pat.is_integer(source) and pat.is_integer(target):
        return _integer_fits(source, target)
    if pat.is_floating(source) and pat.is_floating(target):
        return bool(source.bit_width <= target.bit_width)
    if pat.is_decimal(source) and pat.is_decimal(target):
        return bool(source.scale == target.scale and source.precision <= target.precision)
    if pat.is_timestamp(source) and pat.is_timestamp(target):
        return bool((source.tz is None) == (target.tz is None))
    if _is_text_or_bytes(source) and _is_text_or_bytes(target):
        return True
    return any(test(source) and test(target) for test in (pat.is_date, pat.is_time))


def widen(column: pa.Array, target: pa.DataType, subject: str) -> pa.Array:
    """Return the column as the target type, which ``can_widen`` has allowed.

    Raises:
        FormatError: a value that the target cannot hold, such as a nanosecond.
    """
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    try:
        if pat.is_dictionary(column.type):
            column = column.dictionary_decode()
        narrow = storage_type(target)
        widened = column if column.type == narrow else column.cast(narrow)
    except pa.ArrowInvalid as error:
        raise FormatError(f"{subject}: cannot be read as {target}: {error}") from error
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, widened)
    return widened


def storage_type(kind: pa.DataType) -> pa.DataType:
    """Return the plain type below a dictionary or an extension type such as a uuid."""
    if pat.is_dictionary(kind):
        return storage_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return storage_type(kind.storage_type)
    return kind


def _integer_fits(source: pa.DataType, target: pa.DataType) -> bool:
    if pat.is_signed_integer(source) or pat.is_unsigned_integer(target):
        return bool(
            source.bit_width <= target.bit_width
            and pat.is_signed_integer(source) == pat.is_signed_integer(target)
        )
    return bool(source.bit_width < target.bit_width)


def _is_text_or_bytes(kind: pa.DataType) -> bool:
    # Old writers left out the mark that tells a string from binary; a cast to string checks the
    # encoding, and a cast to fixed size the length.
    return any(
        test(kind)
        for test in (
            pat.is_string,
            pat.is_large_string,
            pat.is_string_view,
            pat.is_binary,
            pat.is_large_binary,
            pat.is_binary_view,
            pat.is_fixed_size_binary,
        )
    )

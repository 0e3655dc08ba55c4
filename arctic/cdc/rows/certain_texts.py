"""Texts of a column that Arrow's own casts read as ``decode`` does, which takes a hundredth of it.

Rules:
    - A whole column is read or nothing of it: one value in a form that is not certain leaves all to
      ``decode``, which judges each by itself.
    - Certain is a form that both read alike; what only one of them knows, such as years of five
      digits, is not.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.cdc.decode import Encoding
from arctic.cdc.unread import ReadColumn

_DATE = r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_TIME = _DATE + r"[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONE = r"(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)"
_FLOAT = r"-?[0-9]{1,17}(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?"


def certain_values(texts: pa.Array, column: ReadColumn) -> pa.Array | None:
    """Return texts as values of the table's type; None: ``decode`` has to tell.

    Args:
        texts: of a column; null stays null.
        column: where they go.
    """
    target = column.field.type
    if column.decoding.encoding is not Encoding.TEXT or not pt.is_string(texts.type):
        return None
    if pt.is_string(target):
        return texts
    pattern = _pattern(target)
    if pattern is None:
        return None
    is_certain = pc.all(pc.match_substring_regex(texts, f"^{pattern}$")).as_py()
    if is_certain is False:
        return None
    if pt.is_boolean(target):
        return pc.starts_with(texts, "t")
    try:
        values = texts.cast(target)
    except pa.ArrowInvalid:
        return None
    if pt.is_floating(target) and pc.all(pc.is_finite(values)).as_py() is False:
        return None
    return values


def _pattern(target: pa.DataType) -> str | None:
    """Return the certain form of values of a type."""
    if pt.is_decimal128(target):
        # Of more digits than there are, Arrow makes another number.
        whole, scale = target.precision - target.scale, target.scale
        digits = f"-?[0-9]{{1,{whole}}}" if whole else "-?0"
        return digits + rf"(\.[0-9]{{1,{scale}}})?" if scale else digits
    if target in (pa.int32(), pa.int64()):
        return f"-?[0-9]{{1,{9 if target == pa.int32() else 18}}}"
    if target in (pa.float32(), pa.float64()):
        return _FLOAT
    if pt.is_boolean(target):
        return "(true|t|false|f)"
    if target == pa.date32():
        return _DATE
    if pt.is_timestamp(target) and target.unit == "us":
        return _TIME if target.tz is None else _TIME + _ZONE
    return None

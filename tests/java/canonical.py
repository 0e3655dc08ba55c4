"""Rows of an Arrow table in the texts that PlainRows.java writes: equal rows, equal lines."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa

_ZEROES = {pa.date32(): pa.int32(), pa.time64("us"): pa.int64()}
"""Types whose values are whole numbers since midnight or 1970, in Arrow as in Java."""


def lines(table: pa.Table) -> list[str]:
    """Return a line for each row, in Java's order of texts."""
    columns = [_texts(column.combine_chunks()) for column in table.columns]
    found = ["\t".join(row) for row in zip(*columns, strict=True)]
    return sorted(found, key=lambda line: line.encode("utf-16-be"))


def _texts(array: pa.Array) -> list[str]:
    if isinstance(array, pa.ChunkedArray):  # what combining leaves of a column without rows
        return []
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    array = array.cast(_ZEROES.get(array.type, array.type))
    write = _writer(array.type)
    return ["-" if value is None else write(value) for value in array.to_pylist()]


def _writer(kind: pa.DataType) -> Callable[[Any], str]:
    if pa.types.is_boolean(kind):
        return lambda value: str(value).lower()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _string
    if pa.types.is_float32(kind):
        return lambda value: f"f{_bits(value, '>f'):x}"
    if pa.types.is_float64(kind):
        return lambda value: f"d{_bits(value, '>d'):x}"
    if pa.types.is_decimal(kind):
        return lambda value: format(value, "f")
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return lambda value: f"x{value.hex()}"
    if pa.types.is_large_binary(kind):
        return lambda value: f"x{value.hex()}"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        each = _nullable(kind.value_type)
        return lambda value: f"[{','.join(map(each, value))}]"
    if pa.types.is_map(kind):
        key, item = _nullable(kind.key_type), _nullable(kind.item_type)
        return lambda value: f"{{{','.join(sorted(f'{key(k)}={item(v)}' for k, v in value))}}}"
    if pa.types.is_struct(kind):
        fields = [(field.name, _nullable(field.type)) for field in kind]
        return lambda value: "(" + "\t".join(text(value[name]) for name, text in fields) + ")"
    assert pa.types.is_integer(kind), kind
    return str


def _nullable(kind: pa.DataType) -> Callable[[Any], str]:
    write = _writer(kind)
    return lambda value: "-" if value is None else write(value)


def _string(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
    return f"'{escaped}"


def _bits(value: float, form: str) -> int:
    """Return the bits of a number; of all that are none, Java has one."""
    if value != value:
        return 0x7FC00000 if form == ">f" else 0x7FF8000000000000
    return int.from_bytes(struct.pack(form, value), "big")

"""Leave out row groups whose bloom filters show that a value is not there.

Rules:
    - Only tests that every row must pass, of a single value or of several, can leave anything out.
    - In doubt a row group is read: the bytes that a value has in the file are those of its physical
      type, so only texts, bytes, UUIDs and whole numbers are looked for, where columns hold them
      plainly.
    - Filters without a checksum of ours are passed over: by a damaged one, rows would be lost.

Source: Parquet's specification of split block bloom filters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.filters.xxhash64 import xxhash64
from arctic.table.files import Value
from arctic.table.filters.predicate import And, ColumnTest, Op, Predicate

_MOST_VALUES = 1_000
"""Of one test: hashing more in Python takes longer than most row groups."""
_BLOCK = 32
_SALT = (
    *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
    *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
)
_BEFORE_SIZE = b"\x15"
_AFTER_SIZE = bytes.fromhex("1c1c00001c1c00001c1c000000")
"""What Thrift makes of a header that says split blocks, XXH64 and no compression."""
_PLAIN = ("None", "Date", "String", "UUID")
_WIDTHS = {"INT32": 4, "INT64": 8}


def that_may_hold(
    parquet: ParquetInput,
    groups: Sequence[int],
    predicate: Predicate,
    names: Mapping[int, str],
) -> tuple[int, ...]:
    """Return the row groups that can hold a row which passes a filter, in the given order.

    Args:
        parquet: a data file, or one of change deletes.
        groups: row groups of it.
        predicate: which rows pass.
        names: field id to name of the top-level columns that the file has.

    Raises:
        FormatError: filters that are damaged.
    """
    kept = tuple(groups)
    indexes: tuple[int, bytes] | None = None
    for test in _needed(predicate):
        leaf = parquet.leaf_column(names[test.field_id]) if test.field_id in names else None
        if leaf is None or not kept or _place(parquet, kept[0], leaf) is None:
            continue
        hashes = _hashes(test, parquet.metadata.schema.column(leaf))
        indexes = indexes or parquet.indexes()
        if hashes is None or indexes is None:
            continue
        kept = tuple(
            group for group in kept if _may_hold(_bits(parquet, group, leaf, indexes), hashes)
        )
    return kept


def _needed(predicate: Predicate) -> Iterator[ColumnTest]:
    """Yield tests for values that every row passes."""
    if isinstance(predicate, And):
        for child in predicate.children:
            yield from _needed(child)
    elif isinstance(predicate, ColumnTest) and predicate.op in (Op.EQ, Op.IN):
        yield predicate


def _hashes(test: ColumnTest, column: Any) -> list[int] | None:
    """Return the hashes of the values of a test; None: they cannot be known."""
    values = test.literal if isinstance(test.literal, tuple) else (test.literal,)
    if len(values) > _MOST_VALUES:
        return None
    encoded = [_encoded(value, column) for value in values]
    known = [each for each in encoded if each is not None]
    return [xxhash64(each) for each in known] if len(known) == len(encoded) else None


def _encoded(value: Value, column: Any) -> bytes | None:
    logical = json.loads(column.logical_type.to_json())
    kind = logical["Type"]
    if kind not in _PLAIN and not (kind == "Int" and logical["isSigned"]):
        return None
    if column.physical_type == "BYTE_ARRAY" and isinstance(value, str | bytes):
        return value.encode() if isinstance(value, str) else value
    if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
        content = value.bytes if isinstance(value, UUID) else value
        return content if isinstance(content, bytes) and len(content) == column.length else None
    width = _WIDTHS.get(column.physical_type)
    if width is None or isinstance(value, bool) or not isinstance(value, int):
        return None
    fits = -(1 << (8 * width - 1)) <= value < 1 << (8 * width - 1)
    return value.to_bytes(width, "little", signed=True) if fits else None


def _place(parquet: ParquetInput, group: int, leaf: int) -> tuple[int, int] | None:
    column = parquet.metadata.row_group(group).column(leaf)
    # An older pyarrow does not tell.
    offset = getattr(column, "bloom_filter_offset", None)
    length = getattr(column, "bloom_filter_length", None)
    return None if offset is None or length is None else (offset, length)


def _bits(parquet: ParquetInput, group: int, leaf: int, indexes: tuple[int, bytes]) -> bytes | None:
    """Return the blocks of a filter; None: there is none, or one of another kind."""
    place = _place(parquet, group, leaf)
    if place is None:
        return None
    start, held = indexes
    offset, length = place[0] - start, place[1]
    found = held[offset : offset + length] if offset >= 0 else b""
    header, _, bits = found.partition(_AFTER_SIZE)
    is_known = len(found) == length and header[:1] == _BEFORE_SIZE and bits
    return bits if is_known and len(bits) % _BLOCK == 0 and _size(header) == len(bits) else None


def _size(header: bytes) -> int:
    """Return the number of bytes that a header announces."""
    number = 0
    for place, byte in enumerate(header[1:]):
        number |= (byte & 0x7F) << 7 * place
    return number >> 1


def _may_hold(bits: bytes | None, hashes: Sequence[int]) -> bool:
    return bits is None or any(is_set(bits, each) for each in hashes)


def is_set(bits: bytes, value_hash: int) -> bool:
    """Say whether a filter has a value.

    Args:
        bits: its blocks, of 32 bytes each.
        value_hash: of the bytes that the value has in the file.
    """
    block = ((value_hash >> 32) * (len(bits) // _BLOCK) >> 32) * _BLOCK
    low = value_hash & 0xFFFFFFFF
    for place, salt in enumerate(_SALT):
        word = int.from_bytes(bits[block + 4 * place : block + 4 * place + 4], "little")
        if not word >> ((low * salt & 0xFFFFFFFF) >> 27) & 1:
            return False
    return True

"""How large rows of a Parquet file become when they are decoded, told before they are.

What a footer says of a text column is its size where each value that repeats is stored once, or the
beginning that it shares with the one before: rows of 100 KB may take less than a byte each. So the
width of a value that may be told often is taken from elsewhere.

Rules:
    - It is a judgement, not a bound: where few values are much longer than the rest, and are told
      often, rows are longer than it says.
    - The dictionary is looked at only where the bounds of a chunk say nothing: wherever values are
      long, no writer notes them as bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa

from arctic.columns.field_ids import child_fields

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_FRONT_CODED = "DELTA_BYTE_ARRAY"
_CUT_BYTES = 64
"""Bounds of this length are often cut from longer ones."""
_FEW_BYTES = 2**20
"""Of all rows together, if each were as long as all that is stored."""
_HEADER_BYTES = 128
_INT32, _STRUCT = 5, 12
"""What Thrift calls the types of a page header's fields."""


def row_bytes(metadata: Any, row_groups: Iterable[int], leaves: Collection[int], file: Any) -> int:
    """Return how many bytes a row of some row groups takes, of those whose rows take the most.

    Args:
        metadata: of the file.
        row_groups: their numbers.
        leaves: numbers of the columns that are decoded.
        file: the open file, which reads at any place.
    """
    widest = 0.0
    for number in row_groups:
        group = metadata.row_group(number)
        if group.num_rows:
            found = sum(_chunk_bytes(metadata, group.column(leaf), leaf, file) for leaf in leaves)
            widest = max(widest, found / group.num_rows)
    return int(widest) + 1


def bound_of_few(metadata: Any, row_groups: Iterable[int], *, nests: bool) -> int | None:
    """Return a bound of the bytes of a row, without looking at each column, of few stored bytes.

    A value is never longer than its column chunk is without compression. None: of many rows that
    bound would be far too high, of lists, which repeat values, it is none; look at each column.

    Args:
        metadata: of the file.
        row_groups: their numbers.
        nests: whether any column is a list, a map or a struct.
    """
    if nests:
        return None
    widest, rows = 1, 0
    for number in row_groups:
        group = metadata.row_group(number)
        if group.total_byte_size <= 0:  # some writers do not say
            return None
        widest, rows = max(widest, group.total_byte_size), rows + group.num_rows
    return None if rows * widest > _FEW_BYTES else widest


def nests(schema: pa.Schema) -> bool:
    """Say whether any column is a list, a map or a struct."""
    return any(child_fields(each.type) for each in schema)


def _chunk_bytes(metadata: Any, chunk: Any, leaf: int, file: Any) -> int:
    """Return how many bytes the values of a column chunk take."""
    stored, count = int(chunk.total_uncompressed_size), int(chunk.num_values)
    kind = chunk.physical_type
    if kind in _WIDTHS:
        return count * _WIDTHS[kind]
    if kind != "BYTE_ARRAY":
        return int(count * metadata.schema.column(leaf).length)
    if chunk.has_dictionary_page or _FRONT_CODED in chunk.encodings:
        return max(stored, count * _value_bytes(chunk, file))
    return stored


def _value_bytes(chunk: Any, file: Any) -> int:
    """Return how many bytes a value of a chunk takes that stores values that repeat but once."""
    known = chunk.statistics
    has_bounds = known is not None and known.has_min_max
    if has_bounds:
        lengths = (len(known.min_raw), len(known.max_raw))
        if _CUT_BYTES not in lengths:
            return max(lengths)
    if known is not None and known.has_null_count and known.null_count == chunk.num_values:
        return 0
    stored = int(chunk.total_uncompressed_size)
    if not chunk.has_dictionary_page:
        # Bounds that were perhaps not cut, of texts that share little, as hashes do.
        share = stored // max(int(chunk.num_values), 1)
        return 2 * share if has_bounds and 2 * share >= _CUT_BYTES else stored
    found = _dictionary(file.read_at(_HEADER_BYTES, chunk.dictionary_page_offset))
    return stored if found is None else found[0] // max(found[1], 1)


def _dictionary(header: bytes) -> tuple[int, int] | None:
    """Return the bytes and the values of a dictionary, by its page's header; None: it is none.

    Source: Parquet's ``PageHeader`` and ``DictionaryPageHeader``, in Thrift's compact protocol.
    """
    size, field, at = None, 0, 0
    try:
        while header[at]:
            field, kind, at = field + (header[at] >> 4), header[at] & 15, at + 1
            if kind == _INT32:
                value, at = _varint(header, at)
                size = value if field == 2 else size
            elif kind == _STRUCT and field == 7 and header[at] == 16 | _INT32 and size:
                return size, _varint(header, at + 1)[0]
            else:
                return None
    except IndexError:
        pass
    return None


def _varint(header: bytes, at: int) -> tuple[int, int]:
    """Return a number that is 0 or more, and where it ends."""
    value = shift = 0
    while True:
        byte = header[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value >> 1, at

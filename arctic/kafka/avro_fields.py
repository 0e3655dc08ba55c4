"""Flat rows in Avro, read field by field: one field of all messages at a time.

Strategy: the values of a row follow one another, and each says how long it is. So a step that knows
where a field begins in every message knows where the next one does.

Rules:
    - Messages that are certain are read so, others one by one by somebody else: those that are cut,
      too long or unusual in their bytes, and those whose texts might not come through JSON as they
      are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.buffers import value_bytes, value_offsets

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ODD = r"\x00|\x{FDD0}|\\[uU][fF][dD][dD]0"
_VARINT_BYTES = 9
"""A number of ten could be beyond 64 bits."""
_PADDING = 16
"""Bytes behind the last message, into which no value of a message that is cut reaches farther."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatField:
    """A field of a row."""

    name: str
    kind: str
    """As Avro names primitive types, ``enum`` or ``fixed``."""
    null: int | None = None
    """Which branch of its union is null; None: it is no union."""
    size: int = 0
    """Bytes of a ``fixed``."""
    symbols: tuple[str, ...] = ()
    """Of an ``enum``."""


def flat_fields(schema: Any, named: Mapping[str, Any]) -> tuple[FlatField, ...] | None:
    """Return the fields of a schema as fastavro parses it; None: its rows are read one by one."""
    if not isinstance(schema, dict) or schema["type"] != "record":
        return None
    found = [_flat(field["name"], field["type"], named) for field in schema["fields"]]
    fields = tuple(each for each in found if each is not None)
    names = {each.name for each in fields}
    is_flat = len(names) == len(found) and all(map(_NAME.fullmatch, names))
    return fields if is_flat and found else None


def _flat(name: str, kind: Any, named: Mapping[str, Any]) -> FlatField | None:
    null = None
    if isinstance(kind, list):
        if len(kind) != 2 or "null" not in kind:
            return None
        null = kind.index("null")
        kind = kind[1 - null]
    kind = named.get(kind, kind) if isinstance(kind, str) else kind
    whole = kind if isinstance(kind, dict) else {"type": kind}
    type_ = whole["type"]
    if not isinstance(type_, str) or type_ not in _READERS:
        return None
    symbols = tuple(whole.get("symbols", ()))
    if not all(map(_NAME.fullmatch, symbols)):
        return None
    size = whole.get("size", 0)
    return FlatField(name=name, kind=type_, null=null, size=size, symbols=symbols)


@dataclass(slots=True)
class _Walk:
    """Where the next value of each message is."""

    data: npt.NDArray[np.uint8]
    place: Integers
    end: Integers
    is_good: Flags

    def check(self, rows: Integers) -> None:
        """Leave messages out that have ended before the next value."""
        is_over = self.place[rows] > self.end[rows]
        if is_over.any():
            over = rows[is_over]
            self.is_good[over] = False
            self.place[over] = self.end[over]

    def skip(self, rows: Integers, lengths: Integers) -> Integers:
        """Go past values of some lengths; return where they begin."""
        starts = self.place[rows]
        is_none = (lengths < 0) | (lengths > self.end[rows] - starts)
        if is_none.any():
            self.is_good[rows[is_none]] = False
            lengths[is_none] = 0
        self.place[rows] = starts + lengths
        return starts

    def numbers(self, rows: Integers) -> Integers:
        """Read numbers of a variable length."""
        found = np.zeros(len(rows), np.uint64)
        place, left = self.place[rows], np.arange(len(rows))
        for group in range(_VARINT_BYTES):
            byte = self.data[place[left]]
            found[left] |= (byte & 127).astype(np.uint64) << np.uint64(7 * group)
            place[left] += 1
            left = left[byte > 127]
            if not len(left):
                break
        self.is_good[rows[left]] = False
        self.place[rows] = place
        self.check(rows)
        magnitude = (found >> np.uint64(1)).astype(np.int64)
        signed: Integers = magnitude ^ -(found & np.uint64(1)).astype(np.int64)
        return signed


def read_fields(
    messages: pa.Array, rows: Integers, header: int, fields: Sequence[FlatField]
) -> tuple[list[pa.Array], Integers]:
    """Read messages.

    Args:
        messages: bytes.
        rows: which of them; rising.
        header: bytes before the first field, which all of them have.
        fields: in their order.

    Returns:
        The values of each field as int64, float32, float64, bool, string, binary or null, and of
        which messages they are.
    """
    offsets = value_offsets(messages).astype(np.int64)
    walk = _Walk(
        data=np.concatenate([value_bytes(messages), np.zeros(_PADDING, np.uint8)]),
        place=offsets[rows] + header,
        end=offsets[rows + 1],
        is_good=np.ones(len(rows), np.bool_),
    )
    values = [_field(walk, field) for field in fields]
    walk.is_good &= walk.place == walk.end
    for array in values:
        if pa.types.is_string(array.type):
            odd = pc.fill_null(pc.match_substring_regex(array, _ODD), False)
            walk.is_good &= ~odd.to_numpy(zero_copy_only=False)
    if walk.is_good.all():
        return values, rows
    kept = pa.array(walk.is_good)
    return [array.filter(kept) for array in values], rows[walk.is_good]


def _field(walk: _Walk, field: FlatField) -> pa.Array:
    count = len(walk.place)
    rows = np.arange(count)
    if field.null is not None:
        # Writers take one byte for a branch.
        branch = walk.data[walk.place]
        walk.place += 1
        walk.is_good &= (branch == 0) | (branch == 2)
        walk.check(rows)
        rows = np.flatnonzero((branch >> 1) != field.null)
    values = _READERS[field.kind](walk, rows, field)
    if len(rows) == count:
        return values
    place = np.zeros(count, np.int64)
    place[rows] = np.arange(len(rows))
    is_null = np.ones(count, np.bool_)
    is_null[rows] = False
    return values.take(pa.array(place, mask=is_null))


def _integers(walk: _Walk, rows: Integers, _: FlatField) -> pa.Array:
    return pa.array(walk.numbers(rows))


def _floats(type_: str) -> Callable[[_Walk, Integers, FlatField], pa.Array]:
    size = np.dtype(type_).itemsize

    def read(walk: _Walk, rows: Integers, _: FlatField) -> pa.Array:
        starts = walk.skip(rows, np.full(len(rows), size, np.int64))
        raw = walk.data[starts[:, None] + np.arange(size)]
        return pa.array(raw.view(type_).ravel())

    return read


def _booleans(walk: _Walk, rows: Integers, _: FlatField) -> pa.Array:
    byte = walk.data[walk.skip(rows, np.ones(len(rows), np.int64))]
    walk.is_good[rows[byte > 1]] = False
    return pa.array(byte == 1)


def _enums(walk: _Walk, rows: Integers, field: FlatField) -> pa.Array:
    number = walk.numbers(rows)
    is_none = (number < 0) | (number >= len(field.symbols))
    walk.is_good[rows[is_none]] = False
    number[is_none] = 0
    return pa.array(field.symbols, pa.string()).take(pa.array(number))


def _bytes(walk: _Walk, rows: Integers, _: FlatField) -> pa.Array:
    lengths = walk.numbers(rows)
    return _slices(walk, walk.skip(rows, lengths), lengths)


def _fixed(walk: _Walk, rows: Integers, field: FlatField) -> pa.Array:
    lengths = np.full(len(rows), field.size, np.int64)
    return _slices(walk, walk.skip(rows, lengths), lengths)


def _texts(walk: _Walk, rows: Integers, field: FlatField) -> pa.Array:
    values = _bytes(walk, rows, field)
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        is_text = np.array(_are_texts(values))
        walk.is_good[rows[~is_text]] = False
        return pc.if_else(pa.array(is_text), values, b"").cast(pa.string())


def _are_texts(values: pa.Array) -> list[bool]:
    """Say which bytes are texts, of which few are not."""
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        half = len(values) // 2
        return [*_are_texts(values[:half]), *_are_texts(values[half:])] if half else [False]
    return [True] * len(values)


def _slices(walk: _Walk, starts: Integers, lengths: Integers) -> pa.Array:
    """Return bytes that lie one after the other, with others between them."""
    if not len(starts):
        return pa.array([], pa.binary())
    offsets = np.stack([starts, starts + lengths], axis=1).astype(np.int32).ravel()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(walk.data)]
    both = pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)
    return both.take(pa.array(np.arange(0, len(offsets) - 1, 2)))


def _nothing(_: _Walk, rows: Integers, __: FlatField) -> pa.Array:
    return pa.nulls(len(rows))


_READERS: Mapping[str, Callable[[_Walk, Integers, FlatField], pa.Array]] = {
    "null": _nothing,
    "boolean": _booleans,
    "int": _integers,
    "long": _integers,
    "float": _floats("<f4"),
    "double": _floats("<f8"),
    "bytes": _bytes,
    "string": _texts,
    "fixed": _fixed,
    "enum": _enums,
}

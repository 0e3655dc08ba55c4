"""Messages of JSON, read by Arrow's parser a whole column at a time.

Strategy: messages that have the same fields are one image. Each begins and ends with a brace and
has no line break, so joined by line breaks they are read as one file: ``}`` and ``{`` meet only
between documents, and as many documents as messages are one for each. Numbers are read into the
table's type, which keeps their digits; all other values as texts, which ``decode`` knows.

Rules:
    - A part that does not fit is divided; the rest of it is left to the slow way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.types as pt

from arctic.cdc.decode import Encoding
from arctic.cdc.unread import Image, Integers, ReadColumn

_ODD = r"[\n\r\x{FDD0}]|\\[uU][fF][dD][dD]0"
_KINDS = 16
"""Combinations of fields that are worth an image each."""
_SAMPLE = 100
_PARTS = 8
_FEWEST = 64
_MOST_BYTES = 2**26
_BLOCK_BYTES = 2**20

Side = Mapping[str, pa.Array]
Listed = Callable[[pa.Array, pa.Array], tuple[pa.Table, pa.Table]]
"""Messages and their sources -> ``EVENTS`` with lists, and ``BROKEN`` ones."""


def is_plain(messages: pa.Array) -> pa.Array:
    """Return which messages may be read so; null is not."""
    is_object = pc.and_(pc.starts_with(messages, "{"), pc.ends_with(messages, "}"))
    is_odd = pc.match_substring_regex(messages, _ODD)
    return pc.fill_null(pc.and_(is_object, pc.invert(is_odd)), False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMessages:
    """Messages whose values are not read yet."""

    messages: pa.Array
    sources: pa.Array
    fields: pa.Array
    """Of each message, as JSON: the names of the row after and of the row before, each a list or
    null."""
    sides: tuple[str, str] | None
    """Where these rows are; None: the message is the row after."""
    slowly: Listed

    def images(self, places: Integers, columns: Sequence[ReadColumn]) -> Iterator[Image]:
        """Yield an image for each combination of fields and part."""
        whole = self.fields.take(pa.array(places)).dictionary_encode()
        codes = whole.indices.to_numpy(zero_copy_only=False)
        for code in range(min(len(whole.dictionary), _KINDS)):
            names = json.loads(whole.dictionary[code].as_py())
            wanted = [None if side is None else _wanted(side, columns) for side in names]
            if any(side == {} for side in wanted):
                continue
            at = np.flatnonzero(codes == code)
            messages = self.messages.take(pa.array(places[at]))
            for start, stop in _parts(messages):
                yield from self._read(at[start:stop], messages.slice(start, stop - start), wanted)

    def listed(self, places: Integers) -> tuple[pa.Table, pa.Table]:
        """Return events with lists, and those that are none."""
        at = pa.array(places)
        return self.slowly(self.messages.take(at), self.sources.take(at))

    def _read(
        self,
        at: Integers,
        messages: pa.Array,
        wanted: Sequence[Mapping[str, ReadColumn] | None],
    ) -> Iterator[Image]:
        try:
            found = self._parsed(messages, wanted)
        except pa.ArrowInvalid:
            found = None
        if found is not None:
            yield Image(at=at, new=found[0], old=found[1])
        elif len(messages) > _FEWEST:
            size = -(-len(messages) // _PARTS)
            for start in range(0, len(messages), size):
                yield from self._read(at[start : start + size], messages.slice(start, size), wanted)

    def _parsed(
        self, messages: pa.Array, wanted: Sequence[Mapping[str, ReadColumn] | None]
    ) -> tuple[Side | None, Side | None] | None:
        """Return both sides; None: the messages do not fit."""
        sample = _documents(messages.slice(0, _SAMPLE), None)
        shapes = [
            None if side is None else _shape(self._kinds(sample.schema, number), side)
            for number, side in enumerate(wanted)
        ]
        if any(shape is None for shape, side in zip(shapes, wanted, strict=True) if side):
            return None
        if self.sides is None:
            schema = shapes[0]
        else:
            schema = pa.schema(
                (name, pa.struct(list(shape)))
                for name, shape in zip(self.sides, shapes, strict=True)
                if shape is not None
            )
        found = _documents(messages, schema)
        if found.num_rows != len(messages):
            return None
        found.validate(full=True)
        new, old = (
            None if side is None else self._side(found, number, side)
            for number, side in enumerate(wanted)
        )
        return new, old

    def _kinds(self, schema: pa.Schema, number: int) -> Mapping[str, pa.DataType]:
        """Return the types that values seem to have."""
        if self.sides is None:
            return {field.name: field.type for field in schema}
        name = self.sides[number]
        there = schema.field(name).type if name in schema.names else pa.null()
        return {field.name: field.type for field in there} if pt.is_struct(there) else {}

    def _side(self, found: pa.Table, number: int, wanted: Mapping[str, ReadColumn]) -> Side:
        rows = found.combine_chunks()
        if self.sides is not None:
            (rows,) = rows.select([self.sides[number]]).columns
            rows = rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows
            if rows.null_count:
                raise pa.ArrowInvalid("a row is null")
            arrays = dict(zip(rows.type.names, rows.flatten(), strict=True))
        else:
            arrays = {name: rows[name].combine_chunks() for name in rows.column_names}
        return {name: _value(arrays[name], column) for name, column in wanted.items()}


def _wanted(names: Sequence[str], columns: Sequence[ReadColumn]) -> dict[str, ReadColumn]:
    """Return the columns of the table that rows with these fields have; empty: a field is twice."""
    if len(set(names)) < len(names):
        return {}
    return {c.source: c for c in columns if c.source is not None and c.source in names}


def _parts(messages: pa.Array) -> Iterator[tuple[int, int]]:
    """Yield ranges of messages whose texts can be joined."""
    count = len(messages)
    size = max(1, count // max(1, -(-messages.nbytes // _MOST_BYTES)))
    for start in range(0, count, size):
        yield start, min(start + size, count)


def _documents(messages: pa.Array, schema: pa.Schema | None) -> pa.Table:
    """Parse messages; without a schema all fields, in the types that they seem to have."""
    offsets = pa.array([0, len(messages)], pa.int32())
    text = pc.binary_join(pa.ListArray.from_arrays(offsets, messages), "\n")[0].as_buffer()
    longest = pc.max(pc.binary_length(messages)).as_py() or 0
    options = pj.ParseOptions() if schema is None else pj.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="ignore"
    )  # fmt: skip
    return pj.read_json(
        pa.BufferReader(text),
        read_options=pj.ReadOptions(block_size=max(_BLOCK_BYTES, 2 * longest)),
        parse_options=options,
    )


def _shape(kinds: Mapping[str, pa.DataType], wanted: Mapping[str, ReadColumn]) -> pa.Schema | None:
    """Return the types to read columns as; None: some column is of no such kind."""
    fields = []
    for name, column in wanted.items():
        type_ = _read_type(kinds.get(name, pa.null()), column)
        if type_ is None:
            return None
        fields.append(pa.field(name, type_))
    return pa.schema(fields)


def _read_type(kind: pa.DataType, column: ReadColumn) -> pa.DataType | None:
    target, encoding = column.field.type, column.decoding.encoding
    if pt.is_string(kind) or pt.is_timestamp(kind):
        return pa.string()
    if pt.is_null(kind):
        # Not seen: what the type of the table makes likely.
        is_number = (pt.is_integer(target) or pt.is_floating(target)) and encoding is Encoding.TEXT
        return target if is_number or pt.is_boolean(target) else pa.string()
    if pt.is_boolean(kind):
        return target if pt.is_boolean(target) else None
    if not (pt.is_integer(kind) or pt.is_floating(kind)):
        return None
    if pt.is_decimal(target) and encoding in (Encoding.TEXT, Encoding.UNSCALED):
        return target
    if encoding is Encoding.TEXT:
        return target if pt.is_integer(target) or pt.is_floating(target) else None
    # A number that means something else, such as days.
    return pa.int64() if pt.is_integer(kind) and encoding is not Encoding.UNSCALED else None


def _value(array: pa.Array, column: ReadColumn) -> pa.Array:
    if array.type == column.field.type and pt.is_floating(array.type):
        if not pc.all(pc.is_finite(array)).as_py() and array.null_count < len(array):
            raise pa.ArrowInvalid("a number is too large")
        return array
    is_epoch = pt.is_integer(array.type) and column.decoding.encoding is not Encoding.TEXT
    return array.cast(pa.string()) if is_epoch else array

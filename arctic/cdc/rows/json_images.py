"""Messages of JSON, read by Arrow's parser a whole column at a time.

Strategy: messages that have the same fields are one image. Mostly all of them do, so that is tried
first: what the fields are is taken from the first messages, and no message may have others or leave
one out. Else the fields of each are looked up, and messages taken together by them. Numbers are
read into the table's type, which keeps their digits; all other values as texts, which ``decode``
knows.

Rules:
    - A part that does not fit is divided; the rest of it is left to the slow way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.cdc.decode import Encoding
from arctic.cdc.rows.json_documents import documents, parts
from arctic.cdc.rows.json_mentions import mention_all
from arctic.cdc.rows.stored_values import stored_values
from arctic.cdc.unread import Image, Integers, ReadColumn

_KINDS = 16
"""Combinations of fields that are worth an image each."""
_SAMPLE = 100
_PARTS = 8
_FEWEST = 64

Side = Mapping[str, pa.Array]
Wanted = Sequence[Mapping[str, ReadColumn] | None]
"""The columns that a table wants of the row after and of the row before; None: no such row."""
Listed = Callable[[pa.Array, pa.Array], tuple[pa.Table, pa.Table]]
"""Messages and their sources -> ``EVENTS`` with lists, and ``BROKEN`` ones."""
Fields = Callable[[pa.Array], pa.Array]
"""Messages -> of each, as JSON: the names of the row after and of the row before, each a list or
null; null if they cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMessages:
    """Messages whose values are not read yet."""

    messages: pa.Array
    sources: pa.Array
    has_new: npt.NDArray[np.bool_]
    """Which of them have a row after."""
    has_old: npt.NDArray[np.bool_]
    sides: tuple[str, str] | None
    """Where these rows are; None: the message is the row after."""
    fields: Fields
    slowly: Listed

    def images(self, places: Integers, columns: Sequence[ReadColumn]) -> Iterator[Image]:
        """Yield an image for each combination of rows and part; of fields too, if they differ."""
        for has in ((True, True), (True, False), (False, True)):
            is_like = (self.has_new[places] == has[0]) & (self.has_old[places] == has[1])
            at = np.flatnonzero(is_like)
            if not len(at):
                continue
            is_whole = len(at) == len(self.messages)
            messages = self.messages if is_whole else self.messages.take(pa.array(places[at]))
            for start, stop in parts(messages):
                part = messages.slice(start, stop - start)
                found = self._alike(part, columns, has)
                if found is not None:
                    yield Image(at=at[start:stop], new=found[0], old=found[1])
                else:
                    yield from self._by_fields(at[start:stop], part, columns)

    def listed(self, places: Integers) -> tuple[pa.Table, pa.Table]:
        """Return events with lists, and those that are none."""
        at = pa.array(places)
        return self.slowly(self.messages.take(at), self.sources.take(at))

    def _alike(
        self, messages: pa.Array, columns: Sequence[ReadColumn], has: tuple[bool, bool]
    ) -> tuple[Side | None, Side | None] | None:
        """Return both sides of messages that all have the fields of the first; None: they do not.

        A message with a field twice is no such message.
        """
        try:
            sample = documents(messages.slice(0, _SAMPLE), None).schema
            wanted = [
                _wanted(tuple(self._kinds(sample, number)), columns) if there else None
                for number, there in enumerate(has)
            ]
            if any(side == {} for side in wanted):
                return None
            schema = self._schema(sample, wanted, is_whole=True)
            if schema is None:
                return None
            found = documents(messages, schema, others="error")
            names = {name for side in wanted if side is not None for name in side}
            return self._both(found, wanted) if mention_all(found, messages, names) else None
        except (pa.ArrowInvalid, RecursionError):
            # Of types deep within each other, where other fields have them.
            return None

    def _by_fields(
        self, at: Integers, messages: pa.Array, columns: Sequence[ReadColumn]
    ) -> Iterator[Image]:
        whole = self.fields(messages).dictionary_encode()
        codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        for code in range(min(len(whole.dictionary), _KINDS)):
            names = json.loads(whole.dictionary[code].as_py())
            wanted = [None if side is None else _wanted(side, columns) for side in names]
            if any(side == {} for side in wanted):
                continue
            here = np.flatnonzero(codes == code)
            yield from self._read(at[here], messages.take(pa.array(here)), wanted)

    def _read(self, at: Integers, messages: pa.Array, wanted: Wanted) -> Iterator[Image]:
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

    def _parsed(self, messages: pa.Array, wanted: Wanted) -> tuple[Side | None, Side | None] | None:
        """Return both sides; None: the messages do not fit."""
        sample = documents(messages.slice(0, _SAMPLE), None).schema
        schema = self._schema(sample, wanted, is_whole=False)
        return None if schema is None else self._both(documents(messages, schema), wanted)

    def _schema(self, sample: pa.Schema, wanted: Wanted, *, is_whole: bool) -> pa.Schema | None:
        """Return the types to parse messages as; None: some column is of no such kind.

        Args:
            sample: the types that all fields seem to have.
            wanted: the columns.
            is_whole: whether to parse all other fields too.
        """
        shapes = [
            None if side is None else _shape(self._kinds(sample, number), side)
            for number, side in enumerate(wanted)
        ]
        if any(shape is None for shape, side in zip(shapes, wanted, strict=True) if side):
            return None
        if self.sides is None:
            rows = list(shapes[0] or ())
            kinds = {field.name: field.type for field in sample}
            return pa.schema([*rows, *_others(kinds, shapes[0], is_whole)])
        fields = []
        for number, (name, shape) in enumerate(zip(self.sides, shapes, strict=True)):
            if shape is not None:
                rest = _others(self._kinds(sample, number), shape, is_whole)
                fields.append(pa.field(name, pa.struct([*shape, *rest])))
        kinds = {field.name: field.type for field in sample}
        return pa.schema([*fields, *_others(kinds, pa.schema(fields), is_whole)])

    def _kinds(self, schema: pa.Schema, number: int) -> Mapping[str, pa.DataType]:
        """Return the types that values seem to have."""
        if self.sides is None:
            return {field.name: field.type for field in schema}
        name = self.sides[number]
        there = schema.field(name).type if name in schema.names else pa.null()
        return {field.name: field.type for field in there} if pt.is_struct(there) else {}

    def _both(self, found: pa.Table, wanted: Wanted) -> tuple[Side | None, Side | None]:
        found.validate(full=True)
        new, old = (
            None if side is None else self._side(found, number, side)
            for number, side in enumerate(wanted)
        )
        return new, old

    def _side(self, found: pa.Table, number: int, wanted: Mapping[str, ReadColumn]) -> Side:
        if self.sides is not None:
            side = found[self.sides[number]].combine_chunks()
            if side.null_count:
                raise pa.ArrowInvalid("a row is null")
            arrays = dict(zip(side.type.names, side.flatten(), strict=True))
        else:
            arrays = {name: found[name].combine_chunks() for name in wanted}
        return {name: _value(arrays[name], column) for name, column in wanted.items()}


def _wanted(names: Sequence[str], columns: Sequence[ReadColumn]) -> dict[str, ReadColumn]:
    """Return the columns of the table that rows with these fields have; empty: a field is twice."""
    if len(set(names)) < len(names):
        return {}
    return {c.source: c for c in columns if c.source is not None and c.source in names}


def _others(
    kinds: Mapping[str, pa.DataType], known: pa.Schema | None, is_whole: bool
) -> list[pa.Field]:
    """Return fields that nobody wants, in types that take many values, if all are to be parsed."""
    names = () if known is None else known.names
    others = kinds.items() if is_whole else ()
    return [pa.field(name, _loose(kind)) for name, kind in others if name not in names]


def _loose(kind: pa.DataType) -> pa.DataType:
    if pt.is_struct(kind):
        return pa.struct([pa.field(field.name, _loose(field.type)) for field in kind])
    if pt.is_list(kind):
        return pa.list_(_loose(kind.value_type))
    if pt.is_timestamp(kind):
        return pa.string()
    return pa.float64() if pt.is_integer(kind) else kind


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
    return stored_values(array, column) if is_epoch else array

"""Messages in Avro that are columns, each schema by itself, for whoever knows their table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from arctic.cdc.rows.stored_values import stored_values
from arctic.cdc.unread import Image, ReadColumn
from arctic.kafka.avro_fields import FlatField, Integers, read_fields

HEADER = 5
"""Bytes before a row: a zero, and the number of its schema."""


@dataclass(slots=True, kw_only=True)
class _Group:
    """Messages of one schema, in pieces."""

    fields: Sequence[FlatField]
    numbers: list[Integers] = field(default_factory=list)
    messages: list[pa.Array] = field(default_factory=list)
    values: list[list[pa.Array]] = field(default_factory=list)
    """Of each piece, an array for each field."""

    def found(self, numbers: Integers) -> tuple[Integers, pa.Array]:
        """Return which of some rising numbers are of this, and their rows here."""
        own = np.concatenate(self.numbers)
        at = np.flatnonzero(np.isin(numbers, own))
        return at, pa.array(np.searchsorted(own, numbers[at]))


class AvroRows:
    """Messages of one batch, as ``Packed`` says."""

    def __init__(self, *, text: Callable[[bytes], bytes]) -> None:
        """Take what makes the text of a message."""
        self._text = text
        self._groups: dict[int, _Group] = {}
        self._begun = 0

    def read(
        self, messages: pa.Array, at: Integers, schema: int, fields: Sequence[FlatField]
    ) -> Integers:
        """Take in what can be read of some messages of a piece; return which ones."""
        values, read = read_fields(messages, at, HEADER, fields)
        if len(read):
            group = self._groups.setdefault(schema, _Group(fields=fields))
            group.numbers.append(read + self._begun)
            group.messages.append(messages.take(pa.array(read)))
            group.values.append(values)
        return read

    def end(self, count: int) -> None:
        """Go on behind a piece of so many messages."""
        self._begun += count

    @property
    def numbers(self) -> Integers:
        """Which messages of the batch these are."""
        every = [part for group in self._groups.values() for part in group.numbers]
        return np.sort(np.concatenate([np.empty(0, np.int64), *every]))

    def images(self, places: Integers, columns: Sequence[ReadColumn]) -> Iterator[Image]:
        """Yield an image for each schema."""
        wanted = self.numbers[places]
        for group in self._groups.values():
            at, rows = group.found(wanted)
            number = {each.name: n for n, each in enumerate(group.fields)}
            new = {}
            try:
                for column in columns:
                    if column.source in number:
                        parts = [part[number[column.source]] for part in group.values]
                        values = pa.chunked_array(parts).take(rows).combine_chunks()
                        new[column.source] = stored_values(values, column)
            except pa.ArrowInvalid:
                continue
            if len(at):
                yield Image(at=at, new=new, old=None)

    def texts(self, places: Integers) -> pa.Array:
        """Return the JSON of some messages."""
        wanted = self.numbers[places]
        texts = np.empty(len(wanted), object)
        for group in self._groups.values():
            at, rows = group.found(wanted)
            for which, message in zip(
                at.tolist(), pa.chunked_array(group.messages).take(rows).to_pylist(), strict=True
            ):
                texts[which] = self._text(message).decode()
        return pa.array(texts, pa.string())

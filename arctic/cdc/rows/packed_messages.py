"""Messages with a schema, which become columns before their table is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.events import BROKEN, EVENTS, Events
from arctic.cdc.rows.unread_messages import message_table
from arctic.cdc.unread import Image, Integers, ReadColumn, Unread


class Packed(Protocol):
    """Messages of a batch that are each the row after an insert."""

    @property
    def numbers(self) -> Integers:
        """Which of the batch they are; rising."""

    def images(self, places: Integers, columns: Sequence[ReadColumn]) -> Iterator[Image]:
        """Yield what can be read of some of ``numbers``, as ``Unread`` does."""

    def texts(self, places: Integers) -> pa.Array:
        """Return the texts that some of ``numbers`` stand for."""


def with_packed(
    texts: pa.ChunkedArray,
    keys: pa.ChunkedArray | None,
    topics: pa.Array | None,
    packed: Packed,
    *,
    events: Callable[[pa.ChunkedArray, pa.ChunkedArray | None, pa.Array | None], Events],
    listed: Callable[[pa.Table], Events],
) -> Events:
    """Return the events of a batch.

    Args:
        texts: of all of its messages; those that are packed are not looked at.
        keys: of all of them.
        topics: likewise.
        packed: the packed ones.
        events: reads texts, keys and topics of others.
        listed: reads a ``message_table`` at once.
    """
    count = len(packed.numbers)
    found = Events(events=EVENTS.empty_table(), broken=BROKEN.empty_table(), ignored=0, ends=0)
    if count < len(texts):
        is_other = np.ones(len(texts), np.bool_)
        is_other[packed.numbers] = False
        others = pa.array(np.flatnonzero(is_other))
        taken = [None if each is None else each.take(others) for each in (texts, keys, topics)]
        found = events(*taken)
        found = replace(
            found,
            events=_numbered(found.events, others),
            broken=_numbered(found.broken, others),
        )
    numbers = pa.array(packed.numbers)
    arrays = {
        "seq": numbers,
        "ends": np.zeros(count, np.int64),
        "source": pa.nulls(count, pa.string()) if topics is None else topics.take(numbers),
        "kind": pa.repeat("I", count),
        "place": np.arange(count, dtype=np.int64),
    }
    ours = pa.table(
        [arrays.get(field.name, pa.nulls(count, field.type)) for field in EVENTS], schema=EVENTS
    )
    unread = _Both(packed=packed, sources=ours["source"], count=count, other=found.unread,
                   slowly=listed)  # fmt: skip
    if found.events.num_rows:
        place = pc.add(found.events["place"], count)
        theirs = found.events.set_column(EVENTS.get_field_index("place"), "place", place)
        ours = pa.concat_tables([ours, theirs.cast(EVENTS)]).sort_by("seq")
    return replace(found, events=ours, unread=unread)


def with_messages(events: pa.Table, unread: Unread | None) -> pa.Table:
    """Return ``EVENTS`` with the texts of their messages, also of packed ones."""
    is_packed = pc.and_(events["place"].is_valid(), events["message"].is_null())
    if unread is None or not pc.any(is_packed).as_py():
        return events
    found = unread.listed(events["place"].filter(is_packed).to_numpy())
    texts = pa.concat_tables([part.select(["seq", "message"]) for part in found]).sort_by("seq")
    message = events["message"].combine_chunks()
    message = pc.replace_with_mask(
        message, is_packed.combine_chunks(), texts["message"].combine_chunks()
    )
    return events.set_column(EVENTS.get_field_index("message"), "message", message)


def _numbered(found: pa.Table, numbers: pa.Array) -> pa.Table:
    at = found.column_names.index("seq")
    return found.set_column(at, "seq", numbers.take(found["seq"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Both:
    """Packed messages, and after them those that others have not read yet."""

    packed: Packed
    sources: pa.ChunkedArray
    count: int
    """Of packed messages; the places of others are greater."""
    other: Unread | None
    slowly: Callable[[pa.Table], Events]

    def images(self, places: Integers, columns: Sequence[ReadColumn]) -> Iterator[Image]:
        """Yield the images of both."""
        ours = np.flatnonzero(places < self.count)
        for image in self.packed.images(places[ours], columns):
            yield replace(image, at=ours[image.at])
        theirs = np.flatnonzero(places >= self.count)
        if self.other is not None and len(theirs):
            for image in self.other.images(places[theirs] - self.count, columns):
                yield replace(image, at=theirs[image.at])

    def listed(self, places: Integers) -> tuple[pa.Table, pa.Table]:
        """Return events with lists, and those that are none."""
        ours = np.flatnonzero(places < self.count)
        texts = self.packed.texts(places[ours])
        found = self.slowly(message_table(texts, None, self.sources.take(pa.array(places[ours]))))
        parts = [(found.events, found.broken, ours)]
        theirs = np.flatnonzero(places >= self.count)
        if self.other is not None and len(theirs):
            parts.append((*self.other.listed(places[theirs] - self.count), theirs))
        events, broken = (
            pa.concat_tables([_numbered(part[which], pa.array(part[2])) for part in parts])
            for which in (0, 1)
        )
        return events.sort_by("seq"), broken.sort_by("seq")

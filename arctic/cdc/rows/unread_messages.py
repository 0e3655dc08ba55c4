"""Messages divided into those that are read by columns, once their table is known, and the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.events import BROKEN, EVENTS, Events
from arctic.cdc.rows.json_images import JsonMessages

_NONE = Events(events=EVENTS.empty_table(), broken=BROKEN.empty_table(), ignored=0, ends=0)


def message_table(
    values: pa.Array | pa.ChunkedArray,
    keys: pa.Array | pa.ChunkedArray | None,
    sources: pa.Array | pa.ChunkedArray | None,
) -> pa.Table:
    """Return messages as a table: their numbers, texts, keys and sources."""
    count = len(values)
    nothing = pa.nulls(count, pa.string())
    return pa.table(
        {
            "seq": np.arange(count, dtype=np.int64),
            "message": values,
            "key": nothing if keys is None else keys,
            "source": nothing if sources is None else sources,
        }
    )


def listed_and_unread(
    given: pa.Table,
    fields: pa.ChunkedArray,
    *,
    sides: tuple[str, str] | None,
    read: Callable[[pa.Table], Events],
    kinds: pa.ChunkedArray | None = None,
) -> Events:
    """Return the events of messages; those that are read by columns have a place.

    Args:
        given: as ``message_table`` makes it.
        fields: as ``JsonMessages`` has them; null: the message is read at once.
        sides: where the rows of a message are; None: it is the row after.
        read: reads messages at once.
        kinds: of the events that are read later; None: they are all inserts.
    """
    is_later = fields.is_valid()
    later = given.filter(is_later)
    found = _NONE
    if later.num_rows < given.num_rows:
        found = read(given.filter(pc.invert(is_later)))
    if not later.num_rows:
        return found

    def slowly(messages: pa.Array, sources: pa.Array) -> tuple[pa.Table, pa.Table]:
        known = read(message_table(messages, None, sources))
        return known.events, known.broken

    unread = JsonMessages(
        messages=later["message"].combine_chunks(),
        sources=later["source"].combine_chunks(),
        fields=fields.filter(is_later).combine_chunks(),
        sides=sides,
        slowly=slowly,
    )
    count = later.num_rows
    kind = pa.repeat("I", count) if kinds is None else kinds.filter(is_later)
    arrays = {
        "seq": later["seq"],
        "ends": np.zeros(count, np.int64),
        "source": later["source"],
        "kind": kind,
        "message": later["message"],
        "place": np.arange(count, dtype=np.int64),
    }
    events = pa.table(
        [arrays.get(field.name, pa.nulls(count, field.type)) for field in EVENTS], schema=EVENTS
    )
    if found.events.num_rows:
        events = pa.concat_tables([found.events, events]).sort_by("seq")
    return replace(found, events=events, broken=found.broken.cast(BROKEN), unread=unread)

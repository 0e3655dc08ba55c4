"""Messages divided into those that are read by columns, once their table is known, and the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.events import BROKEN, EVENTS, Events
from arctic.cdc.rows.json_images import Fields, JsonMessages

HEADS = pa.schema(
    [
        # Whether it is read by columns, once its table is known.
        ("is_later", pa.bool_()),
        # As in ``EVENTS``.
        ("kind", pa.string()),
        # Whether it has a row after, and one before.
        ("has_new", pa.bool_()),
        ("has_old", pa.bool_()),
    ]
)
"""What is told of a message before its values are read."""
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
    heads: pa.Table,
    *,
    sides: tuple[str, str] | None,
    fields: Fields,
    read: Callable[[pa.Table], Events],
) -> Events:
    """Return the events of messages; those that are read by columns have a place.

    Args:
        given: as ``message_table`` makes it.
        heads: ``HEADS`` of the same messages.
        sides: where the rows of a message are; None: it is the row after.
        fields: tells which fields these have.
        read: reads messages at once.
    """
    later, found = given, _NONE
    if not pc.all(heads["is_later"]).as_py():
        later = given.filter(heads["is_later"])
        found = read(given.filter(pc.invert(heads["is_later"])))
        heads = heads.filter(heads["is_later"])
    if not later.num_rows:
        return found

    def slowly(messages: pa.Array, sources: pa.Array) -> tuple[pa.Table, pa.Table]:
        known = read(message_table(messages, None, sources))
        return known.events, known.broken

    unread = JsonMessages(
        messages=later["message"].combine_chunks(),
        sources=later["source"].combine_chunks(),
        has_new=heads["has_new"].to_numpy(),
        has_old=heads["has_old"].to_numpy(),
        sides=sides,
        fields=fields,
        slowly=slowly,
    )
    count = later.num_rows
    arrays = {
        "seq": later["seq"],
        "ends": np.zeros(count, np.int64),
        "source": later["source"],
        "kind": heads["kind"],
        "message": later["message"],
        "place": np.arange(count, dtype=np.int64),
    }
    events = pa.table(
        [arrays.get(field.name, pa.nulls(count, field.type)) for field in EVENTS], schema=EVENTS
    )
    if found.events.num_rows:
        events = pa.concat_tables([found.events, events]).sort_by("seq")
    return replace(found, events=events, broken=found.broken.cast(BROKEN), unread=unread)

"""Events of one table become rows: whole columns where possible, the rest from lists of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from arctic.cdc.decode import can_decode
from arctic.cdc.events import BROKEN, EVENTS
from arctic.cdc.rows.event_rows import ORDER, TypedRows, typed_rows
from arctic.cdc.rows.image_rows import image_rows
from arctic.cdc.unread import ReadColumn, Unread


def read_events(
    events: pa.Table,
    columns: Sequence[ReadColumn],
    key: Sequence[str],
    ordering: Sequence[str] = (),
    *,
    unread: Unread | None,
) -> TypedRows:
    """Read the values of events that all have the columns under the same names.

    Args:
        events: ``EVENTS`` of one table, without truncates.
        columns: all columns of the table, in its order.
        key: its key columns.
        ordering: its ordering columns.
        unread: where the values of events with a place are.

    Memory: a few times the events.
    """
    unplaced = events["place"].null_count
    if unread is None or unplaced == events.num_rows:
        return typed_rows(events, columns, key, ordering)
    waiting = events.filter(events["place"].is_valid()) if unplaced else events
    parts = []
    is_left = np.ones(waiting.num_rows, np.bool_)
    images = unread.images(waiting["place"].to_numpy(), columns) if _are_plain(columns, key) else ()
    for image in images:
        given = waiting if len(image.at) == len(is_left) else waiting.take(pa.array(image.at))
        made, clear = image_rows(given, image, columns, key, ordering)
        parts.append(made)
        is_left[image.at[clear]] = False
    left = waiting.filter(pa.array(is_left))
    listed, broken = events.filter(events["place"].is_null()), BROKEN.empty_table()
    if left.num_rows:
        found, refused = unread.listed(left["place"].to_numpy())
        broken = _numbered(refused, left).select(BROKEN.names)
        listed = pa.concat_tables([listed, _numbered(found, left).select(EVENTS.names)])
        listed = listed.sort_by("seq")
    if listed.num_rows or not parts:
        parts.append(typed_rows(listed, columns, key, ordering))
    whole = joined_rows(parts)
    return replace(whole, broken=pa.concat_tables([whole.broken, broken]))


def _are_plain(columns: Sequence[ReadColumn], key: Sequence[str]) -> bool:
    """Say whether columns can be read at all, and keys compare alike everywhere.

    A column that can never be read breaks every event. A float that is no number is itself to
    DuckDB, and to nobody else.
    """
    keys = [column.field.type for column in columns if column.field.name in key]
    return all(can_decode(column.field.type, column.decoding) for column in columns) and not any(
        pa.types.is_floating(type_) for type_ in keys
    )


def joined_rows(parts: Sequence[TypedRows]) -> TypedRows:
    """Return all rows of the same columns, in order."""
    rows = pa.concat_tables([part.rows for part in parts])
    order = rows[ORDER].to_numpy()
    if len(order) > 1 and not (order[1:] >= order[:-1]).all():
        rows = rows.take(pa.array(np.argsort(order, kind="stable")))
    return TypedRows(
        rows=rows,
        broken=pa.concat_tables([part.broken for part in parts]),
        lacking=frozenset().union(*(part.lacking for part in parts)),
        nulls=frozenset().union(*(part.nulls for part in parts)),
    )


def _numbered(found: pa.Table, asked: pa.Table) -> pa.Table:
    """Return events with their own numbers in place of which ones were asked for."""
    for name in ("ends", "seq"):
        number = found.column_names.index(name)
        found = found.set_column(number, name, asked[name].take(found["seq"]))
    return found

"""Change events as a table: one row for each message, whatever envelope it came in.

Rules:
    - Nothing is dropped: a message is an event, broken (with the reason), or ignored because it
      says nothing about rows (transaction marks, tombstones, heartbeats).
    - Values stay text until the table that they go to is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.decode import PLAIN, Decoding
from arctic.cdc.unread import Unread
from arctic.errors import InternalError

NAMES = pa.list_(pa.string())
EVENTS = pa.schema(
    [
        # Place in the batch, from 0: the order in which the source committed.
        ("seq", pa.int64()),
        # Where the source's log is once the event's transaction is complete; 0 if not said.
        ("ends", pa.int64()),
        # Table in the source, as ``schema.table``.
        ("source", pa.string()),
        # I insert, U update, D delete, T truncate.
        ("kind", pa.string()),
        # The row afterwards: column names, and values as text or null.
        ("names", NAMES),
        ("vals", NAMES),
        # The row before, or what is known of it.
        ("old_names", NAMES),
        ("old_vals", NAMES),
        # Names of those whose value is a number of JSON; null: not said.
        ("numbers", NAMES),
        # What the event says of its columns, as the envelope has it; null if nothing.
        ("shape", pa.string()),
        ("message", pa.string()),
        # Its number among the ``Unread`` of the batch, where its values still are; null: they are
        # in the lists.
        ("place", pa.int64()),
    ]
)
"""Names compare with case; a column that the event does not mention is in neither list."""
BROKEN = pa.schema(
    [
        ("seq", pa.int64()),
        ("ends", pa.int64()),
        ("source", pa.string()),
        ("reason", pa.string()),
        ("message", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """A column as the source describes it."""

    name: str
    type: pa.DataType
    """The table's type that holds all of its values, as far as one does."""
    decoding: Decoding = PLAIN
    position: int | None = None
    """The source's number of the column, which a rename keeps; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """The messages of a batch."""

    events: pa.Table
    """``EVENTS``, in order."""
    broken: pa.Table
    """``BROKEN``: messages that are no events."""
    ignored: int
    """Messages that say nothing about rows."""
    ends: int
    """Where the source's log is after the last complete transaction; 0 if not said."""
    unread: Unread | None = None
    """Of the events that have a ``place``; None: none has one."""


def complete(found: Events, *, of: int) -> Events:
    """Return what was found in ``of`` messages, if that is all of them.

    Raises:
        InternalError: a message was lost.
    """
    total = found.events.num_rows + found.broken.num_rows + found.ignored
    if total != of:
        raise InternalError(f"{of} messages became {total} events; expected one of each")
    return found


def split_by_shape(events: pa.Table) -> Mapping[str | None, pa.Table]:
    """Return events by what they say of their columns, in the order in which that first occurs.

    The parts do not say it again.
    """
    number = EVENTS.get_field_index("shape")
    shapes = events.column(number).combine_chunks()
    if not pa.types.is_dictionary(shapes.type):
        shapes = shapes.dictionary_encode()
    codes = shapes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    found, first = np.unique(codes, return_index=True)
    nothing = pa.nulls(events.num_rows, pa.string())
    events = events.set_column(number, EVENTS.field(number), nothing)
    parts = {}
    for code in found[np.argsort(first)].tolist():
        shape = None if code < 0 else shapes.dictionary[code].as_py()
        parts[shape] = events if len(found) == 1 else events.filter(pa.array(codes == code))
    return parts


def after_truncate(events: pa.Table) -> tuple[bool, pa.Table]:
    """Return whether the events empty the table, and those that count after that."""
    is_truncate = pc.equal(events.column("kind"), "T").to_numpy()
    last = int(np.flatnonzero(is_truncate).max(initial=-1))
    return last >= 0, events.slice(last + 1)


def refused(events: pa.Table, reason: str) -> pa.Table:
    """Return events as broken ones, all for one reason."""
    reasons = pa.array([reason] * events.num_rows, pa.string())
    return events.select(["seq", "ends", "source", "message"]).add_column(3, "reason", reasons)

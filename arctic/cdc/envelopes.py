"""The forms that change messages come in, by the names that callers give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from arctic.cdc import debezium, json_rows, wal2json
from arctic.cdc.events import Events, SourceColumn
from arctic.cdc.rows.packed_messages import Packed, with_packed
from arctic.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One form, and what its messages tell."""

    events: Callable[[Any, Any, Any], Events]
    """Arrow texts of messages, of their keys and of their topics (None: not known) -> their events,
    in order."""
    columns_of: Callable[[str], tuple[SourceColumn, ...]]
    """Reads a description that an event carries as its ``shape``."""
    is_whole: bool
    """Whether a message that describes columns describes all of its table, and says of a value that
    it leaves out that it stays."""
    row_field: str | None
    """The field of a message that is its row, where Avro describes it; empty: the message is the
    row; None: such messages are no Avro."""
    listed: Callable[[pa.Table], Events] | None = None
    """Reads a ``message_table`` at once, of packed messages that did not fit; None: none are
    packed."""

    def read(
        self,
        values: pa.Array | pa.ChunkedArray,
        keys: pa.Array | pa.ChunkedArray | None,
        topics: pa.Array | None,
        packed: Packed | None,
    ) -> Events:
        """Return the events of messages, of which some may be packed."""
        if packed is None or self.listed is None:
            return self.events(values, keys, topics)
        return with_packed(values, keys, topics, packed, events=self.events, listed=self.listed)


_ENVELOPES: Mapping[str, Envelope] = {
    "debezium": Envelope(
        events=lambda values, keys, _: debezium.debezium_events(values, keys),
        columns_of=debezium.columns_of,
        is_whole=True,
        row_field="after",
    ),
    # JSON describes nothing, Avro does so in the words of Connect, as Debezium has them.
    "json": Envelope(
        events=json_rows.json_events,
        columns_of=debezium.columns_of,
        is_whole=True,
        row_field="",
        listed=json_rows.json_listed,
    ),
    "wal2json": Envelope(
        events=lambda values, _, __: wal2json.wal2json_events(values),
        columns_of=wal2json.columns_of,
        is_whole=False,
        row_field=None,
    ),
}


def envelope_of(name: str) -> Envelope:
    """Return the form of a name.

    Raises:
        InvalidInputError: an unknown one.
    """
    if name not in _ENVELOPES:
        raise InvalidInputError(f"envelope {name!r}; expected one of {', '.join(_ENVELOPES)}")
    return _ENVELOPES[name]

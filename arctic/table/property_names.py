"""Every table property that Arctic sets itself: its name, once.

Rules:
    - Users neither set nor remove these; what a store holds of them is left out where the
      properties of one store are copied to another.
    - Each prefix is reserved as a whole, so that a name of tomorrow is free in every table of
      today.

Must not know: what the values mean.
"""

from __future__ import annotations

TABLE_FORMAT = "table-format"
STORE = "mixed-format.table-store"
PRIMARY_KEY = "mixed-format.primary-key-fields"
CHANGE_IDENTIFIER = "mixed-format.change.identifier"
CREATED = "table.create-timestamp"
LEGACY_OPTIMIZED_SEQUENCE = "table.partition-properties"
"""The optimized sequence, for readers that need it in a property."""
WATERMARK = "watermark.table"
"""Of each store; also a key in its summaries: milliseconds since 1970-01-01 UTC."""
BASE_WATERMARK = "watermark.base"
"""The same of the base store; never stored as a property."""

BASE_UUID = "arctic.base-uuid"
"""On a change store that Arctic made: the ``table-uuid`` of its base store."""
NAMES_BASE = "arctic.change-names-base"
"""On a base store that Arctic made: its change store carries ``BASE_UUID``."""
CHANGE_MOVES_TO = "arctic.change-moves-to"
"""On a base store, while its table is renamed: where its change store is, once it has left."""
OPTIMIZED_SEQUENCE = "arctic.optimized-sequence"
SEQUENCE_WRITTEN_AT = "arctic.optimized-sequence-written-at"
PARTITION_TIMES = "arctic.optimized-times"
"""Without a primary key: when each partition was optimized last."""
OPTIMIZED_TIME = "arctic.optimized-time"
"""The last run in whatever partition it was; earlier versions set this and the next."""
FULL_OPTIMIZED_TIME = "arctic.full-optimized-time"
MIRROR_SOURCE = "arctic.cdc.source"
"""What a mirrored table remembers of its source."""
STREAM_PREFIX = "arctic.stream."
"""Followed by the id of a writer of batches; the value is its last batch."""
WRITER_PREFIX = "arctic.watermark."
"""Followed by the name of a writer; the value is its own watermark."""

_PREFIXES = ("arctic.", "mixed-format.", "watermark.")
_NAMES = frozenset({TABLE_FORMAT, CREATED, LEGACY_OPTIMIZED_SEQUENCE})


def is_own(name: str) -> bool:
    """Say whether only Arctic sets a property, however it is spelt.

    >>> is_own("arctic.stream.q"), is_own("Table-Format"), is_own("owner")
    (True, True, False)
    """
    return name.lower() in _NAMES or name.lower().startswith(_PREFIXES)

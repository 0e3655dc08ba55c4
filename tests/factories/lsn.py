"""The order of events of one key, for models: a transaction, then a place inside it."""

from __future__ import annotations

from typing import NamedTuple


class Lsn(NamedTuple):
    """Where an event stands in the history of its key; compares as a pair.

    A delete kills a row of the same key iff ``delete_lsn > row_lsn``, strictly.
    """

    transaction_id: int
    """From the file name, or the data sequence number where the name says 0."""
    file_offset: int
    """Ordinal inside the transaction; ``BASE_FILE_OFFSET`` for base rows."""

"""The batch of a stream that a commit is of: its writer and its number. Each is committed once.

The store that a batch is committed to remembers the last one of each writer in a table property,
set in the very commit that adds its files. A property stays when snapshots expire; the summary of
the snapshot says the same for people.

Rules:
    - Batches of a writer come in ascending order: what is not above the last one has landed.
    - Writers are independent, and none is ever forgotten: one that comes back after a year
      still finds its last batch.

Must not know: Spark, catalogs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from arctic.errors import FormatError, InvalidInputError
from arctic.table.property_names import (
    STREAM_BATCH,
    STREAM_POSITION_PREFIX,
    STREAM_PREFIX,
    STREAM_QUERY,
)

_PREFIXES = (STREAM_PREFIX, STREAM_POSITION_PREFIX)
_QUERY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBatch:
    """One batch of one writer; pickles."""

    query_id: str
    """The id of a streaming query, which its checkpoint keeps, or what another writer calls
    itself."""
    batch_id: int
    """0 or more; ascending, gaps allowed."""
    position: str | None = None
    """Where the writer is in its source with this batch, for itself to read; None: not noted."""
    follows: int | None = None
    """The last batch that the writer knows of in the table; None: it does not look."""
    moves: bool = False
    """It is committed without rows too, for the sake of the position."""

    def __post_init__(self) -> None:
        """Refuse what a table property could not carry."""
        if not _QUERY_ID.fullmatch(self.query_id):
            raise InvalidInputError(
                f"stream query id {self.query_id!r}: expected up to 128 letters, digits, '.', '_' "
                "or '-', the first a letter or digit"
            )
        if not 0 <= self.batch_id < 2**63:
            raise InvalidInputError(
                f"stream batch id {self.batch_id}: expected a whole number from 0 to 2**63 - 1"
            )

    @property
    def properties(self) -> dict[str, str]:
        """What the commit of this batch sets on its store."""
        found = {f"{STREAM_PREFIX}{self.query_id}": str(self.batch_id)}
        if self.position is not None:
            found[f"{STREAM_POSITION_PREFIX}{self.query_id}"] = self.position
        return found

    @property
    def summary(self) -> dict[str, str]:
        """What the snapshot of this batch says."""
        return {STREAM_QUERY: self.query_id, STREAM_BATCH: str(self.batch_id)}

    def is_overtaken(self, properties: Mapping[str, str]) -> bool:
        """Say whether a store holds a batch of this writer that the writer does not know of."""
        known = properties.get(f"{STREAM_PREFIX}{self.query_id}")
        if self.follows is None or known is None:
            return False
        return int(known) > self.follows and int(known) != self.batch_id

    def has_landed(self, properties: Mapping[str, str]) -> bool:
        """Say whether a store with these properties holds this batch, or a later one.

        >>> batch = StreamBatch(query_id="q", batch_id=7)
        >>> batch.has_landed({}), batch.has_landed({"arctic.stream.q": "7"})
        (False, True)

        Raises:
            FormatError: the property is not a number.
        """
        name = f"{STREAM_PREFIX}{self.query_id}"
        text = properties.get(name)
        if text is None:
            return False
        if not re.fullmatch(r"\d+", text):
            raise FormatError(
                f"table property {name} = {text!r}: expected the number of the last batch that "
                "was committed; set it to that"
            )
        return self.batch_id <= int(text)


def batches_of(*stores: Mapping[str, str]) -> dict[str, str]:
    """Return what stores remember of batches, as properties of one: of each writer, its last one.

    Args:
        stores: the properties of each.

    >>> batches_of({"arctic.stream.q": "9", "owner": "me"}, {"arctic.stream.q": "10"})
    {'arctic.stream.q': '10'}
    """
    writers = {
        name.removeprefix(prefix)
        for store in stores
        for prefix in _PREFIXES
        for name in store
        if name.startswith(prefix)
    }
    found: dict[str, str] = {}
    for writer in sorted(writers):
        names = [f"{prefix}{writer}" for prefix in _PREFIXES]
        last = max(stores, key=lambda store: (_number(store.get(names[0])), names[1] in store))
        found |= {name: last[name] for name in names if name in last}
    return found


def _number(text: str | None) -> float:
    """Return the number of a batch for comparison; one that is none stays, to be refused."""
    if text is None:
        return -1
    return int(text) if re.fullmatch(r"\d+", text) else math.inf

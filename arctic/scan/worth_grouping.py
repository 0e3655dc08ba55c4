"""Whether groups are few enough to be made where rows are read, as far as files tell for free.

Rows that a task has grouped cross to the engine one by one; where they are nearly as many as the
rows of the table, the engine had better group by itself.

Rules:
    - A guess that costs time where it is wrong, never rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

LEAST_ROWS = 1_000_000
"""For each core: of fewer, to begin a task of Python's takes longer than it saves."""
MOST_GROUPS = 10_000
"""More are nearly all different in a batch of rows."""
LEAST_ROWS_OF_A_GROUP = 10
"""Or the engine had better group by itself."""
_HEAD_BYTES = 32
_TEXT_BYTES, _NUMBER_BYTES = 4, 2
"""What a value takes at least in a dictionary that is compressed, as small ones hardly are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChunk:
    """A column of keys in some row group, as its footer tells."""

    type: str
    """Iceberg's text."""
    dictionary_bytes: int | None
    """As it is stored; None: it has none, since its values do not repeat."""

    @property
    def values(self) -> int | None:
        """About how many different ones there are; None: not to be told."""
        if self.type == "boolean":
            return 2
        if self.dictionary_bytes is None:
            return None
        least = _TEXT_BYTES if self.type in ("string", "binary") else _NUMBER_BYTES
        return max(1, (self.dictionary_bytes - _HEAD_BYTES) // least)


def are_few(keys: Sequence[KeyChunk], *, rows: int) -> bool:
    """Say whether groups are so few that it pays to make them early.

    Rows of equal keys often lie together: what a row group tells is held against its own rows, not
    those of a task.

    Args:
        keys: of one row group.
        rows: that it has.

    >>> are_few([KeyChunk(type="boolean", dictionary_bytes=None)], rows=30)
    True
    >>> are_few([KeyChunk(type="boolean", dictionary_bytes=None)], rows=29)
    False
    >>> are_few([KeyChunk(type="long", dictionary_bytes=1_000_000)], rows=9_000_000)
    False
    """
    values = [key.values for key in keys]
    groups = prod(MOST_GROUPS + 1 if value is None else value + 1 for value in values)
    return groups <= MOST_GROUPS and groups * LEAST_ROWS_OF_A_GROUP <= rows

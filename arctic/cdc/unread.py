"""Events whose values are read once their table is known, whole columns at a time.

Rules:
    - An event that is left out of every image is read from its lists: the slow way knows all forms.
    - An image says the same of every event that it is of: which columns they have, and whether
      there is a row before and a row after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.cdc.decode import PLAIN, Decoding

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadColumn:
    """Where the values of a table's column are in the events of its source."""

    field: pa.Field
    """Of the table."""
    source: str | None
    """The name in the events; None: they do not have it."""
    decoding: Decoding = PLAIN
    absent_is_null: bool = False
    """Whether an event that does not mention the column means null."""
    absent_is_broken: bool = False
    """Whether an update that does not mention it, before or after, cannot be applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """Rows of some events, before and after."""

    at: Integers
    """Which of the events that were asked for; rising."""
    new: Mapping[str, pa.Array] | None
    """Column of the source -> its values, of the table's type or as texts; None: no row after."""
    old: Mapping[str, pa.Array] | None
    """The same of the rows before."""


class Unread(Protocol):
    """Events of one batch by their places."""

    def images(self, places: Integers, columns: Sequence[ReadColumn]) -> Iterator[Image]:
        """Yield what can be read of some events, each in one image at most.

        Args:
            places: of the events.
            columns: those that are wanted, with the types of their table.
        """

    def listed(self, places: Integers) -> tuple[pa.Table, pa.Table]:
        """Return ``EVENTS`` with lists, and ``BROKEN`` ones; ``seq`` is which of ``places``."""

"""What becomes of the rows of a key: which one is read, or what is made of them."""

from __future__ import annotations

from enum import Enum


class MergeEngine(Enum):
    """How the rows of a key become one; the names are those of the table property."""

    LAST_ROW = "last-row"
    """The last one takes the place of the others; by ordering columns, where there are some."""
    FIRST_ROW = "first-row"
    """The first one stays."""

"""The names of columns as Spark parses them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return a column's name as Spark parses it, whatever is in it.

    >>> quoted("a`b c")
    '`a``b c`'
    """
    return f"`{name.replace('`', '``')}`"

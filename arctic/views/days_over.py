"""Which days of a view of days are over: in UTC, and each is left alone for a while after its end.

A commit bears the time at which it was begun, and may come after the day that it is of.
"""

from __future__ import annotations

from collections.abc import Sequence

DAY_MS = 24 * 60 * 60 * 1000
GRACE_MS = 10 * 60 * 1000
"""How long after its end a day is taken, at the earliest."""


def days_over(now_ms: int) -> int:
    """Return how many days since 1970 are over and may be taken.

    Args:
        now_ms: milliseconds since 1970-01-01 UTC.

    >>> days_over(5 * DAY_MS + GRACE_MS - 1), days_over(5 * DAY_MS + GRACE_MS)
    (4, 5)
    """
    return (now_ms - GRACE_MS) // DAY_MS


def due_days(last: int, now_ms: int) -> Sequence[int]:
    """Return the days that are over and not in the view, as days since 1970.

    Args:
        last: the last one that was taken; -1: none, it begins with the last one that is over.
        now_ms: milliseconds since 1970-01-01 UTC.

    >>> due_days(-1, 5 * DAY_MS + GRACE_MS), due_days(2, 5 * DAY_MS + GRACE_MS - 1)
    (range(4, 5), range(3, 4))
    """
    over = days_over(now_ms)
    return range(over - 1 if last < 0 else last + 1, over)

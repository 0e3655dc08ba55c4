"""How much slot time each table was given lately."""

from __future__ import annotations

from collections import defaultdict, deque


class SlotUsage:
    """Slot time by table, in a window that slides."""

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._spent: dict[str, deque[tuple[int, int]]] = defaultdict(deque)
        self._sums: dict[str, int] = defaultdict(int)

    def record(self, table: str, used_ms: int, now_ms: int) -> None:
        """Take note of slot time that ended now."""
        self._spent[table].append((now_ms, used_ms))
        self._sums[table] += used_ms

    def used_ms(self, table: str, now_ms: int) -> int:
        """Return what a table was given in the window before now."""
        spent = self._spent.get(table)
        if spent is None:
            return 0
        # What is told of a time beyond now counts as long as it is away: the clock was set back.
        while spent and abs(now_ms - spent[0][0]) >= self._window_ms:
            self._sums[table] -= spent.popleft()[1]
        return self._sums[table]

    def forget(self, table: str) -> None:
        """Drop what is known of a table."""
        self._spent.pop(table, None)
        self._sums.pop(table, None)

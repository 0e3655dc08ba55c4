"""Values that were used last, by key, as many as there is room for.

Rules:
    - Each weighs something, such as its bytes, and all that are held never weigh more than whoever
      puts one allows.
    - A child of a fork begins with none: the lock may be held by a thread that it does not have.

Must not know: what the values are.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from arctic.forks import forgets_in_children

K = TypeVar("K")
V = TypeVar("V")


class LastUsed(Generic[K, V]):
    """Some values; safe for threads and forks."""

    weight: int
    """Of all that are held."""

    def __init__(self) -> None:
        self.forget()
        forgets_in_children(self)

    def get(self, key: K) -> V | None:
        """Return what is held of a key."""
        with self._lock:
            found = self._held.get(key)
            if found is None:
                return None
            self._held.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, *, weight: int, most: int) -> int:
        """Hold a value, in the place of the one that its key had; those used longest ago go.

        Args:
            key: of the value.
            value: is not None.
            weight: of the value.
            most: that all may weigh; a value that is heavier alone is not held.

        Returns:
            What those weighed that went.
        """
        if weight > most:
            return 0
        with self._lock:
            self._drop(key)
            self._held[key] = (value, weight)
            self.weight += weight
            before = self.weight
            while self.weight > most:
                self.weight -= self._held.popitem(last=False)[1][1]
            return before - self.weight

    def drop(self, key: K) -> None:
        """Hold nothing of a key."""
        with self._lock:
            self._drop(key)

    def held(self) -> list[tuple[K, V]]:
        """Return all keys with their values, from the one used longest ago to the last."""
        with self._lock:
            return [(key, value) for key, (value, _) in self._held.items()]

    def forget(self) -> None:
        """Hold nothing."""
        self._lock = threading.Lock()
        self._held: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.weight = 0

    def _drop(self, key: K) -> None:
        found = self._held.pop(key, None)
        self.weight -= 0 if found is None else found[1]

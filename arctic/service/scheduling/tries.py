"""Tries of one thing, one after another: what came of them, and how long it is left alone now.

Rules:
    - What fails is tried again after a wait that doubles up to an hour. One success ends it.
    - A wait counts from its beginning, whichever way the clock went since: one that was set back
      makes nobody wait until it shows the same time again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_FIRST_BACK_OFF_MS = 60_000
_MOST_BACK_OFF_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """For how long something is left alone."""

    since_ms: int
    for_ms: int

    @property
    def until_ms(self) -> int:
        """When it is over, if nobody sets the clock."""
        return self.since_ms + self.for_ms

    def is_over(self, now_ms: int) -> bool:
        """Say whether it is over at a time.

        >>> wait = Wait(since_ms=100, for_ms=10)
        >>> [wait.is_over(now) for now in (90, 91, 100, 109, 110)]
        [True, False, False, False, True]
        """
        return abs(now_ms - self.since_ms) >= self.for_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """A value, and a new one after each try."""

    ended_ms: int | None = None
    """When the last one ended, however; None: there was none."""
    failures: int = 0
    """In a row."""
    wait: Wait | None = None
    """Before the next; None: there is none."""

    def succeeded(self, now_ms: int) -> Tries:
        """Take note that one has ended well."""
        return Tries(ended_ms=now_ms)

    def failed(self, now_ms: int) -> Tries:
        """Take note that one has failed."""
        for_ms = min(_MOST_BACK_OFF_MS, _FIRST_BACK_OFF_MS << min(self.failures, 16))
        return Tries(
            ended_ms=now_ms,
            failures=self.failures + 1,
            wait=Wait(since_ms=now_ms, for_ms=for_ms),
        )

    def put_off(self, wait: Wait) -> Tries:
        """Leave it alone for a while, though nothing failed."""
        return replace(self, wait=wait)

    def forgiven(self, since_ms: int) -> Tries:
        """Take note that what failed since a time was no failure of its own."""
        if not self.failures or self.ended_ms is None or self.ended_ms < since_ms:
            return self
        return replace(self, failures=0, wait=None)

    def may_begin(self, now_ms: int) -> bool:
        """Say whether the next one need not wait any more."""
        return self.wait is None or self.wait.is_over(now_ms)


UNTRIED = Tries()


class Failures:
    """What failed at last, by name, and when it may be tried again."""

    def __init__(self) -> None:
        """Know of none."""
        self._failed: dict[str, Tries] = {}

    def __contains__(self, name: str) -> bool:
        """Say whether the last try of something has failed."""
        return name in self._failed

    def ended(self, name: str, now_ms: int, *, is_good: bool) -> None:
        """Take note of how a try has ended."""
        if is_good:
            self.forget(name)
        else:
            self._failed[name] = self._failed.get(name, UNTRIED).failed(now_ms)

    def forget(self, name: str) -> None:
        """Take something for untried."""
        self._failed.pop(name, None)

    def forgive(self, since_ms: int) -> None:
        """Let be tried at once what failed since a time by no fault of its own."""
        self._failed = {name: each.forgiven(since_ms) for name, each in self._failed.items()}

    def may_begin(self, name: str, now_ms: int) -> bool:
        """Say whether something need not wait any more."""
        return self._failed.get(name, UNTRIED).may_begin(now_ms)

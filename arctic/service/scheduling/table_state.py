"""What a group knows of one table: a value, and a new one after each event.

Rules:
    - A table that fails is tried again, after a wait that doubles up to an hour. It takes no slot
      meanwhile.
    - What is not known to be wrong with it now does not count: one success ends every wait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from arctic.service.scheduling.outlook import NOTHING_DUE, Outlook

_FIRST_BACK_OFF_MS = 60_000
_MOST_BACK_OFF_MS = 3_600_000


class Phase(Enum):
    """Where a table stands."""

    IDLE = "idle"
    """Nothing is due."""
    PENDING = "pending"
    """It could be worked on."""
    RESTING = "resting"
    """It was worked on just now."""
    BLOCKED = "blocked"
    """Another works on it, or it is kept from optimizing."""
    BACKING_OFF = "backing off"
    """It has failed, or its run was cancelled."""
    RUNNING = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTerms:
    """What a table asks for, and what is known of it beside its files."""

    quota: float
    min_interval_ms: int
    """Between the ends of a run and the begin of the next."""
    reads_per_hour: float = 1.0
    """Of the whole table; where nobody counts, all tables are alike."""
    optimized_ms: int | None = None
    """When it was last optimized by whomever, or began; None: nobody looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """One table of a group."""

    name: str
    terms: TableTerms
    met_ms: int
    outlook: Outlook = NOTHING_DUE
    peak_outlook: Outlook = NOTHING_DUE
    """The same without a full."""
    due_since_ms: int | None = None
    ended_ms: int | None = None
    """When its last run ended, however."""
    blocked_until_ms: int = 0
    retry_at_ms: int = 0
    failures: int = 0
    """In a row."""
    is_running: bool = False

    def looked(
        self, terms: TableTerms, normal: Outlook, in_peak: Outlook, now_ms: int
    ) -> TableState:
        """Take note of a look at the table."""
        since = self.due_since_ms
        if normal.due is None:
            since = None
        elif since is None:
            since = now_ms
        return replace(self, terms=terms, outlook=normal, peak_outlook=in_peak, due_since_ms=since)

    def blocked(self, until_ms: int) -> TableState:
        """Keep it from being worked on for some time."""
        return replace(self, blocked_until_ms=until_ms, is_running=False)

    def started(self) -> TableState:
        """Take note that a run has begun."""
        return replace(self, is_running=True)

    def succeeded(self, now_ms: int) -> TableState:
        """Take note that a run has done what was due; the next look says what is due then."""
        return replace(
            self,
            is_running=False,
            outlook=NOTHING_DUE,
            peak_outlook=NOTHING_DUE,
            due_since_ms=None,
            ended_ms=now_ms,
            retry_at_ms=0,
            failures=0,
        )

    def failed(self, now_ms: int) -> TableState:
        """Take note that a run has failed."""
        wait = min(_MOST_BACK_OFF_MS, _FIRST_BACK_OFF_MS << min(self.failures, 16))
        return replace(
            self,
            is_running=False,
            ended_ms=now_ms,
            retry_at_ms=now_ms + wait,
            failures=self.failures + 1,
        )

    def forgiven(self, since_ms: int) -> TableState:
        """Take note that what failed since a time was no failure of the table."""
        if not self.failures or self.ended_ms is None or self.ended_ms < since_ms:
            return self
        return replace(self, retry_at_ms=0, failures=0)

    def postponed(self, until_ms: int) -> TableState:
        """Take note that a run was cancelled, which is no failure of the table."""
        return replace(self, is_running=False, retry_at_ms=until_ms)

    def served_ms(self, now_ms: int) -> int:
        """Return when it was last optimized, here or by another, or else was met.

        A time beyond now is that of another clock, and counts as if it lay as far in the past.
        """
        told_ms = self.terms.optimized_ms
        known = [each for each in (self.ended_ms, told_ms) if each is not None]
        return now_ms - min((abs(now_ms - each) for each in known), default=now_ms - self.met_ms)

    def rests_until_ms(self, stretched: float) -> int:
        """Return when the interval between two runs is over."""
        if self.ended_ms is None:
            return 0
        return self.ended_ms + int(self.terms.min_interval_ms * stretched)

    def phase(self, now_ms: int, *, stretched: float) -> Phase:
        """Say where it stands."""
        if self.is_running:
            return Phase.RUNNING
        if (self.peak_outlook if stretched > 1 else self.outlook).due is None:
            return Phase.IDLE
        if now_ms < self.blocked_until_ms:
            return Phase.BLOCKED
        if now_ms < self.retry_at_ms:
            return Phase.BACKING_OFF
        if now_ms < self.rests_until_ms(stretched):
            return Phase.RESTING
        return Phase.PENDING

    @property
    def waits_since_ms(self) -> int:
        """Since when it could have been worked on, had there been no peak."""
        due = self.met_ms if self.due_since_ms is None else self.due_since_ms
        return max(due, self.blocked_until_ms, self.retry_at_ms, self.rests_until_ms(1))

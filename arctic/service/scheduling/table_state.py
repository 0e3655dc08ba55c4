"""What a group knows of one table: a value, and a new one after each event.

Rules:
    - A table that fails takes no slot until it is tried again.
    - What is not known to be wrong with it now does not count: one success ends every wait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from arctic.service.scheduling.outlook import NOTHING_DUE, Outlook
from arctic.service.scheduling.tries import UNTRIED, Tries, Wait


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
    tries: Tries = UNTRIED
    """Its runs, those that were cancelled among them."""
    block: Wait | None = None
    """It is kept from being worked on; None: it is not."""
    is_running: bool = False

    def looked(
        self, terms: TableTerms, normal: Outlook, in_peak: Outlook, now_ms: int
    ) -> TableState:
        """Take note of a look at the table."""
        since = self.due_since_ms
        if normal.due is None:
            since = None
        elif since is None or since > now_ms:  # else the clock was set back since
            since = now_ms
        return replace(self, terms=terms, outlook=normal, peak_outlook=in_peak, due_since_ms=since)

    def blocked(self, block: Wait | None) -> TableState:
        """Keep it from being worked on for some time, or no longer."""
        return replace(self, block=block, is_running=False)

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
            tries=self.tries.succeeded(now_ms),
        )

    def failed(self, now_ms: int) -> TableState:
        """Take note that a run has failed."""
        return replace(self, is_running=False, tries=self.tries.failed(now_ms))

    def forgiven(self, since_ms: int) -> TableState:
        """Take note that what failed since a time was no failure of the table."""
        return replace(self, tries=self.tries.forgiven(since_ms))

    def postponed(self, wait: Wait) -> TableState:
        """Take note that a run was cancelled, which is no failure of the table."""
        return replace(self, is_running=False, tries=self.tries.put_off(wait))

    def served_ms(self, now_ms: int) -> int:
        """Return when it was last optimized, here or by another, or else was met.

        A time beyond now is that of another clock, and counts as if it lay as far in the past.
        """
        told = (self.tries.ended_ms, self.terms.optimized_ms)
        known = [each for each in told if each is not None] or [self.met_ms]
        return now_ms - min(abs(now_ms - each) for each in known)

    def rest(self, stretched: float) -> Wait | None:
        """Return the interval between two runs; None: there was none yet."""
        if self.tries.ended_ms is None:
            return None
        for_ms = int(self.terms.min_interval_ms * stretched)
        return Wait(since_ms=self.tries.ended_ms, for_ms=for_ms)

    def phase(self, now_ms: int, *, stretched: float) -> Phase:
        """Say where it stands."""
        if self.is_running:
            return Phase.RUNNING
        if (self.peak_outlook if stretched > 1 else self.outlook).due is None:
            return Phase.IDLE
        if self.block is not None and not self.block.is_over(now_ms):
            return Phase.BLOCKED
        if not self.tries.may_begin(now_ms):
            return Phase.BACKING_OFF
        rest = self.rest(stretched)
        if rest is not None and not rest.is_over(now_ms):
            return Phase.RESTING
        return Phase.PENDING

    def wait(self, phase: Phase, stretched: float) -> Wait | None:
        """Return what it waits for in a phase; None: for nothing that ends by itself."""
        if phase is Phase.BLOCKED:
            return self.block
        if phase is Phase.BACKING_OFF:
            return self.tries.wait
        return self.rest(stretched) if phase is Phase.RESTING else None

    def waits_since_ms(self, now_ms: int) -> int:
        """Return since when it could have been worked on, had there been no peak.

        A wait that would end beyond now, and is over, began before the clock was set back.
        """
        due = self.met_ms if self.due_since_ms is None else self.due_since_ms
        waits = (self.block, self.tries.wait, self.rest(1))
        times = (due, *(each.until_ms for each in waits if each is not None))
        return max((each for each in times if each <= now_ms), default=now_ms)

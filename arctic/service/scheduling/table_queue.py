"""The tables of a group, and which of them is next.

Rules:
    - A table is worked on by one process at a time.
    - Every event is told with its time, and the same events give the same answers: there is no
      clock here, and nothing random.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from arctic.service.scheduling.outlook import Outlook
from arctic.service.scheduling.peak import stretch
from arctic.service.scheduling.ranks import Candidate, Scheduler, ranked
from arctic.service.scheduling.slot_usage import SlotUsage
from arctic.service.scheduling.table_state import Phase, TableState, TableTerms
from arctic.service.scheduling.tries import Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A table that is to be worked on now."""

    name: str
    outlook: Outlook
    is_peak: bool
    """No full is to be run, even where one is due."""
    waited_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A table that waits."""

    name: str
    outlook: Outlook
    waits_ms: int
    is_put_off: bool
    """Until a peak has ended: it rests longer, or only a full is due in it."""


class TableQueue:
    """The tables of one group."""

    def __init__(self, scheduler: Scheduler, *, usage: SlotUsage) -> None:
        self._scheduler = scheduler
        self._usage = usage
        self._tables: dict[str, TableState] = {}
        self._due: set[str] = set()

    def state(self, name: str) -> TableState | None:
        """Return what is known of a table; None: nothing."""
        return self._tables.get(name)

    def looked(
        self, name: str, terms: TableTerms, normal: Outlook, in_peak: Outlook, now_ms: int
    ) -> None:
        """Take up a table, or take note of how it is now.

        Args:
            name: of the table.
            terms: what it asks for.
            normal: what is due in it.
            in_peak: the same, were no full ever due.
            now_ms: the time of the look.
        """
        state = self._tables.get(name) or TableState(name=name, terms=terms, met_ms=now_ms)
        self._keep(state.looked(terms, normal, in_peak, now_ms))

    def forget(self, name: str) -> None:
        """Drop a table that is gone, or that another group has now."""
        self._tables.pop(name, None)
        self._due.discard(name)
        self._usage.forget(name)

    def block(self, name: str, block: Wait | None) -> None:
        """Keep a table from being worked on for some time; also ends a run that did nothing."""
        if name in self._tables:
            self._keep(self._tables[name].blocked(block))

    def ended(self, name: str, now_ms: int, *, is_good: bool) -> None:
        """Take note that the run of a table has ended."""
        state = self._tables.get(name)
        if state is not None:
            self._keep(state.succeeded(now_ms) if is_good else state.failed(now_ms))

    def forgive(self, since_ms: int) -> None:
        """Forget the failures since a time, which were no fault of the tables."""
        for state in list(self._tables.values()):
            self._keep(state.forgiven(since_ms))

    def pardon(self, name: str) -> None:
        """Forget all failures of a table."""
        if name in self._tables:
            self._keep(self._tables[name].forgiven(0))

    def postpone(self, name: str, wait: Wait) -> None:
        """Take note that the run of a table was cancelled."""
        if name in self._tables:
            self._keep(self._tables[name].postponed(wait))

    def next(self, now_ms: int, *, slots: int, busy: Container[str]) -> Start | None:
        """Choose the table that is worked on now; None: none can be.

        Args:
            now_ms: the time.
            slots: that the group has, for telling a peak.
            busy: tables that something else is done with.
        """
        pending, is_peak = self._ready(now_ms, slots, busy)
        if not pending:
            return None
        first = min(
            (self._candidate(state, now_ms, is_peak=is_peak) for state in pending),
            key=lambda each: ranked(self._scheduler, each, now_ms),
        )
        self._keep(self._tables[first.name].started())
        return Start(
            name=first.name,
            outlook=first.outlook,
            is_peak=is_peak,
            waited_ms=now_ms - first.waits_since_ms,
        )

    def queue(self, now_ms: int, *, slots: int) -> list[Queued]:
        """Return the tables that wait, in the order of their turns were nothing to change.

        Args:
            now_ms: the time.
            slots: that the group has, for telling a peak.
        """
        ready, is_peak = self._ready(now_ms, slots)
        found = [self._candidate(state, now_ms, is_peak=is_peak) for state in ready]
        found.sort(key=lambda each: ranked(self._scheduler, each, now_ms))
        names = {each.name for each in found}
        others = [each for each in self._pending(now_ms, stretched=1) if each.name not in names]
        others.sort(key=lambda each: (each.waits_since_ms(now_ms), each.name))
        found += [self._candidate(each, now_ms, is_peak=False) for each in others]
        return [
            Queued(
                name=each.name,
                outlook=each.outlook,
                waits_ms=now_ms - each.waits_since_ms,
                is_put_off=each.name not in names,
            )
            for each in found
        ]

    def stretched(self, now_ms: int, *, slots: int) -> float:
        """Return by how much tables rest longer now; 1: there is no peak."""
        return _stretched(self._pending(now_ms, stretched=1), slots)

    def pending(self, now_ms: int) -> int:
        """Return how many could be worked on now, were there no peak."""
        return len(self._pending(now_ms, stretched=1))

    def longest_wait_ms(self, now_ms: int) -> int:
        """Return how long the one waits that waits longest; 0 where none does."""
        pending = self._pending(now_ms, stretched=1)
        return max((now_ms - state.waits_since_ms(now_ms) for state in pending), default=0)

    def _ready(
        self, now_ms: int, slots: int, busy: Container[str] = ()
    ) -> tuple[list[TableState], bool]:
        """Return the tables one of which is begun next, and whether no full is to be run."""
        normal = self._pending(now_ms, stretched=1)
        stretched = _stretched(normal, slots)
        pending = self._pending(now_ms, stretched=stretched) if stretched > 1 else normal
        free = [state for state in pending if state.name not in busy]
        if free:
            return free, stretched > 1
        # Nothing else can be begun: the slot would be idle.
        fulls = [state for state in normal if state.peak_outlook.due is None]
        return [state for state in fulls if state.name not in busy], False

    def _pending(self, now_ms: int, *, stretched: float) -> list[TableState]:
        due = map(self._tables.__getitem__, self._due)
        return [each for each in due if each.phase(now_ms, stretched=stretched) is Phase.PENDING]

    def _candidate(self, state: TableState, now_ms: int, *, is_peak: bool) -> Candidate:
        return Candidate(
            name=state.name,
            outlook=state.peak_outlook if is_peak else state.outlook,
            quota=state.terms.quota,
            reads_per_hour=state.terms.reads_per_hour,
            served_ms=state.served_ms(now_ms),
            waits_since_ms=state.waits_since_ms(now_ms),
            used_ms=self._usage.used_ms(state.name, now_ms),
        )

    def _keep(self, state: TableState) -> None:
        self._tables[state.name] = state
        if state.outlook.due is None and not state.is_running:
            self._due.discard(state.name)
        else:
            self._due.add(state.name)


def _stretched(pending: Sequence[TableState], slots: int) -> float:
    # Only what is done in a peak can end it.
    outlooks = (state.peak_outlook for state in pending)
    return stretch(sum(each.work_ms for each in outlooks if each.due is not None), slots)

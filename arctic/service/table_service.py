"""The service: looks at the tables of a catalog again and again, and works on those that need it.

Rules:
    - What is due and done of each table is in `table_runs`; here are a clock and a catalog.
    - State is in the tables. Whoever kills the service loses what is under way, nothing else.
    - One condition guards every group and what is counted here.
    - Tables are begun, and looked at when something happened to them, also while a look at all of
      them is under way, or at others whose storage hangs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from arctic.patient_calls import PatientCalls
from arctic.service.background_looks import BackgroundLooks
from arctic.service.ending import Ending
from arctic.service.event_log import why
from arctic.service.executors.task_place import TaskPlace
from arctic.service.heartbeat import Heartbeat
from arctic.service.process_book import ProcessBook
from arctic.service.table_runs import ServiceSettings, TableRuns
from arctic.service.table_work import TableWork
from arctic.service.watching.lagging import Lagging, Late
from arctic.service.watching.told_reads import ToldReads
from arctic.service.watching.watch import Watch, Watched

_END_SPARE_SECONDS = 3.0
"""At the end, for marks that are taken away and those who are told of it."""
_ALL = "all tables"
_LOOKS_AT_ONE = 8
"""At a time; one whose storage hangs ends after some minutes."""
_PATIENCE_SECONDS = 30.0
"""How long a call waits for a look at one table."""
_WAKE_SECONDS = 5.0
"""How late a table may be begun whose rest or back-off is over, and a stuck look be told of."""


class TableService:
    """Looks after the tables of one catalog."""

    def __init__(
        self,
        work: TableWork,
        watch: Watch,
        book: ProcessBook,
        settings: ServiceSettings,
        places: Mapping[str, Callable[[], TaskPlace]],
        ending: Ending,
    ) -> None:
        """Begin the executors.

        Args:
            work: what is done with a table.
            watch: what is seen of the tables.
            book: where processes are written down.
            settings: how it works.
            places: group -> a new place for an executor of it.
            ending: how long what is under way is waited for at the end.
        """
        self.changed = threading.Condition()
        self.work = work
        self.watch = watch
        self.book = book
        self.nudged: set[str] = set()
        """Tables that are to be looked at soon."""
        self.runs = TableRuns(work, book, settings, places, self.changed, self.nudged.add)
        self.reads = ToldReads(since_ms=work.now_ms())
        self.is_hurried = False
        """All of them are."""
        self.looked_ms: int | None = None
        """When the last look at the catalog ended well."""
        self._was_away = False
        """Looks at the catalog have failed since then."""
        self._settings = settings
        self._ending = ending
        self._at_all = BackgroundLooks(changed=self.changed, most=1)
        self._at_one = BackgroundLooks(changed=self.changed, most=_LOOKS_AT_ONE)
        self._asked: PatientCalls[str, None] = PatientCalls(
            threads=_LOOKS_AT_ONE, seconds=_PATIENCE_SECONDS
        )
        self._next_look = 0.0
        """At all tables, by a clock that is never set."""
        self._is_told_stuck = False
        self._lagging = Lagging()
        watch.outdated = self.nudge

    def run(self) -> None:
        """Look and work until the service is stopped."""
        self.is_hurried = True
        with self._heartbeat(self._groups_with_slots).beating():
            while self.goes_on:
                self._tell(self._begun())
            self.wait_for_the_end()

    def run_once(self) -> None:
        """Do everything that is due now, and end.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        try:
            with self._heartbeat(list).beating():
                with self.changed:
                    self._at_all.begin(_ALL, self.look)
                while self._goes_on_looking():
                    self._tell([])
                with self.changed:
                    for failure in self._failures():
                        raise failure
                    self.runs.begin_all()
                    while (self.runs.busy or self.runs.asked) and self.goes_on:
                        self.changed.wait()
                        self.runs.begin_all()
        finally:
            self.stop()
            self.wait_for_the_end()

    def _heartbeat(self, groups: Callable[[], list[str]]) -> Heartbeat:
        return Heartbeat(self.work, self.busy_tables, groups, self._ending)

    def stop(self) -> None:
        """Begin nothing any more; ``run`` ends with what is under way, within ten seconds."""
        self._ending.begin()
        with self.changed:
            if not self.runs.stops:
                self.runs.stop()

    @property
    def goes_on(self) -> bool:
        """Whether it was not stopped."""
        return not self.runs.stops

    def _begun(self) -> list[Exception]:
        """Begin what is due, and wait for more; at once where looks failed, with why they did."""
        with self.changed:
            failures = self._failures()
            if self.goes_on and not failures:
                self._begin_looks()
                self.runs.begin_all()
                self.changed.wait(self._waits_seconds())
            return failures

    def _goes_on_looking(self) -> bool:
        """Begin what can be begun while a look is under way; false: it has ended."""
        with self.changed:
            if self._at_all.under_way and self.goes_on:
                self.runs.begin_all()
                self.changed.wait(_WAKE_SECONDS)
            return bool(self._at_all.under_way) and self.goes_on

    def nudge(self, name: str | None = None) -> None:
        """Let a table be looked at at once, or all of them."""
        with self.changed:
            if name is None:
                self.is_hurried = True
            else:
                self.nudged.add(name)
            self.changed.notify_all()

    def _begin_looks(self) -> None:
        """Begin the looks that are due; the caller holds the condition."""
        if self._at_all.is_free and (self.is_hurried or time.monotonic() >= self._next_look):
            self.is_hurried = False
            self._is_told_stuck = False
            self._at_all.begin(_ALL, self.look)
        # One that is looked at just now is looked at once more: it may have changed since.
        for name in sorted(self.nudged - self._at_one.under_way):
            if not self._at_one.is_free:
                break
            self.nudged.discard(name)
            self._at_one.begin(name, partial(self.look, frozenset({name})))

    def _waits_seconds(self) -> float:
        if self._at_all.under_way:
            return _WAKE_SECONDS
        return min(_WAKE_SECONDS, max(0.0, self._next_look - time.monotonic()))

    def _failures(self) -> list[Exception]:
        """Return why looks have failed since this was asked last, of many tables as of one."""
        failures, of_one = self._at_all.take_failures(), self._at_one.take_failures()
        return failures if failures or self._was_away else of_one[:1]

    def _tell(self, failures: Sequence[Exception]) -> None:
        """Tell of looks that failed, or are stuck; the next may go well where these did not."""
        for failure in failures:
            self._was_away = True
            self.work.say("failed", what="looking at the catalog", why=why(failure))
        if self.watch.clock.is_stuck and not self._is_told_stuck:
            self._is_told_stuck = True
            self.work.say("stuck", waits_seconds=int(self.watch.clock.silent_seconds))

    def busy_tables(self) -> list[str]:
        """Return the tables that are worked on."""
        with self.changed:
            return sorted(self.runs.busy)

    def _groups_with_slots(self) -> list[str]:
        return [name for name, group in self.runs.groups.items() if group.slots]

    def look_at(self, name: str) -> None:
        """Look at one table, for a call that waits no longer than calls may.

        Raises:
            ArcticError: the catalog cannot be reached, or does not answer in time.
        """
        for _, failure in self._asked.run(lambda each: self.look(frozenset({each})), [name]):
            if failure is not None:
                raise failure

    def look(self, names: frozenset[str] | None = None) -> None:
        """Look at the tables of the catalog.

        Args:
            names: of those that are looked at; None: all, which one thread does at a time.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        try:
            found, gone = self.watch.look() if names is None else self.watch.look_at(names)
            with self.changed:
                late = self._take(found, gone, is_of_all=names is None)
                self.changed.notify_all()
        finally:
            if names is None:
                self._next_look = time.monotonic() + self._settings.interval_ms / 1_000
        # Not with the condition held: nobody may be there to take what is said.
        for group in late:
            self.work.say("lagging", group=group.name, waits_seconds=group.waits_ms // 1_000)

    def _take(self, found: list[Watched], gone: list[str], *, is_of_all: bool) -> list[Late]:
        """Take note of what a look has seen, and return the groups that lag."""
        for name in gone:
            self.reads.forget(name)
            self.runs.forget(name)
        for table in found:
            if self.watch.is_current(table):
                per_hour = self.reads.per_hour(table.name, self.work.now_ms())
                self.runs.take(table, reads_per_hour=per_hour)
        if not is_of_all:
            return []
        self._forgive()
        self.looked_ms = self.work.now_ms()
        return self._lagging.look(self.runs.groups, self.looked_ms)

    def _forgive(self) -> None:
        """Let no table back off because its catalog was away; the caller holds the condition."""
        if self._was_away:
            self._was_away = False
            self.runs.forgive(self.looked_ms or 0)

    def wait_for_the_end(self) -> None:
        """Wait until nothing is under way; what takes too long is cut off with the process."""
        with self.changed:
            self.changed.wait_for(
                lambda: not (self.runs.busy or self._at_all.under_way or self._at_one.under_way),
                timeout=self._ending.left_seconds(spare=_END_SPARE_SECONDS),
            )
        for name in self.busy_tables():
            self.work.say("cut off", table=name)
        for slots in self.runs.slots.values():
            slots.close()

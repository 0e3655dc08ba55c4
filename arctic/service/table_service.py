"""The service: looks at the tables of a catalog again and again, and works on those that need it.

Rules:
    - What is due and done of each table is in `table_runs`; here are a clock and a catalog.
    - State is in the tables. Whoever kills the service loses what is under way, nothing else.
    - One condition guards every group and what is counted here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

from arctic.errors import StorageError
from arctic.service.background_look import BackgroundLook
from arctic.service.event_log import why
from arctic.service.executors.task_place import TaskPlace
from arctic.service.heartbeat import Heartbeat
from arctic.service.lagging import Lagging, Late
from arctic.service.process_book import ProcessBook
from arctic.service.table_runs import ServiceSettings, TableRuns
from arctic.service.table_work import TableWork
from arctic.service.watching.told_reads import ToldReads
from arctic.service.watching.watch import Watch

_STOP_SECONDS = 10.0
_WAKE_SECONDS = 5.0
"""How late a table may be begun whose rest or back-off is over."""


class TableService:
    """Looks after the tables of one catalog."""

    def __init__(
        self,
        work: TableWork,
        watch: Watch,
        book: ProcessBook,
        settings: ServiceSettings,
        places: Mapping[str, Callable[[], TaskPlace]],
    ) -> None:
        """Begin the executors.

        Args:
            work: what is done with a table.
            watch: what is seen of the tables.
            book: where processes are written down.
            settings: how it works.
            places: group -> a new place for an executor of it.
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
        self._looking = threading.Lock()
        self._background = BackgroundLook(changed=self.changed, clock=watch.clock, say=work.say)
        self._lagging = Lagging()

    def run(self) -> None:
        """Look and work until the service is stopped."""
        with Heartbeat(self.work, self.busy_tables, self._groups_with_slots).beating():
            while self.goes_on:
                self._look_and_tell(self.look)
                next_look = time.monotonic() + self._settings.interval_ms / 1_000
                while (names := self._nudges(next_look)) is not None:
                    self._look_and_tell(partial(self.look, names))
            self.wait_for_the_end()

    def run_once(self) -> None:
        """Do everything that is due now, and end.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        try:
            with Heartbeat(self.work, self.busy_tables, list).beating():
                failure = self._background.run(self.look, self._does_go_on, self.runs.begin_all)
                if failure is not None:
                    raise failure
                with self.changed:
                    self.runs.begin_all()
                    while (self.runs.busy or self.runs.asked) and self.goes_on:
                        self.changed.wait()
                        self.runs.begin_all()
        finally:
            self.stop()
            self.wait_for_the_end()

    def stop(self) -> None:
        """Begin nothing any more; ``run`` ends when what is under way has, or after ten seconds."""
        with self.changed:
            if not self.runs.stops:
                self.runs.stop()

    @property
    def goes_on(self) -> bool:
        """Whether it was not stopped."""
        return not self.runs.stops

    def _does_go_on(self) -> bool:
        return self.goes_on

    def _look_and_tell(self, look: Callable[[], None]) -> None:
        """Look while work goes on; the next look may go well where this one failed."""
        failure = self._background.run(look, self._does_go_on, self.runs.begin_all)
        if failure is not None:
            self._was_away = True
            self.work.say("failed", what="looking at the catalog", why=why(failure))

    def busy_tables(self) -> list[str]:
        """Return the tables that are worked on."""
        with self.changed:
            return sorted(self.runs.busy)

    def _groups_with_slots(self) -> list[str]:
        return [name for name, group in self.runs.groups.items() if group.slots]

    def look(
        self, names: frozenset[str] | None = None, *, patience_seconds: float | None = None
    ) -> None:
        """Look at the tables of the catalog.

        Args:
            names: of those that are looked at; None: all.
            patience_seconds: how long another look is waited for; None: until it has ended.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        patience = -1 if patience_seconds is None else patience_seconds
        if not self._looking.acquire(timeout=patience):
            raise StorageError(
                f"catalog {self.work.config.label!r} is being looked at, and did not answer for "
                f"{self.watch.clock.silent_seconds:.0f} seconds; ask again later"
            )
        try:
            with self.watch.clock.looking():
                found, gone = self.watch.look() if names is None else self.watch.look_at(names)
            with self.changed:
                if names is None:
                    self.runs.publishing.begin_look()
                    self.runs.refreshing.begin_look()
                for name in gone:
                    self.reads.forget(name)
                    self.runs.forget(name)
                for table in found:
                    per_hour = self.reads.per_hour(table.name, self.work.now_ms())
                    self.runs.take(table, reads_per_hour=per_hour)
                late: list[Late] = []
                if names is None:
                    self._forgive()
                    self.looked_ms = self.work.now_ms()
                    late = self._lagging.look(self.runs.groups, self.looked_ms)
                self.changed.notify_all()
        finally:
            self._looking.release()
        # Not with the condition held: nobody may be there to take what is said.
        for group in late:
            self.work.say("lagging", group=group.name, waits_seconds=group.waits_ms // 1_000)

    def _forgive(self) -> None:
        """Let no table back off because its catalog was away; the caller holds the condition."""
        if self._was_away:
            self._was_away = False
            for group in self.runs.groups.values():
                group.forgive(self.looked_ms or 0)

    def _nudges(self, next_look: float) -> frozenset[str] | None:
        """Begin what can be begun until tables are to be looked at; None: all are, or it stops."""
        with self.changed:
            while self.goes_on and not self.is_hurried:
                left = next_look - time.monotonic()
                if left <= 0:
                    break
                self.runs.begin_all()
                if self.nudged:
                    names = frozenset(self.nudged)
                    self.nudged.clear()
                    return names
                self.changed.wait(min(_WAKE_SECONDS, left))
            self.is_hurried = False
            self.nudged.clear()
            return None

    def wait_for_the_end(self) -> None:
        """Wait until nothing is under way; what takes too long is cut off with the process."""
        with self.changed:
            self.changed.wait_for(
                lambda: not self.runs.busy and not self._background.is_under_way,
                timeout=_STOP_SECONDS,
            )
        for name in self.busy_tables():
            self.work.say("cut off", table=name)
        for slots in self.runs.slots.values():
            slots.close()

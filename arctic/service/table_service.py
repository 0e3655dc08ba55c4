"""The service: looks at the tables of a catalog again and again, and works on those that need it.

Rules:
    - What is decided is decided in `scheduling`; here are threads, a clock and a catalog.
    - State is in the tables. Whoever kills the service loses what is under way, nothing else.
    - One condition guards every group and what is counted here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from arctic.errors import StorageError
from arctic.service.asked_runs import AskedRun, AskedRuns
from arctic.service.background_look import BackgroundLook
from arctic.service.cleaning_queue import Cleaning, CleaningQueue
from arctic.service.event_log import why
from arctic.service.executors.task_place import TaskPlace
from arctic.service.heartbeat import Heartbeat
from arctic.service.history.process_record import ProcessStatus
from arctic.service.lagging import Lagging, Late
from arctic.service.process_book import ProcessBook
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.outlook import NOTHING_DUE
from arctic.service.scheduling.publish_queue import PublishQueue
from arctic.service.scheduling.ranks import Scheduler
from arctic.service.scheduling.refresh_queue import RefreshQueue
from arctic.service.scheduling.table_queue import Start
from arctic.service.slot_runner import SlotRunner, Slots
from arctic.service.table_work import Outcome, TableWork
from arctic.service.watching.told_reads import ToldReads
from arctic.service.watching.watch import Watch, Watched

_STOP_SECONDS = 10.0
_CANCELLED_MS = 600_000
"""How long a table is left alone after somebody cancelled its run."""
_WAKE_SECONDS = 5.0
"""How late a table may be begun whose rest or back-off is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How a service works."""

    groups: Mapping[str, int]
    """Name -> slots."""
    scheduler: Scheduler
    interval_ms: int
    """Between two looks at the catalog."""
    clean_every_ms: int


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
        self.busy: set[str] = set()
        """Tables that are worked on."""
        self.placed: dict[str, str] = {}
        """Table -> its group."""
        self.asked = AskedRuns()
        self.cleaning = CleaningQueue(every_ms=settings.clean_every_ms)
        self._publishing = PublishQueue()
        self._refreshing = RefreshQueue()
        self.groups = {
            name: Group(settings.scheduler, slots=slots) for name, slots in settings.groups.items()
        }
        self.slots = {
            name: Slots(name, group, self.changed, work.now_ms, places[name])
            for name, group in self.groups.items()
        }
        self.reads = ToldReads(since_ms=work.now_ms())
        self.nudged: set[str] = set()
        """Tables that are to be looked at soon."""
        self.is_hurried = False
        """All of them are."""
        self.looked_ms: int | None = None
        """When the last look at the catalog ended well."""
        self._was_away = False
        """Looks at the catalog have failed since then."""
        self._settings = settings
        self._stops = False
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
                failure = self._background.run(self.look, self._does_go_on, self._begin_all)
                if failure is not None:
                    raise failure
                with self.changed:
                    self._begin_all()
                    while (self.busy or self.asked) and self.goes_on:
                        self.changed.wait()
                        self._begin_all()
        finally:
            self.stop()
            self.wait_for_the_end()

    def stop(self) -> None:
        """Begin nothing any more; ``run`` ends when what is under way has, or after ten seconds."""
        with self.changed:
            if not self._stops:
                self._stops = True
                self.changed.notify_all()
                for slots in self.slots.values():
                    slots.stop()

    @property
    def goes_on(self) -> bool:
        """Whether it was not stopped."""
        return not self._stops

    def _does_go_on(self) -> bool:
        return self.goes_on

    def _look_and_tell(self, look: Callable[[], None]) -> None:
        """Look while work goes on; the next look may go well where this one failed."""
        failure = self._background.run(look, self._does_go_on, self._begin_all)
        if failure is not None:
            self._was_away = True
            self.work.say("failed", what="looking at the catalog", why=why(failure))

    def busy_tables(self) -> list[str]:
        """Return the tables that are worked on."""
        with self.changed:
            return sorted(self.busy)

    def _groups_with_slots(self) -> list[str]:
        return [name for name, group in self.groups.items() if group.slots]

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
                    self._publishing.begin_look()
                    self._refreshing.begin_look()
                for name in gone:
                    self._forget(name)
                for table in found:
                    self._take(table)
                late: list[Late] = []
                if names is None:
                    self._forgive()
                    self.looked_ms = self.work.now_ms()
                    late = self._lagging.look(self.groups, self.looked_ms)
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
            for group in self.groups.values():
                group.forgive(self.looked_ms or 0)

    def _nudges(self, next_look: float) -> frozenset[str] | None:
        """Begin what can be begun until tables are to be looked at; None: all are, or it stops."""
        with self.changed:
            while self.goes_on and not self.is_hurried:
                left = next_look - time.monotonic()
                if left <= 0:
                    break
                self._begin_all()
                if self.nudged:
                    names = frozenset(self.nudged)
                    self.nudged.clear()
                    return names
                self.changed.wait(min(_WAKE_SECONDS, left))
            self.is_hurried = False
            self.nudged.clear()
            return None

    def _take(self, table: Watched) -> None:
        """Take note of one table; the caller holds the condition."""
        now_ms, name = self.work.now_ms(), table.name
        self.cleaning.looked(name, table.wishes, now_ms)
        self._publishing.looked(name, table.places, is_wished=table.wishes.is_published)
        self._refreshing.looked(name, table.places, table.wishes.refreshing)
        place = table.wishes.group
        if self.placed.get(name) not in (None, place):
            self._forget(name)
        group = self.groups.get(place)
        if group is None:
            return
        self.placed[name] = place
        normal = in_peak = NOTHING_DUE
        if table.look is not None:
            normal = table.look.outlook(now_ms, with_full=True)
            in_peak = table.look.outlook(now_ms, with_full=False)
        terms = replace(
            table.wishes.terms,
            reads_per_hour=self.reads.per_hour(name, now_ms),
            optimized_ms=None if table.look is None else table.look.optimized_ms,
        )
        group.looked(name, terms, normal, in_peak, now_ms)
        if name not in self.busy:
            lease = table.lease
            is_held = lease is not None and lease.keeps_out(self.work.owner, now_ms)
            group.block(name, lease.until_ms if lease is not None and is_held else 0)

    def _forget(self, name: str) -> None:
        self.reads.forget(name)
        self._publishing.forget(name)
        self._refreshing.forget(name)
        place = self.placed.pop(name, None)
        if place is not None:
            self.groups[place].forget(name)
        run, cleaning = self.asked.drop(name), self.cleaning.forget(name)
        for process_id in (None if run is None else run.process_id, cleaning):
            if process_id is not None:
                self.book.dropped(process_id, ProcessStatus.CANCELLED)

    def _begin_all(self) -> None:
        """Begin whatever can be begun now; the caller holds the condition."""
        if self._stops:
            return
        slots = {name: group.slots for name, group in self.groups.items()}
        while (run := self.asked.begin(self.busy, slots)) is not None:
            self._spawn_for(run.table, self._optimize, (run.group, run))
        for place, group in self.groups.items():
            while (start := group.begin(self.work.now_ms())) is not None:
                if start.name in self.busy:
                    # It is being cleaned, or a call's run is at it, whose end lets it go on.
                    group.block(start.name, self.work.now_ms() + self._settings.interval_ms)
                else:
                    self._spawn_for(start.name, self._optimize, (place, start))
        cleaning = self.cleaning.begin(self.busy, self.work.now_ms())
        if cleaning is not None:
            self._spawn_for(cleaning.table, self._clean, (cleaning,))
        published = self._publishing.begin(self.busy)
        if published is not None:
            self._spawn_for(published, self._publish, (published,))
        view = self._refreshing.begin(self.busy, self.work.now_ms())
        if view is not None:
            self._spawn_for(view, self._refresh, (view,))

    def _spawn_for(
        self, name: str, work: Callable[..., None], arguments: tuple[object, ...]
    ) -> None:
        self.busy.add(name)
        threading.Thread(target=work, args=arguments, name=f"arctic-{name}", daemon=True).start()

    def _optimize(self, place: str, start: Start | AskedRun) -> None:
        group, slots = self.groups[place], self.slots[place]
        if isinstance(start, AskedRun):
            name, process_id, predicted_ms = start.table, start.process_id, None
        else:
            name, process_id, predicted_ms = start.name, None, start.outlook.work_ms
        log = self.book.began(name, "optimize", process_id=process_id, predicted_ms=predicted_ms)
        worked = self.work.optimize(
            name,
            SlotRunner(table=name, slots=slots, parallelism=max(1, group.slots), log=log),
            is_peak=isinstance(start, Start) and start.is_peak,
            type=start.type if isinstance(start, AskedRun) else None,
            is_asked=isinstance(start, AskedRun),
        )
        self.book.ended(log, worked)
        with self.changed:
            slots.ended(name)
            self.asked.ended(name)
            now_ms = self.work.now_ms()
            if worked.outcome is Outcome.LEASED:
                group.block(name, now_ms + self._settings.interval_ms)
            elif worked.outcome is Outcome.CANCELLED:
                group.postpone(name, now_ms + _CANCELLED_MS)
            else:
                group.end_process(name, now_ms, is_good=worked.outcome is not Outcome.FAILED)
            self._done(name)

    def _clean(self, cleaning: Cleaning) -> None:
        name = cleaning.table
        log = self.book.began(name, "clean", process_id=cleaning.process_id, predicted_ms=None)
        worked = self.work.clean(cleaning, every_ms=self._settings.clean_every_ms)
        self.book.ended(log, worked)
        with self.changed:
            self.cleaning.ended(name, is_done=worked.outcome is Outcome.DONE)
            place = self.placed.get(name)
            if place is not None:
                self.groups[place].block(name, 0)
            self._done(name)

    def _publish(self, name: str) -> None:
        log = self.book.began(name, "publish", process_id=None, predicted_ms=None)
        worked = self.work.publish(name)
        self.book.ended(log, worked)
        with self.changed:
            self._publishing.ended(name, is_good=worked.outcome is Outcome.DONE)
            self._done(name)

    def _refresh(self, name: str) -> None:
        log = self.book.began(name, "refresh", process_id=None, predicted_ms=None)
        worked = self.work.refresh(name)
        self.book.ended(log, worked)
        with self.changed:
            self._refreshing.ended(name, is_good=worked.outcome is Outcome.DONE)
            self._done(name)

    def _done(self, name: str) -> None:
        """Let others at a table, and look at what became of it; the caller holds the condition."""
        self.busy.discard(name)
        self.nudged.add(name)
        self.changed.notify_all()

    def wait_for_the_end(self) -> None:
        """Wait until nothing is under way; what takes too long is cut off with the process."""
        with self.changed:
            self.changed.wait_for(
                lambda: not self.busy and not self._background.is_under_way, timeout=_STOP_SECONDS
            )
        for name in self.busy_tables():
            self.work.say("cut off", table=name)
        for slots in self.slots.values():
            slots.close()

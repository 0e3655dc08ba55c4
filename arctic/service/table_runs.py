"""What is begun of each table, and what becomes of it: runs, cleanings, publications, refreshes.

Rules:
    - What is begun is decided in `scheduling`; here are the threads that carry it out, one for each
      table that is worked on.
    - Who calls holds the condition, which guards all that is counted here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from arctic.optimizing.settings import OptimizeType
from arctic.service.cleaning_queue import Cleaning, CleaningQueue
from arctic.service.executors.task_place import TaskPlace
from arctic.service.history.process_record import ProcessStatus
from arctic.service.process_book import ProcessBook
from arctic.service.scheduling.asked_runs import AskedRun, AskedRuns
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.outlook import NOTHING_DUE
from arctic.service.scheduling.publish_queue import PublishQueue
from arctic.service.scheduling.ranks import Scheduler
from arctic.service.scheduling.refresh_queue import RefreshQueue
from arctic.service.scheduling.table_queue import Start
from arctic.service.scheduling.tries import Wait
from arctic.service.slot_runner import SlotRunner, Slots
from arctic.service.table_work import Outcome, TableWork, Worked
from arctic.service.watching.table_look import TableLook
from arctic.service.watching.table_view import TableView
from arctic.service.watching.watch import Watched
from arctic.service.watching.wishes import Wishes

_CANCELLED_MS = 600_000
"""How long a table is left alone after somebody cancelled its run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How a service works."""

    groups: Mapping[str, int]
    """Name -> slots."""
    scheduler: Scheduler
    interval_ms: int
    """Between two looks at the catalog."""
    clean_every_ms: int
    is_read_only: bool = False
    """Nothing is begun."""


class TableRuns:
    """What waits, and what is under way, of the tables of one catalog."""

    def __init__(
        self,
        work: TableWork,
        book: ProcessBook,
        settings: ServiceSettings,
        places: Mapping[str, Callable[[], TaskPlace]],
        changed: threading.Condition,
        ended: Callable[[str], None],
    ) -> None:
        """Begin the executors.

        Args:
            work: what is done with a table.
            book: where processes are written down.
            settings: how the service works.
            places: group -> a new place for an executor of it.
            changed: guards all of this, and is told of it.
            ended: is told of a table that nobody works on any more.
        """
        self.busy: dict[str, str] = {}
        """Tables that are worked on, and what is done: ``optimize``, ``clean``, ..."""
        self.failed: dict[str, dict[str, str]] = {}
        """Why the last run of a table failed, of each kind that did."""
        self.placed: dict[str, str] = {}
        """Table -> its group."""
        self.optimizing: dict[str, str] = {}
        """Tables that are optimized -> the group whose slots do it, whatever theirs is by now."""
        self.asked = AskedRuns()
        self.cleaning = CleaningQueue(every_ms=settings.clean_every_ms)
        self.publishing = PublishQueue()
        self.refreshing = RefreshQueue()
        self.groups = {
            name: Group(settings.scheduler, slots=slots) for name, slots in settings.groups.items()
        }
        self.slots = {
            name: Slots(name, group, changed, work.now_ms, places[name])
            for name, group in self.groups.items()
        }
        self.stops = False
        self._work = work
        self._book = book
        self._settings = settings
        self._changed = changed
        self._ended = ended
        self._looks: dict[str, TableLook] = {}
        """Of tables that are looked into."""

    def stop(self) -> None:
        """Begin nothing any more."""
        self.stops = True
        self._changed.notify_all()
        for slots in self.slots.values():
            slots.stop()

    def take(self, table: Watched, *, reads_per_hour: float) -> None:
        """Take note of a table as it is now."""
        now_ms, name, wishes = self._work.now_ms(), table.name, table.wishes
        if self.placed.get(name, wishes.group) != wishes.group:
            self._leave_group(name)
        self.cleaning.looked(name, wishes, now_ms)
        self.publishing.looked(name, table.places, is_wished=wishes.is_published)
        self.refreshing.looked(name, table.places, wishes.refreshing)
        self._excuse(name, wishes)
        group = self.groups.get(wishes.group)
        if group is None:
            return
        self.placed[name] = wishes.group
        normal = in_peak = NOTHING_DUE
        self._looks.pop(name, None)
        if table.look is not None:
            self._looks[name] = table.look
            normal = table.look.outlook(now_ms, with_full=True)
            in_peak = table.look.outlook(now_ms, with_full=False)
        terms = replace(
            wishes.terms,
            reads_per_hour=reads_per_hour,
            optimized_ms=None if table.look is None else table.look.optimized_ms,
        )
        group.looked(name, terms, normal, in_peak, now_ms)
        if not wishes.is_optimized:
            group.pardon(name)
        if name not in self.busy:
            block: Wait | None = None
            lease = table.lease
            if lease is not None and lease.keeps_out(self._work.owner, now_ms):
                block = Wait(since_ms=now_ms, for_ms=lease.until_ms - now_ms)
            group.block(name, block)

    def views(self, seen: Sequence[Watched]) -> dict[str, TableView]:
        """Return what is told of tables that were looked at, by name."""
        now_ms = self._work.now_ms()
        stretched = {name: group.stretched(now_ms) for name, group in self.groups.items()}
        views = {}
        for each in seen:
            group = self.groups.get(each.wishes.group)
            views[each.name] = TableView.of(
                each,
                None if group is None else group.state(each.name),
                doing=self.busy.get(each.name),
                failed=dict(self.failed.get(each.name, {})),
                owner=self._work.owner,
                stretched=stretched.get(each.wishes.group, 1.0),
                now_ms=now_ms,
            )
        return views

    def forget(self, name: str) -> None:
        """Let go of a table that is gone."""
        self.publishing.forget(name)
        self.refreshing.forget(name)
        self.failed.pop(name, None)
        self._leave_group(name)
        cleaning = self.cleaning.forget(name)
        if cleaning is not None:
            self._book.dropped(cleaning, ProcessStatus.CANCELLED)

    def forgive(self, since_ms: int) -> None:
        """Let everything be tried at once that failed since a time, as the catalog was away."""
        for group in self.groups.values():
            group.forgive(since_ms)
        self.publishing.forgive(since_ms)
        self.refreshing.forgive(since_ms)

    def _leave_group(self, name: str) -> None:
        self._looks.pop(name, None)
        place, run = self.placed.pop(name, None), self.asked.drop(name)
        if place is not None:
            self.groups[place].forget(name)
        if run is not None:
            self._book.dropped(run.process_id, ProcessStatus.CANCELLED)

    def _excuse(self, name: str, wishes: Wishes) -> None:
        """Forget failures of what a table no longer asks this service for."""
        wished = wishes.kinds if wishes.group in self.groups else wishes.kinds - {"optimize"}
        failures = self.failed.pop(name, {})
        left = {kind: why for kind, why in failures.items() if kind in wished}
        if left:
            self.failed[name] = left

    def begin_all(self) -> None:
        """Begin whatever can be begun now."""
        if self.stops or self._settings.is_read_only:
            return
        slots = {name: group.slots for name, group in self.groups.items()}
        while (run := self.asked.begin(self.busy, slots)) is not None:
            self.optimizing[run.table] = run.group
            self._spawn_for(run.table, "optimize", self._optimize, (run.group, run))
        for place, group in self.groups.items():
            while (start := group.begin(self._work.now_ms(), self.busy)) is not None:
                self.optimizing[start.name] = place
                self._spawn_for(start.name, "optimize", self._optimize, (place, start))
        cleaning = self.cleaning.begin(self.busy, self._work.now_ms())
        if cleaning is not None:
            self._spawn_for(cleaning.table, "clean", self._clean, (cleaning,))
        published = self.publishing.begin(self.busy, self._work.now_ms())
        if published is not None:
            self._spawn_for(published, "publish", self._publish, (published,))
        view = self.refreshing.begin(self.busy, self._work.now_ms())
        if view is not None:
            self._spawn_for(view, "refresh", self._refresh, (view,))

    def _spawn_for(
        self, name: str, what: str, work: Callable[..., None], arguments: tuple[object, ...]
    ) -> None:
        self.busy[name] = what
        threading.Thread(target=work, args=arguments, name=f"arctic-{name}", daemon=True).start()

    def _optimize(self, place: str, start: Start | AskedRun) -> None:
        group, slots = self.groups[place], self.slots[place]
        if isinstance(start, AskedRun):
            name, process_id, predicted_ms = start.table, start.process_id, self._predicted(start)
        else:
            name, process_id, predicted_ms = start.name, None, start.outlook.work_ms
        log = self._book.began(name, "optimize", process_id=process_id, predicted_ms=predicted_ms)
        worked = self._work.optimize(
            name,
            SlotRunner(table=name, slots=slots, parallelism=max(1, group.slots), log=log),
            is_peak=isinstance(start, Start) and start.is_peak,
            type=start.type if isinstance(start, AskedRun) else None,
            is_asked=isinstance(start, AskedRun),
        )
        self._book.ended(log, worked)
        with self._changed:
            slots.ended(name)
            self.asked.ended(name)
            del self.optimizing[name]
            now_ms = self._work.now_ms()
            if worked.outcome is Outcome.LEASED:
                interval_ms = self._settings.interval_ms
                group.block(name, Wait(since_ms=now_ms, for_ms=interval_ms))
            elif worked.outcome is Outcome.CANCELLED:
                group.postpone(name, Wait(since_ms=now_ms, for_ms=_CANCELLED_MS))
            else:
                group.end_process(name, now_ms, is_good=worked.outcome is not Outcome.FAILED)
            self._done(name, worked)

    def _clean(self, cleaning: Cleaning) -> None:
        name = cleaning.table
        log = self._book.began(name, "clean", process_id=cleaning.process_id, predicted_ms=None)
        worked = self._work.clean(cleaning, every_ms=self._settings.clean_every_ms)
        self._book.ended(log, worked)
        with self._changed:
            self.cleaning.ended(name, is_done=worked.outcome is Outcome.DONE)
            self._done(name, worked)

    def _publish(self, name: str) -> None:
        log = self._book.began(name, "publish", process_id=None, predicted_ms=None)
        worked = self._work.publish(name)
        self._book.ended(log, worked)
        with self._changed:
            is_good = worked.outcome is Outcome.DONE
            self.publishing.ended(name, self._work.now_ms(), is_good=is_good)
            self._done(name, worked)

    def _refresh(self, name: str) -> None:
        log = self._book.began(name, "refresh", process_id=None, predicted_ms=None)
        worked = self._work.refresh(name)
        self._book.ended(log, worked)
        with self._changed:
            is_good = worked.outcome is Outcome.DONE
            self.refreshing.ended(name, self._work.now_ms(), is_good=is_good)
            self._done(name, worked)

    def _predicted(self, run: AskedRun) -> int | None:
        """Predict what a run takes that a call asked for; None: nobody looked into the table."""
        with self._changed:
            look = self._looks.get(run.table)
        if look is None:
            return None
        kind = None if run.type is None else OptimizeType(run.type)
        return look.outlook_of(kind, self._work.now_ms()).work_ms

    def _done(self, name: str, worked: Worked) -> None:
        """Let others at a table, and look at what became of it."""
        what = self.busy.pop(name)
        failures = self.failed.pop(name, {})
        failures.pop(what, None)
        if worked.outcome is Outcome.FAILED and worked.failure is not None:
            failures[what] = worked.failure
        if failures:
            self.failed[name] = failures
        self._ended(name)
        self._changed.notify_all()

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
from dataclasses import dataclass

from arctic.errors import ArcticError
from arctic.service.event_log import why
from arctic.service.scheduling.group import Group
from arctic.service.scheduling.outlook import NOTHING_DUE
from arctic.service.scheduling.ranks import Scheduler
from arctic.service.scheduling.table_queue import Start
from arctic.service.slot_runner import SlotRunner, Slots
from arctic.service.table_work import Outcome, TableWork
from arctic.service.watch import Watch, Watched
from arctic.service.wishes import CleaningStep

_STOP_SECONDS = 10.0
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

    def __init__(self, work: TableWork, watch: Watch, settings: ServiceSettings) -> None:
        self._work = work
        self._watch = watch
        self._settings = settings
        self._changed = threading.Condition()
        self._stops = False
        self._busy: set[str] = set()
        """Tables that are worked on."""
        self._placed: dict[str, str] = {}
        """Table -> its group."""
        self._to_clean: dict[str, CleaningStep] = {}
        self._cleaned: str | None = None
        """The table that is being cleaned: one at a time."""
        self._tried_ms: dict[str, int] = {}
        """When a cleaning was last begun, of tables where it failed."""
        self._groups = {
            name: Group(settings.scheduler, slots=slots) for name, slots in settings.groups.items()
        }
        self._slots = {
            name: Slots(name, group, self._changed, work.now_ms)
            for name, group in self._groups.items()
        }

    def run(self) -> None:
        """Look and work until the service is stopped."""
        while self._goes_on():
            self._look_quietly()
            next_look = time.monotonic() + self._settings.interval_ms / 1_000
            with self._changed:
                while self._goes_on() and (left := next_look - time.monotonic()) > 0:
                    self._begin_all()
                    self._changed.wait(min(_WAKE_SECONDS, left))
        self.wait_for_the_end()

    def run_once(self) -> None:
        """Do everything that is due now, and end.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        try:
            self.look()
            with self._changed:
                self._begin_all()
                while self._busy and self._goes_on():
                    self._changed.wait()
                    self._begin_all()
        finally:
            self.stop()
            self.wait_for_the_end()

    def stop(self) -> None:
        """Begin nothing any more; ``run`` ends when what is under way has, or after ten seconds."""
        with self._changed:
            if not self._stops:
                self._stops = True
                for slots in self._slots.values():
                    slots.stop()

    def look(self) -> None:
        """Look at every table of the catalog.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        found, gone = self._watch.look()
        with self._changed:
            for name in gone:
                self._forget(name)
            for table in found:
                self._take(table)
            busy = sorted(self._busy)
        for name in busy:
            self._work.extend(name)

    def _goes_on(self) -> bool:
        return not self._stops

    def _look_quietly(self) -> None:
        try:
            self.look()
        except ArcticError as error:  # the next look may reach it; what is under way goes on
            self._work.say("failed", what="looking at the catalog", why=why(error))

    def _take(self, table: Watched) -> None:
        """Take note of one table; the caller holds the condition."""
        now_ms, name = self._work.now_ms(), table.name
        self._take_for_cleaning(table, now_ms)
        place = table.wishes.group
        if self._placed.get(name) not in (None, place):
            self._forget(name)
        group = self._groups.get(place)
        if group is None:
            return
        self._placed[name] = place
        normal = in_peak = NOTHING_DUE
        if table.look is not None:
            normal = table.look.outlook(now_ms, with_full=True)
            in_peak = table.look.outlook(now_ms, with_full=False)
        group.looked(name, table.wishes.terms, normal, in_peak, now_ms)
        if name not in self._busy:
            lease = table.lease
            is_held = lease is not None and lease.keeps_out(self._work.owner, now_ms)
            group.block(name, lease.until_ms if lease is not None and is_held else 0)

    def _take_for_cleaning(self, table: Watched, now_ms: int) -> None:
        every_ms = self._settings.clean_every_ms
        step = table.wishes.cleaning(now_ms, every_ms=every_ms)
        tried_ms = self._tried_ms.get(table.name)
        if step is None or (tried_ms is not None and now_ms - tried_ms < every_ms):
            self._to_clean.pop(table.name, None)
        else:
            self._to_clean[table.name] = step

    def _forget(self, name: str) -> None:
        place = self._placed.pop(name, None)
        if place is not None:
            self._groups[place].forget(name)
        self._to_clean.pop(name, None)
        self._tried_ms.pop(name, None)

    def _begin_all(self) -> None:
        """Begin whatever can be begun now; the caller holds the condition."""
        if self._stops:
            return
        for place, group in self._groups.items():
            while (start := group.begin(self._work.now_ms())) is not None:
                if start.name in self._busy:
                    # It is being cleaned, whose end lets it go on.
                    group.block(start.name, self._work.now_ms() + self._settings.interval_ms)
                else:
                    self._spawn_for(start.name, self._optimize, (place, start))
        name = next((each for each in self._to_clean if each not in self._busy), None)
        if self._cleaned is None and name is not None:
            self._cleaned, self._tried_ms[name] = name, self._work.now_ms()
            self._spawn_for(name, self._clean, (name, self._to_clean.pop(name)))

    def _spawn_for(
        self, name: str, work: Callable[..., None], arguments: tuple[object, ...]
    ) -> None:
        self._busy.add(name)
        threading.Thread(target=work, args=arguments, name=f"arctic-{name}", daemon=True).start()

    def _optimize(self, place: str, start: Start) -> None:
        group, name = self._groups[place], start.name
        runner = SlotRunner(table=name, slots=self._slots[place], parallelism=group.slots)
        outcome = self._work.optimize(name, runner, is_peak=start.is_peak)
        with self._changed:
            self._busy.discard(name)
            now_ms = self._work.now_ms()
            if outcome is Outcome.LEASED:
                group.block(name, now_ms + self._settings.interval_ms)
            else:
                group.end_process(name, now_ms, is_good=outcome is not Outcome.FAILED)
            self._changed.notify_all()

    def _clean(self, name: str, step: CleaningStep) -> None:
        outcome = self._work.clean(name, step, every_ms=self._settings.clean_every_ms)
        with self._changed:
            self._busy.discard(name)
            self._cleaned = None
            if outcome is Outcome.DONE:
                self._tried_ms.pop(name, None)
            place = self._placed.get(name)
            if place is not None:
                self._groups[place].block(name, 0)
            self._changed.notify_all()

    def wait_for_the_end(self) -> None:
        """Wait until nothing is under way; what takes too long is cut off with the process."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, timeout=_STOP_SECONDS)
            for name in sorted(self._busy):
                self._work.say("cut off", table=name)

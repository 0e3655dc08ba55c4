"""What others may ask of a running service, from any thread: what it knows, and what it should do.

Rules:
    - Answers are from the last look. Only for a table that the service does not know yet is the
      catalog asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from arctic.errors import ConflictError, InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.values.names import parse_identifier
from arctic.optimizing.settings import OptimizeType
from arctic.scan.read_summary import ReadSummary
from arctic.service.history.history_file import History
from arctic.service.history.process_record import ProcessRecord, ProcessStatus
from arctic.service.scheduling.asked_runs import AskedRun
from arctic.service.scheduling.table_state import Phase
from arctic.service.table_service import TableService
from arctic.service.watching.group_view import GroupQueue, GroupView
from arctic.service.watching.table_view import TableView
from arctic.service.watching.told_reads import ToldRead
from arctic.service.watching.watch import Watched

MOST_SLOTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceControl:
    """The face of a service to those who ask."""

    service: TableService
    executors: Mapping[str, str]
    """Group -> ``thread``, ``process`` or ``spark``; none: it only looks at tables."""

    @property
    def owner(self) -> str:
        """Its name in leases."""
        return self.service.work.owner

    @property
    def place(self) -> Mapping[str, str]:
        """Options that say where the catalog is."""
        return self.service.work.place

    @property
    def seen(self) -> list[Watched]:
        """The tables as they were last looked at, sorted."""
        return self.service.watch.seen

    @property
    def history(self) -> History:
        """What was done."""
        return self.service.book.history

    @property
    def looked_ms(self) -> int | None:
        """When it last looked at the whole catalog; None: not yet."""
        return self.service.looked_ms

    @property
    def silent_seconds(self) -> float:
        """For how long the look that is under way has heard nothing of the catalog; 0: none is."""
        return self.service.watch.clock.silent_seconds

    @property
    def stuck(self) -> str | None:
        """Say that the look that is under way is stuck; None: it is not."""
        if not self.service.watch.clock.is_stuck:
            return None
        return (
            f"a look at catalog {self.service.work.config.label!r} has heard nothing for "
            f"{self.silent_seconds:.0f} seconds; tables that are known already are worked on"
        )

    @property
    def goes_on(self) -> bool:
        """Whether it was not told to stop."""
        return self.service.goes_on

    def now_ms(self) -> int:
        """Return the time of its clock."""
        return self.service.work.now_ms()

    def tables(self) -> list[TableView]:
        """Return every table, sorted by name; those that cannot be looked at say why."""
        seen, told = self.service.watch.seen, self.service.watch.told
        with self.service.changed:
            views = self.service.runs.views(seen)
        views |= {name: TableView(name=name, failure=failure) for name, failure in told.items()}
        return [views[name] for name in sorted(views)]

    def table(self, name: str) -> TableView:
        """Return one table; one that is not known yet is looked at.

        Raises:
            InvalidInputError: a name that no table can have.
            NotFoundError: no such table.
            StorageError: the catalog cannot be reached.
        """
        for _ in range(2):  # before it is looked at, and after: what fails is not tried again
            for view in self.tables():
                if view.name == name:
                    return view
            self._check_exists(name)
            self.service.look_at(name)
        raise NotFoundError(f"table {name!r} is none of Arctic's; expected the name of one")

    def groups(self) -> list[GroupView]:
        """Return every group, sorted by name."""
        now_ms, runs = self.now_ms(), self.service.runs
        with self.service.changed:
            tables = Counter(runs.placed.values())
            running = Counter(runs.placed[name] for name in runs.busy if name in runs.placed)
            return [
                GroupView.of(
                    name,
                    group,
                    executor=self.executors[name],
                    tables=tables[name],
                    running=running[name],
                    now_ms=now_ms,
                )
                for name, group in sorted(runs.groups.items())
            ]

    def queue(self, name: str) -> GroupQueue:
        """Return a group, who is at work in it, and who waits in which order.

        Raises:
            NotFoundError: no such group.
        """
        view = next((each for each in self.groups() if each.name == name), None)
        if view is None:
            raise self._no_group(name)
        runs = self.service.runs
        with self.service.changed:
            busy = {each: what for each, what in runs.busy.items() if runs.placed.get(each) == name}
            asked = runs.asked.waiting(name)
            return GroupQueue.of(view, runs.groups[name], asked, busy, self.now_ms())

    def nudge(self, name: str | None = None) -> None:
        """Let the service look at once.

        Args:
            name: of the table that is looked at; None: all are.

        Raises:
            InvalidInputError: a name that no table can have.
            NotFoundError: no such table.
        """
        if name is not None and not any(each.name == name for each in self.service.watch.seen):
            self._check_exists(name)
        self.service.nudge(name)

    def tell_read(self, name: str, summary: ReadSummary) -> None:
        """Take note of what a read of a table opened.

        Raises:
            NotFoundError: the service knows no such table.
        """
        if not any(each.name == name for each in self.service.watch.seen):
            raise NotFoundError(f"table {name!r}: no look has shown it; tell of it after the next")
        self.service.reads.tell(name, ToldRead(at_ms=self.now_ms(), summary=summary))

    def last_read(self, name: str) -> ToldRead | None:
        """Return the last read of a table that a reader told of; None: nobody did."""
        return self.service.reads.last(name)

    def optimize(self, name: str, type: str | None) -> ProcessRecord:
        """Let a table be optimized as soon as there is a slot, and return the process.

        Args:
            name: of the table.
            type: ``minor``, ``major`` or ``full`` for every partition; None: what is due in each.

        Raises:
            InvalidInputError: no such type, or a table of another group.
            NotFoundError: no such table.
            ConflictError: a run of it waits already, or the service stops.
        """
        known = [each.value for each in OptimizeType]
        if type is not None and type not in known:
            raise InvalidInputError(
                f"optimize type {type!r}; expected one of {', '.join(known)}, or none for what is "
                "due"
            )
        view = self.table(name)
        if view.group in self.service.runs.groups and name not in self.service.runs.placed:
            # A look that is under way has seen it, and places all tables when it has seen all.
            self.service.look_at(name)
        with self.service.changed:
            group = self.service.runs.placed.get(name)
            if group is None:
                why = view.failure or f"it is of group {view.group!r}"
                raise InvalidInputError(
                    f"table {name!r}: this service does not optimize it: {why}; its groups are "
                    f"{', '.join(sorted(self.service.runs.groups))}"
                )
            if not self.service.goes_on:
                raise ConflictError(f"table {name!r}: the service stops; ask it when it is back")
            self.service.runs.asked.check(name)
            process_id = self.service.book.asked(name, "optimize", type)
            self.service.runs.asked.add(
                AskedRun(table=name, group=group, type=type, process_id=process_id)
            )
            self.service.changed.notify_all()
        return self.process(process_id)

    def clean(self, name: str) -> ProcessRecord:
        """Let a table be cleaned as soon as no other is, and return the process.

        Raises:
            NotFoundError: no such table.
            ConflictError: a cleaning of it waits already, or the service stops.
        """
        self.table(name)
        with self.service.changed:
            if not self.service.goes_on:
                raise ConflictError(f"table {name!r}: the service stops; ask it when it is back")
            self.service.runs.cleaning.check(name)
            process_id = self.service.book.asked(name, "clean", None)
            self.service.runs.cleaning.ask(name, process_id)
            self.service.changed.notify_all()
        return self.process(process_id)

    def cancel(self, name: str) -> str:
        """Cancel the run of a table, or the one that waits; return what was cancelled.

        Tasks that run are let finish; nothing of the run is committed, unless it has ended before.

        Raises:
            NotFoundError: there is none.
            ConflictError: the table is cleaned, published or refreshed, which ends by itself.
        """
        with self.service.changed:
            run = self.service.runs.asked.drop(name)
            waiting = self.service.runs.cleaning.drop(name) if run is None else run.process_id
            if waiting is not None:
                self.service.book.dropped(waiting, ProcessStatus.CANCELLED)
                return ProcessStatus.WAITING.value
            doing = self.service.runs.busy.get(name)
            if doing is None:
                raise NotFoundError(f"table {name!r}: nothing of it runs or waits")
            place = self.service.runs.optimizing.get(name)
            if place is None:
                raise ConflictError(
                    f"table {name!r}: {doing} is under way, which ends by itself and cannot be "
                    "cancelled; settings of the table keep the next one away"
                )
            self.service.runs.slots[place].cancel(name)
            return Phase.RUNNING.value

    def process(self, process_id: int) -> ProcessRecord:
        """Return a process.

        Raises:
            NotFoundError: there is none of this id, or none any more.
        """
        found = self.history.process(process_id)
        if found is None:
            raise NotFoundError(f"process {process_id}: none of this id is remembered")
        return found

    def scale(self, name: str, slots: int) -> GroupView:
        """Give a group another number of slots; executors beyond it finish the task they have.

        Raises:
            NotFoundError: no such group.
            InvalidInputError: a number that cannot be.
        """
        if not 0 <= slots <= MOST_SLOTS:
            raise InvalidInputError(
                f"group {name!r} of {slots} slots; expected 0, which begins nothing, to "
                f"{MOST_SLOTS:,}"
            )
        with self.service.changed:
            group = self.service.runs.groups.get(name)
            if group is None:
                raise self._no_group(name)
            group.slots = slots
            self.service.runs.slots[name].fill()
        self.service.work.say("scaled", group=name, slots=slots)
        return next(view for view in self.groups() if view.name == name)

    def _no_group(self, name: str) -> NotFoundError:
        known = ", ".join(sorted(self.service.runs.groups))
        return NotFoundError(f"group {name!r}: this service has {known}")

    def _check_exists(self, name: str) -> None:
        existing_store(open_catalog(self.service.work.config), parse_identifier(name))

"""What a service tells of a group, and of its queue: values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arctic.service.scheduling.asked_runs import AskedRun
from arctic.service.scheduling.group import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """One group of a service."""

    name: str
    slots: int
    busy_slots: int
    """Those that have a task."""
    executor: str
    """``thread``, ``process`` or ``spark``."""
    tables: int
    running: int
    """Tables that are worked on."""
    pending: int
    """Tables that wait for a slot, or for the end of a peak."""
    longest_wait_ms: int
    stretched: float
    """By how much tables rest longer now; above 1 there is a peak."""

    @classmethod
    def of(
        cls, name: str, group: Group, *, executor: str, tables: int, running: int, now_ms: int
    ) -> GroupView:
        """Describe a group."""
        return cls(
            name=name,
            slots=group.slots,
            busy_slots=group.busy_slots,
            executor=executor,
            tables=tables,
            running=running,
            pending=group.pending(now_ms),
            longest_wait_ms=group.longest_wait_ms(now_ms),
            stretched=group.stretched(now_ms),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTable:
    """A table that is worked on."""

    table: str
    doing: str
    """``optimize``, ``clean``, ``publish`` or ``refresh``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotTask:
    """What one slot does."""

    executor: str
    table: str
    task: int
    """Its place among the tasks of the run."""
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingTable:
    """A table that waits for its turn."""

    table: str
    type: str | None
    """What is due in it, or was asked for; None: what is due by then."""
    waits_ms: int | None
    """None: a call asked for the run, and when is told by its process."""
    work_ms: int | None
    """Of one slot, as predicted; None: it is predicted when it begins."""
    process_id: int | None
    """That a call was told; None: it is due by itself."""
    is_put_off: bool
    """Until a peak has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupQueue:
    """A group, who is at work in it, and who waits in which order."""

    group: GroupView
    running: tuple[RunningTable, ...]
    slots: tuple[SlotTask, ...]
    waiting: tuple[WaitingTable, ...]
    """The next one first, were nothing to change: what calls asked for goes before the rest."""

    @classmethod
    def of(
        cls,
        view: GroupView,
        group: Group,
        asked: Sequence[AskedRun],
        busy: Mapping[str, str],
        now_ms: int,
    ) -> GroupQueue:
        """Describe a queue.

        Args:
            view: of the group.
            group: whose queue it is.
            asked: runs that calls asked for and that wait.
            busy: its tables that are worked on, and what is done.
            now_ms: the time.
        """
        told = {*busy, *(run.table for run in asked)}
        return cls(
            group=view,
            running=tuple(
                RunningTable(table=name, doing=doing) for name, doing in sorted(busy.items())
            ),
            slots=tuple(
                SlotTask(
                    executor=each.executor,
                    table=each.table,
                    task=each.number,
                    since_ms=each.since_ms,
                )
                for each in group.held()
            ),
            waiting=(
                *(
                    WaitingTable(
                        table=run.table,
                        type=run.type,
                        waits_ms=None,
                        work_ms=None,
                        process_id=run.process_id,
                        is_put_off=False,
                    )
                    for run in asked
                ),
                *(
                    WaitingTable(
                        table=each.name,
                        type=None if each.outlook.due is None else each.outlook.due.value,
                        waits_ms=each.waits_ms,
                        work_ms=each.outlook.work_ms,
                        process_id=None,
                        is_put_off=each.is_put_off,
                    )
                    for each in group.queue(now_ms)
                    if each.name not in told
                ),
            ),
        )

"""What a service tells of a table and of a group: values for programs."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.service.scheduling.table_state import TableState
from arctic.service.watching.watch import Watched


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """One table, as the last look at it showed it; times are milliseconds since 1970-01-01 UTC."""

    name: str
    group: str | None = None
    """None: it could not be looked at."""
    is_optimized: bool = False
    """By this service."""
    health: int | None = None
    """0 to 100; None: it is not looked into."""
    due: str | None = None
    phase: str | None = None
    """``idle``, ``pending``, ``resting``, ``blocked``, ``backing off`` or ``running``."""
    failures: int = 0
    """Runs that failed since the last good one."""
    is_worked_on: bool = False
    lease_owner: str | None = None
    lease_until_ms: int | None = None
    optimized_ms: int | None = None
    """When this service last ended a run of it."""
    cleaned_ms: int | None = None
    failure: str | None = None
    """Why it could not be looked at."""

    @classmethod
    def of(
        cls, seen: Watched, state: TableState | None, *, is_worked_on: bool, now_ms: int
    ) -> TableView:
        """Describe a table that was looked at."""
        lease = seen.lease if seen.lease is not None and seen.lease.holds(now_ms) else None
        due = None if state is None else state.outlook.due
        return cls(
            name=seen.name,
            group=seen.wishes.group,
            is_optimized=seen.look is not None,
            health=None if seen.look is None else seen.look.health,
            due=None if due is None else due.value,
            phase=None if state is None else state.phase(now_ms, stretched=1).value,
            failures=0 if state is None else state.failures,
            is_worked_on=is_worked_on,
            lease_owner=None if lease is None else lease.owner,
            lease_until_ms=None if lease is None else lease.until_ms,
            optimized_ms=None if state is None else state.ended_ms,
            cleaned_ms=seen.wishes.cleaned_ms,
        )


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
    """Tables that wait for a slot."""
    longest_wait_ms: int
    stretched: float
    """By how much tables rest longer now; above 1 there is a peak."""

"""What a service tells of a table: values for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arctic.service.scheduling.table_state import Phase, TableState
from arctic.service.watching.watch import Watched

_STATES = {
    Phase.IDLE: "idle",
    Phase.PENDING: "waiting",
    Phase.RESTING: "resting",
    Phase.BLOCKED: "blocked",
    Phase.BACKING_OFF: "cancelled",
    Phase.RUNNING: "running",
}
"""Of a table that nothing is wrong with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """One table, as the last look at it showed it; times are milliseconds since 1970-01-01 UTC."""

    name: str
    state: str = "broken"
    """``broken``, ``running``, ``leased``, ``failing``, ``paused``, ``of another group``,
    ``looked at`` (the service works on none), ``waiting``, ``blocked``, ``cancelled``, ``resting``
    or ``idle``: the first that is so."""
    group: str | None = None
    """None: it could not be looked at."""
    is_optimized: bool = False
    """By this service."""
    health: int | None = None
    """0 to 100; None: it is not looked into."""
    bytes: int | None = None
    """Of the files that a read opens."""
    unmerged_bytes: int | None = None
    """Of those, what base does not hold yet."""
    unmerged_share: float | None = None
    """The same as a share of all, 0 to 1."""
    behind_ms: int | None = None
    """For how long at most base has not held all that was written; 0: it does."""
    due: str | None = None
    phase: str | None = None
    """``idle``, ``pending``, ``resting``, ``blocked``, ``backing off`` or ``running``, as a peak
    lets it rest."""
    failures: int = 0
    """Runs that failed since the last good one."""
    last_failures: Mapping[str, str] | None = None
    """Why the last run of each kind failed, of kinds whose last run did; None: of none."""
    is_worked_on: bool = False
    doing: str | None = None
    """``optimize``, ``clean``, ``publish`` or ``refresh``; None: nobody works on it."""
    waits_since_ms: int | None = None
    """Since when it could be optimized; None: it could not be now."""
    next_ms: int | None = None
    """When it can be optimized that is blocked, failed, was cancelled or rests."""
    lease_owner: str | None = None
    lease_until_ms: int | None = None
    optimized_ms: int | None = None
    """When this service last ended a run of it."""
    cleaned_ms: int | None = None
    failure: str | None = None
    """Why it could not be looked at."""

    @classmethod
    def of(
        cls,
        seen: Watched,
        state: TableState | None,
        *,
        doing: str | None,
        failed: Mapping[str, str],
        owner: str,
        stretched: float,
        now_ms: int,
    ) -> TableView:
        """Describe a table that was looked at.

        Args:
            seen: what the look showed.
            state: what its group knows of it; None: it is of a group of others.
            doing: what is done with it now.
            failed: why the last run of each kind failed, of those that did.
            owner: the service, in leases.
            stretched: by how much tables of its group rest longer now.
            now_ms: the time.
        """
        lease = seen.lease if seen.lease is not None and seen.lease.holds(now_ms) else None
        is_held = lease is not None and lease.keeps_out(owner, now_ms)
        phase = None if state is None else state.phase(now_ms, stretched=stretched)
        wait = None if state is None or phase is None else state.wait(phase, stretched)
        look = seen.look
        if state is not None:
            due = state.outlook.due
        else:
            due = None if look is None else look.outlook(now_ms, with_full=True).due
        return cls(
            name=seen.name,
            state=_standing(seen, phase, doing, is_held=is_held, is_failing=bool(failed)),
            group=seen.wishes.group,
            is_optimized=look is not None,
            health=None if look is None else look.health,
            bytes=None if look is None else look.bytes,
            unmerged_bytes=None if look is None else look.unmerged_bytes,
            unmerged_share=None if look is None else look.unmerged_bytes / max(1, look.bytes),
            behind_ms=None if look is None else look.behind_ms(now_ms),
            due=None if due is None else due.value,
            phase=None if phase is None else phase.value,
            failures=0 if state is None else state.tries.failures,
            last_failures=failed or None,
            is_worked_on=doing is not None,
            doing=doing,
            waits_since_ms=state.waits_since_ms(now_ms)
            if state and phase is Phase.PENDING
            else None,
            next_ms=None if wait is None else wait.until_ms,
            lease_owner=None if lease is None else lease.owner,
            lease_until_ms=None if lease is None else lease.until_ms,
            optimized_ms=None if state is None else state.tries.ended_ms,
            cleaned_ms=seen.wishes.cleaned_ms,
        )


def _standing(
    seen: Watched, phase: Phase | None, doing: str | None, *, is_held: bool, is_failing: bool
) -> str:
    if doing is not None:
        return "running"
    if is_held:
        return "leased"
    if is_failing:
        return "failing"
    if not seen.wishes.is_optimized:
        return "paused"
    if phase is None:
        return "of another group" if seen.look is None else "looked at"
    return _STATES[phase]

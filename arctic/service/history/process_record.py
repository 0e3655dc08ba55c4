"""One process of the service: a run of optimizing or a cleaning of one table, with its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ProcessStatus(Enum):
    """How far a process is; the value is its name in the file and in answers."""

    WAITING = "waiting"
    """It was asked for, and has not begun."""
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LEASED = "leased"
    """Another service had the table, or others were faster."""
    LOST = "lost"
    """The service ended before it did."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self not in (ProcessStatus.WAITING, ProcessStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    """What is known of one process; times are milliseconds since 1970-01-01 UTC."""

    id: int
    table: str
    kind: str
    """``optimize``, ``clean``, ``publish`` or ``refresh``."""
    trigger: str
    """``service`` or ``call``."""
    status: ProcessStatus
    type: str | None = None
    reason: str | None = None
    asked_ms: int = 0
    """When it was decided that it is to be."""
    started_ms: int | None = None
    ended_ms: int | None = None
    predicted_ms: int | None = None
    """Slot time that the scheduler reckoned with."""
    slot_ms: int | None = None
    """Slot time that it took."""
    files_before: int | None = None
    bytes_before: int | None = None
    files_after: int | None = None
    bytes_after: int | None = None
    bytes_written: int | None = None
    tasks: int | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """What is known of one try of one task."""

    number: int
    """Its place in the plan."""
    executor: str
    status: ProcessStatus
    rows_in: int
    """Rows that it was planned to go through."""
    started_ms: int
    ended_ms: int | None = None
    files_out: int | None = None
    rows_out: int | None = None
    bytes_out: int | None = None
    failure: str | None = None

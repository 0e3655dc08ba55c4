"""Runs that calls asked for, and that wait for their turn."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from arctic.errors import ConflictError

_MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRun:
    """One run that a call asked for."""

    table: str
    group: str
    type: str | None
    """None: what is due in each partition."""
    process_id: int


@dataclass(slots=True)
class AskedRuns:
    """First come, first served; one a table, and no more at a time than a group has slots."""

    _waiting: dict[str, AskedRun] = field(default_factory=dict)
    _running: dict[str, str] = field(default_factory=dict)
    """Table -> its group."""

    def __bool__(self) -> bool:
        """Say whether any waits."""
        return bool(self._waiting)

    def waiting(self, group: str) -> list[AskedRun]:
        """Return those of a group that wait, the next one first."""
        return [run for run in self._waiting.values() if run.group == group]

    def check(self, table: str) -> None:
        """Refuse a second run of a table, and more than can be kept in mind.

        Raises:
            ConflictError: one waits already, or too many do.
        """
        if table in self._waiting:
            raise ConflictError(
                f"table {table!r}: process {self._waiting[table].process_id} waits to be begun; "
                "cancel it, or ask again when it has ended"
            )
        if len(self._waiting) >= _MOST_WAITING:
            raise ConflictError(
                f"table {table!r}: {_MOST_WAITING} runs wait already; ask again later"
            )

    def add(self, run: AskedRun) -> None:
        """Let a run wait."""
        self._waiting[run.table] = run

    def begin(self, busy: Container[str], slots: dict[str, int]) -> AskedRun | None:
        """Return the next run that can be begun, which is taken to have begun; None: there is none.

        Args:
            busy: tables that are worked on.
            slots: of each group.
        """
        for run in self._waiting.values():
            begun = sum(group == run.group for group in self._running.values())
            if run.table not in busy and begun < slots[run.group]:
                self._running[run.table] = run.group
                return self._waiting.pop(run.table)
        return None

    def ended(self, table: str) -> None:
        """Take note that a run is over, if it was one of these."""
        self._running.pop(table, None)

    def drop(self, table: str) -> AskedRun | None:
        """Take a run away that waits; None: there is none."""
        return self._waiting.pop(table, None)

"""What the overview of a catalog is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFacts:
    """What a service does with a table, or waits for."""

    word: str
    """Such as ``failing``; empty: no service was asked."""
    why: str
    is_bad: bool = False
    """Somebody should look at it."""


IN_NO_SERVICE = StateFacts(word="", why="")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One table of the overview."""

    name: str
    score: int | None
    """Health, 0 to 100; None: nobody looked into it, because another service looks after it."""
    due: str | None
    """``minor``, ``major`` or ``full``; None: nothing."""
    reason: str
    files: int
    stored_bytes: int
    """Of the files that a read opens."""
    unmerged_bytes: int
    """Of those, what base does not hold yet."""
    partitions: int
    group: str
    work_ms: int
    """What one slot would be at work for what is due, as predicted; 0 where nothing is."""
    state: StateFacts = IN_NO_SERVICE

    @property
    def unmerged_share(self) -> float:
        """Unmerged bytes as a share of all, 0 to 1."""
        return self.unmerged_bytes / self.stored_bytes if self.stored_bytes else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTable:
    """A table that cannot be looked at."""

    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSlots:
    """What a service says of one of its groups."""

    name: str
    slots: int
    busy: int
    """Slots that have a task."""
    waiting: int
    """Tables that wait for a slot."""
    longest_wait_ms: int
    stretched: float
    """By how much tables rest longer; above 1 there is a peak, and fulls are put off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRow:
    """One of several catalogs."""

    name: str
    bad: str | None
    """What is wrong with it; None: nothing."""
    tables: int
    due: int
    """Tables where something is."""
    failing: int
    """Tables that cannot be looked at, or whose last run failed."""
    looked_ms: int | None
    """When it was last looked at; None: not yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeFacts:
    """All tables of a catalog."""

    place: str
    """The catalog, in words."""
    at_ms: int
    """When it was looked at, in milliseconds since 1970-01-01 UTC."""
    tables: tuple[TableRow, ...]
    broken: tuple[BrokenTable, ...]
    slots: tuple[GroupSlots, ...] = ()
    """Empty: no service was asked."""

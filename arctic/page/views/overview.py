"""The overview: every table in a row, the sick ones first, and what waits in each group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from arctic.page.facts.lake_facts import BrokenTable, GroupSlots, LakeFacts, TableRow
from arctic.page.views.bars import Bars, draw_bars
from arctic.scan.explain import counted
from arctic.service.scheduling.peak import POLICY as PEAK_POLICY

_BANDS = ((90, 100), (70, 89), (50, 69), (25, 49), (0, 24))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One group, as its tables ask for it, and as a service has it."""

    name: str
    tables: int
    due: int
    work_ms: int
    """Of one slot, for all that is due."""
    slots: GroupSlots | None
    """None: no service was asked, or it has no such group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The page of a catalog."""

    lake: LakeFacts
    rows: tuple[TableRow, ...]
    """The least healthy first."""
    links: tuple[str, ...]
    """The address of each row's page; empty: it has none."""
    broken: tuple[BrokenTable, ...]
    health: Bars
    groups: tuple[GroupRow, ...]
    bytes: int
    unmerged_bytes: int
    due: int
    has_states: bool
    """A service told what it does with each table."""
    failing: int
    """Tables whose last run failed."""
    peak_policy: str = PEAK_POLICY
    """What gives way where more waits than the slots can do."""


def draw_overview(lake: LakeFacts, links: Mapping[str, str]) -> Overview:
    """Return the overview of a catalog.

    Args:
        lake: its tables.
        links: name -> address of the table's page, of those that have one.
    """
    rows = sorted(
        lake.tables,
        key=lambda row: (not row.state.is_bad, _rank(row), row.due is None, row.name),
    )
    known = [row for row in rows if row.score is not None]
    counts = [
        (f"health {low} to {high}", sum(low <= (row.score or 0) <= high for row in known))
        for low, high in _BANDS
    ]
    return Overview(
        lake=lake,
        rows=tuple(rows),
        links=tuple(links.get(row.name, "") for row in rows),
        broken=lake.broken,
        health=draw_bars(
            "Tables by health",
            [(label, float(count), f"{count:,}", "base") for label, count in counts],
            summary="; ".join(f"{label}: {counted(n, 'table')}" for label, n in counts) + ".",
        ),
        groups=_groups(lake),
        bytes=sum(row.stored_bytes for row in rows),
        unmerged_bytes=sum(row.unmerged_bytes for row in rows),
        due=sum(row.due is not None for row in rows),
        has_states=bool(lake.slots),
        failing=sum(row.state.is_bad for row in rows),
    )


def _rank(row: TableRow) -> int:
    return 101 if row.score is None else row.score


def _groups(lake: LakeFacts) -> tuple[GroupRow, ...]:
    slots = {each.name: each for each in lake.slots}
    held: dict[str, list[TableRow]] = defaultdict(list)
    for row in lake.tables:
        held[row.group].append(row)
    return tuple(
        GroupRow(
            name=name,
            tables=len(held.get(name, [])),
            due=sum(row.due is not None for row in held.get(name, [])),
            work_ms=sum(row.work_ms for row in held.get(name, [])),
            slots=slots.get(name),
        )
        for name in sorted({*held, *slots})
    )

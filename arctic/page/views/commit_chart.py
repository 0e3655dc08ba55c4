"""Commits over time: rows that each brought, and the files that each store had after it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arctic.page.facts.table_facts import CommitFacts
from arctic.page.views.words import moment_text
from arctic.scan.explain import counted

WIDTH = 640
LANE = 70
MOST = 200
MOST_ROWS = 25
_LEFT, _RIGHT = 70, 630
_LANES = ("change", "base")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stick:
    """One commit."""

    x: float
    y: float
    height: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How many files of one kind a store had, from commit to commit."""

    name: str
    kind: str
    path: str
    """As SVG draws it."""
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChart:
    """Both drawings, and the newest commits as rows."""

    sticks: tuple[Stick, ...]
    lanes: tuple[tuple[str, int], ...]
    """Name and place of each store's."""
    first: str
    last: str
    lines: tuple[Line, ...]
    most_files: int
    summary: str
    files_summary: str
    rows: tuple[CommitFacts, ...]
    """Newest first."""
    unlisted: int
    """Commits beyond those that are drawn."""

    @property
    def height(self) -> int:
        """Of the drawing of commits."""
        return LANE * len(self.lanes)


def draw_commits(commits: Sequence[CommitFacts]) -> CommitChart:
    """Return the drawings of the newest commits of a table.

    Args:
        commits: oldest first.
    """
    shown = commits[-MOST:]
    lanes = [name for name in _LANES if any(each.store == name for each in shown)]
    begin = shown[0].at_ms if shown else 0
    end = shown[-1].at_ms if shown else 0
    lines = tuple(_lines(shown, begin, end))
    runs = sum(1 for each in shown if each.optimized)
    return CommitChart(
        sticks=tuple(_sticks(shown, lanes, begin, end)),
        lanes=tuple((name, LANE * place) for place, name in enumerate(lanes)),
        first=moment_text(begin) if shown else "",
        last=moment_text(end) if shown else "",
        lines=lines,
        most_files=_most_files(shown),
        summary=f"{counted(len(shown), 'commit')}, {runs:,} of them by optimizing; the table "
        "below has the newest.",
        files_summary="; ".join(f"{line.name}: {line.last:,} now" for line in lines) + ".",
        rows=tuple(reversed(shown[-MOST_ROWS:])),
        unlisted=len(commits) - len(shown),
    )


def _x(at_ms: int, begin: int, end: int) -> float:
    if end == begin:
        return (_LEFT + _RIGHT) / 2
    return round(_LEFT + (_RIGHT - _LEFT) * (at_ms - begin) / (end - begin), 1)


def _sticks(
    shown: Sequence[CommitFacts], lanes: Sequence[str], begin: int, end: int
) -> Iterator[Stick]:
    most = math.sqrt(max((each.added_rows for each in shown), default=0)) or 1.0
    for each in shown:
        height = round(4 + (LANE - 20) * math.sqrt(each.added_rows) / most, 1)
        what = f"optimized ({each.optimized})" if each.optimized else each.operation
        yield Stick(
            x=_x(each.at_ms, begin, end),
            y=LANE * (lanes.index(each.store) + 1) - 6 - height,
            height=height,
            kind="optimized" if each.optimized else each.store,
            title=f"{moment_text(each.at_ms)}, {each.store}: {what}, "
            f"{counted(each.added_rows, 'row')} added",
        )


def _most_files(shown: Sequence[CommitFacts]) -> int:
    return max((max(each.data_files or 0, each.delete_files or 0) for each in shown), default=0)


def _lines(shown: Sequence[CommitFacts], begin: int, end: int) -> Iterator[Line]:
    most = _most_files(shown) or 1
    for store in _LANES:
        for field, what in (("data_files", "data files"), ("delete_files", "delete files")):
            known = [
                (_x(each.at_ms, begin, end), number)
                for each in shown
                if each.store == store and (number := getattr(each, field)) is not None
            ]
            if any(number for _, number in known):
                yield Line(
                    name=f"{store}, {what}",
                    kind=f"{store}-{field.removesuffix('_files')}",
                    path=_path([(x, _y(number, most)) for x, number in known]),
                    last=known[-1][1],
                )


def _y(number: int, most: int) -> float:
    return round(2 * LANE - 8 - (2 * LANE - 24) * number / most, 1)


def _path(points: Sequence[tuple[float, float]]) -> str:
    (x, y), rest = points[0], points[1:]
    steps = "".join(f"H{right}V{height}" for right, height in rest)
    return f"M{x} {y}{steps}H{_RIGHT}"

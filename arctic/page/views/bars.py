"""Bars beside one another, each with its label and its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 640
LABELS = 230
"""Of the width, for labels."""
_NUMBERS = 110
_ROW = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar."""

    label: str
    text: str
    """What stands behind it."""
    kind: str
    """How it is filled: ``base``, ``unmerged``, ``deletes`` or ``plain``."""
    y: int
    length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A drawing of bars."""

    title: str
    summary: str
    """What it shows, for whoever does not see it."""
    bars: tuple[Bar, ...]

    @property
    def height(self) -> int:
        """Of the drawing."""
        return _ROW * len(self.bars)


def draw_bars(title: str, rows: Sequence[tuple[str, float, str, str]], *, summary: str) -> Bars:
    """Return bars whose lengths are in proportion.

    Args:
        title: of the drawing.
        rows: label, number, its text and kind of each bar.
        summary: what the drawing shows.
    """
    most = max((number for _, number, _, _ in rows), default=0) or 1
    room = WIDTH - LABELS - _NUMBERS
    return Bars(
        title=title,
        summary=summary,
        bars=tuple(
            Bar(
                label=label,
                text=text,
                kind=kind,
                y=_ROW * place,
                length=round(max(room * number / most, 2 if number else 0), 1),
            )
            for place, (label, number, text, kind) in enumerate(rows)
        ),
    )

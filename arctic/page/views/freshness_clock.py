"""The freshness clock: how far behind this moment each side of a table is.

The scale is logarithmic, because a lag may be of seconds or of months. Now is at the right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from arctic.page.facts.table_facts import Freshness
from arctic.page.views.words import age_text, behind_text, moment_text

WIDTH = 640
_LEFT, _RIGHT = 210, 610
_ROW = 34
_TOP = 26
_LEAST_SPAN_MS = 86_400_000
_TICKS = (1_000, 60_000, 3_600_000, 86_400_000, 30 * 86_400_000, 365 * 86_400_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """One side of the table."""

    name: str
    kind: str
    y: int
    x: float | None
    """None: it is not known where it stands."""
    behind: str
    moment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A lag on the scale."""

    x: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The drawing."""

    hands: tuple[Hand, ...]
    ticks: tuple[Tick, ...]
    height: int
    summary: str
    writers: tuple[tuple[str, str, str], ...]
    """Name, watermark, and how far it is behind."""
    optimized: str
    """How long ago optimizing committed."""


def draw_clock(freshness: Freshness, *, at_ms: int) -> Clock:
    """Return the drawing of how fresh a table is at a time."""
    times = list(_times(freshness))
    lags = [max(0, at_ms - ms) for _, _, ms in times if ms is not None]
    span = max([*lags, _LEAST_SPAN_MS])
    hands = tuple(
        Hand(
            name=name,
            kind=kind,
            y=_TOP + _ROW * place,
            x=None if ms is None else _x(max(0, at_ms - ms), span),
            behind=behind_text(ms, at_ms),
            moment=moment_text(ms),
        )
        for place, (name, kind, ms) in enumerate(times)
    )
    return Clock(
        hands=hands,
        ticks=tuple(Tick(x=_x(lag, span), text=age_text(lag)) for lag in _TICKS if lag <= span),
        height=_TOP + _ROW * len(hands) + 6,
        summary="; ".join(f"{hand.name}: {hand.behind}" for hand in hands) + ".",
        writers=tuple(
            (name, moment_text(ms), behind_text(ms, at_ms)) for name, ms in freshness.writers
        ),
        optimized=behind_text(freshness.merged_ms, at_ms),
    )


def _times(freshness: Freshness) -> Iterator[tuple[str, str, int | None]]:
    yield "what a read sees", "plain", freshness.view_ms
    yield "base alone", "base", freshness.base_ms
    if freshness.table_watermark_ms is not None:
        yield "event time of a read", "unmerged", freshness.table_watermark_ms
        yield "event time of base", "deletes", freshness.base_watermark_ms


def _x(lag_ms: int, span_ms: int) -> float:
    share = math.log10(1 + lag_ms / 1_000) / math.log10(1 + span_ms / 1_000)
    return round(_RIGHT - (_RIGHT - _LEFT) * share, 1)

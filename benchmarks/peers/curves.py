"""Times over the commits of a table as curves, written as SVG by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from benchmarks.peers.chart import svg, text_at

Curve: TypeAlias = Sequence[tuple[float, float]]
Panel: TypeAlias = Mapping[str, Curve]
"""For each system, points of x and seconds."""

_WIDTH, _LEFT, _RIGHT, _HEIGHT, _GAP = 760, 60, 610, 170, 56
_OURS = "#1f6feb"
_OTHERS = ("#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a", "#bf3989")
_GRID = "#d0d7de"


def curves(panels: Mapping[str, Panel], *, x_title: str) -> str:
    """Return the text of an SVG file: a panel below another, each with seconds on a log scale."""
    systems = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    others = iter(_OTHERS * len(systems))
    colours = {name: _OURS if name.startswith("arctic") else next(others) for name in systems}
    parts: list[str] = []
    y = 0
    for title, panel in panels.items():
        if any(panel.values()):
            y += _GAP
            parts.append(text_at(_LEFT, y - 14, f"{title}, seconds", size=13, weight="bold"))
            _panel(parts, y, panel, colours)
            y += _HEIGHT
    parts.append(text_at(_LEFT, y + 34, x_title))
    return svg(parts, width=_WIDTH, height=y + 50)


def _panel(parts: list[str], top: int, panel: Panel, colours: Mapping[str, str]) -> None:
    times = [max(seconds, 1e-3) for curve in panel.values() for _, seconds in curve]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    high = max(high, low + 1)
    last = max(x for curve in panel.values() for x, _ in curve) or 1

    def place(x: float, seconds: float) -> tuple[int, int]:
        share = (math.log10(max(seconds, 1e-3)) - low) / (high - low)
        return round(_LEFT + (_RIGHT - _LEFT) * x / last), round(top + _HEIGHT * (1 - share))

    for power in range(low, high + 1):
        _, y = place(0, 10.0**power)
        parts.append(f'<path d="M{_LEFT} {y}H{_RIGHT}" stroke="{_GRID}"/>')
        parts.append(text_at(_LEFT - 6, y + 4, f"{10.0**power:g}", anchor="end"))
    under = top + _HEIGHT + 15
    parts += [text_at(place(x, 1)[0], under, f"{x:g}", anchor="middle") for x in (0, last)]
    ends = []
    for name, curve in panel.items():
        if not curve:
            continue
        points = " ".join("{},{}".format(*place(x, seconds)) for x, seconds in curve)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colours[name]}" stroke-width="1.6"/>'
        )
        ends.append((place(*curve[-1])[1], name))
    lowest = 0
    for y, name in sorted(ends):
        # Names stand at the ends of their curves, none on another.
        lowest = max(y + 4, lowest + 13)
        parts.append(text_at(_RIGHT + 8, lowest, name, ink=colours[name]))

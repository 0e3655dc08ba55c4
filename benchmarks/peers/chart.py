"""The most telling figures as bars, written as SVG by hand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from benchmarks.peers.report import Comparison, median_upsert
from benchmarks.peers.result import Phase, SystemResult

PANELS = (
    ("upsert", "one upsert"),
    ("delete", "delete by key"),
    ("dump, unmerged", "full read, unmerged"),
    ("aggregate, unmerged", "sums, unmerged"),
    ("compact", "compaction"),
)
LONGEST = 12.0
"""Bars end at this multiple of Arctic's; the number says the rest."""

_WIDTH, _LABEL, _BAR, _STEP, _GAP = 760, 130, 500, 22, 30
_OURS, _THEIRS, _INK = "#1f6feb", "#9aa7b4", "#57606a"


def chart(comparisons: Sequence[Comparison]) -> str:
    """Return the text of an SVG file."""
    parts: list[str] = []
    y = 10
    for comparison in comparisons:
        y += _GAP
        parts.append(text_at(10, y, comparison.title, size=17, weight="bold"))
        for name, title in PANELS:
            bars = [(system, _phase(system, name)) for system in comparison.systems]
            known = [(system, phase) for system, phase in bars if phase and _shown(phase)]
            if known:
                y += _GAP
                parts.append(text_at(10, y, f"{title}, seconds", size=13, weight="bold"))
                y = _panel(parts, y + 6, known)
    return svg(parts, width=_WIDTH, height=y + 20)


def svg(parts: Sequence[str], *, width: int, height: int) -> str:
    """Return the text of a file that shows these parts."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif"><rect width="100%" height="100%" fill="#ffffff"/>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def _panel(parts: list[str], y: int, bars: Sequence[tuple[SystemResult, Phase]]) -> int:
    times = [phase.seconds for _, phase in bars if phase.seconds is not None]
    ours = bars[0][1].seconds or min(times, default=1.0)
    longest = min(max(times, default=ours), LONGEST * ours)
    for system, phase in bars:
        seconds = longest if phase.seconds is None else phase.seconds
        width = max(2, round(_BAR * min(seconds, longest) / longest))
        colour = _OURS if system.name.startswith("arctic") else _THEIRS
        parts.append(text_at(_LABEL - 8, y + 14, system.name, anchor="end"))
        parts.append(
            f'<rect x="{_LABEL}" y="{y}" width="{width}" height="{_STEP - 5}" fill="{colour}"/>'
        )
        value = phase.reason if phase.seconds is None else f"{phase.seconds:.2f}"
        if seconds > longest:
            value = f"… {value}"
        parts.append(text_at(_LABEL + width + 6, y + 14, value))
        y += _STEP
    return y


def _phase(system: SystemResult, name: str) -> Phase | None:
    return median_upsert(system) if name == "upsert" else system.phases.get(name)


def _shown(phase: Phase) -> bool:
    return phase.seconds is not None or phase.reason.startswith(">")


def text_at(
    x: int,
    y: int,
    text: str,
    *,
    size: int = 12,
    weight: str = "normal",
    anchor: str = "start",
    ink: str = _INK,
) -> str:
    """Return a text as a part of a picture."""
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{ink}">{escape(text)}</text>'
    )

"""The X-ray of a read: files considered, left out and opened, then who reads which of them."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.page.facts.read_facts import LastRead, ReadFacts
from arctic.page.views.bars import Bars, draw_bars
from arctic.scan.explain import counted, size_text
from arctic.scan.read_summary import ReadSummary

_FILLED = {"base": "base", "insert": "unmerged"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Xray:
    """The drawing, and the tree below it."""

    bars: Bars
    read: ReadFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class LastXray:
    """The drawing of a read that somebody told of."""

    bars: Bars
    at_ms: int
    row_filter: str | None


def draw_read(read: ReadFacts) -> Xray:
    """Return the drawing of a read that is planned."""
    title = "Files that the read considers, leaves out and opens"
    return Xray(bars=_drawn(title, read.summary), read=read)


def draw_last(last: LastRead) -> LastXray:
    """Return the drawing of a read that somebody told of."""
    title = "Files that the last read considered, left out and opened"
    return LastXray(
        bars=_drawn(title, last.summary), at_ms=last.at_ms, row_filter=last.summary.row_filter
    )


def _drawn(title: str, read: ReadSummary) -> Bars:
    rows = [
        ("files considered", float(read.considered_files), f"{read.considered_files:,}", "plain"),
        *(
            (f"left out: {each.reason}", float(each.files), f"{each.files:,}", "left-out")
            for each in read.left_out
        ),
        *(
            (
                f"opened: {each.kind}",
                float(each.files),
                f"{each.files:,}, {size_text(each.size_bytes)}",
                _FILLED.get(each.kind, "deletes"),
            )
            for each in read.opened
        ),
    ]
    left = sum(each.files for each in read.left_out)
    reasons = ", ".join(f"{each.files:,} {each.reason}" for each in read.left_out)
    return draw_bars(
        title,
        rows,
        summary=f"Of {counted(read.considered_files, 'file')}, {left:,} are left out"
        f"{f' ({reasons})' if reasons else ''} and {read.opened_files:,} are opened.",
    )

"""The X-ray of a read: files considered, left out and opened, then who reads which of them."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.page.facts.read_facts import ReadFacts
from arctic.page.views.bars import Bars, draw_bars
from arctic.scan.explain import counted, size_text

_FILLED = {"base": "base", "insert": "unmerged"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Xray:
    """The drawing, and the tree below it."""

    bars: Bars
    read: ReadFacts


def draw_read(read: ReadFacts) -> Xray:
    """Return the drawing of a read that is planned."""
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
    return Xray(
        bars=draw_bars(
            "Files that the read considers, leaves out and opens",
            rows,
            summary=f"Of {counted(read.considered_files, 'file')}, {left:,} are left out"
            f"{f' ({reasons})' if reasons else ''} and {read.opened_files:,} are opened.",
        ),
        read=read,
    )

"""Timing and printing: medians of repeats, and every figure as a ratio to its limit."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table


def seconds(work: Callable[[], Any], *, repeats: int = 1) -> float:
    """Return the median time of the repeats."""
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


class Report:
    """Collects figures and prints them as one table."""

    def __init__(self, title: str) -> None:
        # A log is wider than the 80 columns that rich takes where there is no terminal.
        self._console = Console(width=None if sys.stdout.isatty() else 160)
        self._table = Table(title=title, title_justify="left", show_lines=False)
        self._table.add_column("what")
        for name in ("seconds", "rows/s", "ratio"):
            self._table.add_column(name, justify="right")
        self._table.add_column("ratio to")

    def step(self, text: str) -> None:
        """Say what is going on, for those who wait."""
        self._console.print(f"[dim]{text}[/dim]")

    def add(
        self,
        what: str,
        taken: float,
        *,
        rows: int,
        limit: float | None = None,
        limit_name: str = "",
    ) -> None:
        """Add one figure; ``limit`` is the time of what it is compared with, in seconds."""
        ratio = f"{taken / limit:.2f}x" if limit else ""
        self._table.add_row(what, f"{taken:.2f}", f"{rows / taken:,.0f}", ratio, limit_name)

    def note(self, what: str, value: str) -> None:
        """Add a figure that is not a time."""
        self._table.add_row(what, value, "", "", "")

    def show(self) -> None:
        """Print the table."""
        self._console.print(self._table)

"""What the demo prints: plain text where there is no terminal, colours where there is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from examples.demo.check import Comparison
from examples.demo.replay import Step

NOT_A_TERMINAL_WIDTH = 110


class Report:
    """Prints the sections of the demo, one after the other."""

    def __init__(self) -> None:
        """Write to standard output."""
        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(highlight=False, width=NOT_A_TERMINAL_WIDTH)
        self._console = console

    def section(self, title: str, *lines: str) -> None:
        """Begin a section."""
        self._console.print()
        self._console.print(Text(title, style="bold cyan"))
        for line in lines:
            self._console.print(Text(line))

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Say what is going on, and afterwards how long it took."""
        started = time.monotonic()
        with self._console.status(what):
            yield
        self._console.print(Text(f"  {what}: {time.monotonic() - started:.1f} s", style="dim"))

    def steps(self, steps: Sequence[Step]) -> None:
        """Show every commit with its cost."""
        grid = _grid("step", "events", "seconds", "events/s", "files", "written", "table before")
        for step in steps:
            grid.add_row(
                step.title,
                f"{step.event_count:,}",
                f"{step.seconds:.1f}",
                f"{step.event_count / step.seconds:,.0f}",
                f"{step.new_files:,}",
                _megabytes(step.new_bytes),
                _megabytes(step.table_bytes),
            )
        self._console.print(grid)

    def rows(self, table: pa.Table) -> None:
        """Show rows as they are."""
        grid = _grid(*table.column_names, left=table.num_columns)
        for row in table.to_pylist():
            grid.add_row(*(_cell(value) for value in row.values()))
        self._console.print(grid)

    def text(self, text: str) -> None:
        """Show text that was made for reading, line by line."""
        for line in text.splitlines():
            self._console.print(Text(f"  {line}"), overflow="ellipsis", no_wrap=True)

    def comparisons(self, comparisons: Sequence[Comparison]) -> None:
        """Show whether each reading of the table equals what DuckDB computed."""
        grid = _grid("read by", "rows", "missing", "unexpected", "")
        for one in comparisons:
            verdict = ("equal", "bold green") if one.is_equal else ("DIFFERENT", "bold red")
            grid.add_row(
                one.reader,
                f"{one.row_count:,}",
                f"{one.missing:,}",
                f"{one.unexpected:,}",
                Text(*verdict),
            )
        self._console.print(grid)


def _grid(*names: str, left: int = 1) -> Grid:
    grid = Grid(box=None, pad_edge=True, header_style="dim")
    for place, name in enumerate(names):
        grid.add_column(name, justify="left" if place < left else "right", no_wrap=True)
    return grid


def _cell(value: Any) -> Text:
    return Text("null" if value is None else str(value))


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.2f} MB"

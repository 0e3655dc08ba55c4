"""Progress of tasks, shown on a terminal.

Rules:
    - It goes to standard error, so that what a command prints can be piped.
    - Nothing of it stays: whoever asked for the work says what was done.
"""

from __future__ import annotations

import sys
from datetime import timedelta

from rich import progress as bars
from rich.console import Console
from rich.text import Text

from arctic.job.tasks.run_tasks import Progress

_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


class SilentProgress:
    """Shows nothing."""

    def begin(self, title: str, *, tasks: int, rows: int) -> None:
        """Do nothing."""

    def advance(self, *, tasks: int, rows: int) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


class TerminalProgress:
    """One line with a bar, tasks, rows per second and times; vanishes at the end."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._shown: bars.Progress | None = None
        self._weight_is_rows = True

    def begin(self, title: str, *, tasks: int, rows: int) -> None:
        """Show the line."""
        self.end()
        self._weight_is_rows = rows > 0
        self._shown = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(),
            _Status(),
            console=self._console,
            transient=True,
            redirect_stdout=False,  # It would come out on standard error.
        )
        total = rows if self._weight_is_rows else tasks
        self._shown.add_task(title, total=total, tasks=tasks, tasks_done=0, rows=rows, rows_done=0)
        self._shown.start()

    def advance(self, *, tasks: int, rows: int) -> None:
        """Move the bar."""
        if self._shown is not None:
            done = rows if self._weight_is_rows else tasks
            task_id = self._shown.task_ids[0]
            self._shown.update(task_id, completed=done, tasks_done=tasks, rows_done=rows)

    def end(self) -> None:
        """Take the line away."""
        if self._shown is not None:
            self._shown.stop()
            self._shown = None


class _Status(bars.ProgressColumn):
    """What is done, as text."""

    def render(self, task: bars.Task) -> Text:
        """Return the text for this moment."""
        return Text(status(seconds=task.elapsed or 0.0, **task.fields), no_wrap=True)


def default_progress() -> Progress:
    """Return a progress for whoever did not give one: seen on a terminal, else silent."""
    if sys.stderr is not None and sys.stderr.isatty():
        return TerminalProgress()
    return SilentProgress()


def status(*, tasks_done: int, tasks: int, rows_done: int, rows: int, seconds: float) -> str:
    """Say how far the work is.

    >>> status(tasks_done=1, tasks=4, rows_done=5_000_000, rows=20_000_000, seconds=4.0)
    '1/4 tasks, 1.2M rows/s, 0:00:04, 0:00:12 left'
    >>> status(tasks_done=0, tasks=4, rows_done=0, rows=20_000_000, seconds=4.0)
    '0/4 tasks, 0:00:04'
    """
    parts = [f"{tasks_done}/{tasks} tasks"]
    per_second = rows_done / seconds if seconds > 0 else 0.0
    if per_second > 0:
        parts.append(f"{_short(per_second)} rows/s")
    parts.append(_clock(seconds))
    if per_second > 0:
        parts.append(f"{_clock((rows - rows_done) / per_second)} left")
    return ", ".join(parts)


def _short(number: float) -> str:
    for unit, letter in _UNITS:
        if number >= unit:
            return f"{number / unit:.1f}{letter}"
    return f"{number:.0f}"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))

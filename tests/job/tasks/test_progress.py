"""What is seen of progress."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from arctic.job.tasks.progress import SilentProgress, TerminalProgress, default_progress, status


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _console(width: int = 100) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)


def _shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_line_says_title_and_tasks() -> None:
    """The title as it is, though rich has a markup of its own."""
    console = _console()
    progress = TerminalProgress(console)

    progress.begin("optimize [db.t]", tasks=40, rows=1000)
    progress.advance(tasks=3, rows=75)
    progress.end()

    assert "optimize [db.t]" in _shown(console)
    assert "3/40 tasks" in _shown(console)
    assert "rows/s" in _shown(console)


def test_nothing_stays_at_the_end() -> None:
    """The last thing that is sent clears the line and shows the cursor again."""
    console = _console()
    progress = TerminalProgress(console)

    progress.begin("t", tasks=1, rows=1)
    progress.end()

    assert _shown(console).rstrip("\r\n").endswith("\x1b[2K")
    assert "\x1b[?25h" in _shown(console)


def test_output_of_the_program_is_not_diverted() -> None:
    """What is printed meanwhile may be piped."""
    before = sys.stdout
    progress = TerminalProgress(_console())

    progress.begin("t", tasks=1, rows=1)
    during = sys.stdout
    progress.end()

    assert during is before


def test_tasks_without_rows_have_a_bar_too() -> None:
    """It then follows the tasks: half of them is half of the bar."""
    console = _console()
    progress = TerminalProgress(console)

    progress.begin("t", tasks=2, rows=0)
    progress.advance(tasks=1, rows=0)
    progress.end()

    assert "1/2 tasks" in _shown(console)
    assert "━" * 20 in _shown(console)


def test_it_can_be_used_again_and_ended_twice() -> None:
    """One progress serves all steps of a job; a failure may end it on several levels."""
    progress = TerminalProgress(_console())

    for _ in range(2):
        progress.begin("t", tasks=1, rows=1)
        progress.advance(tasks=1, rows=1)
        progress.end()
        progress.end()


@pytest.mark.parametrize(
    ("rows_done", "seconds", "expected"),
    [
        (0, 0.0, "1/4 tasks, 0:00:00"),
        (100, 10.0, "1/4 tasks, 10 rows/s, 0:00:10, 0:00:30 left"),
        (400, 0.1, "1/4 tasks, 4.0k rows/s, 0:00:00, 0:00:00 left"),
        (100, 7200.0, "1/4 tasks, 0 rows/s, 2:00:00, 6:00:00 left"),
    ],
)
def test_times_follow_the_rows(rows_done: int, seconds: float, expected: str) -> None:
    """A task of few rows says little about what is left."""
    text = status(tasks_done=1, tasks=4, rows_done=rows_done, rows=400, seconds=seconds)

    assert text == expected


def test_progress_is_seen_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log file full of bars helps nobody."""
    monkeypatch.setattr(sys, "stderr", _Terminal())
    assert isinstance(default_progress(), TerminalProgress)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(default_progress(), SilentProgress)
    monkeypatch.setattr(sys, "stderr", None)
    assert isinstance(default_progress(), SilentProgress)

"""The examples run as they are, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_the_change_stream_equals_a_dictionary() -> None:
    """Inserts, updates and deletes of the same accounts over several commits."""
    outcome = _run("examples/change_stream.py")

    assert outcome.returncode == 0, outcome.stderr
    assert "equal to the dictionary: True" in outcome.stdout


def test_three_layers_follow_each_other_window_by_window() -> None:
    """Late rows and a writer that lags: no window twice, none too early."""
    outcome = _run("-m", "examples.windows")

    assert outcome.returncode == 0, outcome.stderr + outcome.stdout
    assert "windows that were worked on: 10 of them twice: 0" in outcome.stdout
    assert "equal to the counts over all clicks at once: True" in outcome.stdout


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_proves_itself_on_few_weeks() -> None:
    """Load, upsert, delete, optimize: four readings are compared with DuckDB row by row."""
    outcome = _run("-m", "examples.demo", "--load", "1", "--weeks", "3")

    assert outcome.returncode == 0, outcome.stderr[-4_000:]
    assert outcome.stdout.count(" equal ") == 4
    assert "Every row equals what DuckDB computes" in outcome.stdout


@pytest.mark.parametrize("weeks", ["2", "54"])
def test_the_demo_refuses_weeks_that_the_year_has_not(weeks: str) -> None:
    """A wrong argument is a usage error, before Spark starts."""
    outcome = _run("-m", "examples.demo", "--load", "1", "--weeks", weeks)

    assert outcome.returncode == 2
    assert "WEEKS <= 53" in outcome.stderr

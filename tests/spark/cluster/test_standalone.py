"""On a cluster every verb gives the same rows, also where an executor dies or a task runs twice."""

from __future__ import annotations

import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE_SECONDS = 280
BARE = """#!/bin/sh
PYTHONPATH="$PYTHONPATH:{packages}" exec "{python}" -S "$@"
"""
"""A Python with all packages but those that are installed by a link to their sources."""


def run(programs: str, master: str, folder: Path, *, python: str = sys.executable) -> list[str]:
    """Run programs in a driver of their own; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.cluster.driver", programs, master, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, "PYSPARK_PYTHON": python},
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4_000:]
    return done.stdout.splitlines()


def test_every_verb_by_two_workers(master: str, tmp_path: Path) -> None:
    """And with a task that hangs and is begun a second time: no row is doubled."""
    done = run("verbs,speculation", master, tmp_path)

    assert done == ["upsert", "delete, merge", "optimize, stream", "second attempt"]


def test_an_executor_that_dies_costs_no_row(master: str, tmp_path: Path) -> None:
    """In the middle of a save, of one that looks keys up, of optimizing, of a stream's batch."""
    assert run("kills", master, tmp_path) == ["save", "look-up", "optimize", "stream"]


def test_workers_that_lack_the_package_get_it_as_a_file(master: str, tmp_path: Path) -> None:
    """Before that each write and read is one error, which says how."""
    python = tmp_path / "python3"
    python.write_text(BARE.format(packages=site.getsitepackages()[0], python=sys.executable))
    python.chmod(0o755)
    *errors, last = run("bare", master, tmp_path, python=str(python))

    assert len(errors) == 2
    assert all("has no package arctic; " in error for error in errors)
    assert all("addPyFile(arctic.package_zip(" in error for error in errors)
    assert last == "sent"

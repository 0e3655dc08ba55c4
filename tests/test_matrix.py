"""The parts of ``make matrix`` that need neither the network nor another environment."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

from benchmarks.matrix.__main__ import NOT_HERE, WORKS, Outcome, interpreter, table
from benchmarks.matrix.cells import PYTHONS, SHOWN, Cell, cells, oldest, read_project

PROJECT = read_project()


def test_every_end_of_what_is_allowed_has_a_cell() -> None:
    """The oldest Python with each oldest dependency, and the Pythons that are named."""
    tried = cells(PROJECT["dependencies"])
    least = oldest(PROJECT["dependencies"])

    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert [cell.python for cell in tried if not cell.pins][: len(PYTHONS)] == list(PYTHONS)
    assert tried[-1].pins == tuple(least.values())
    assert len(least) == len(PROJECT["dependencies"])
    assert {name for name in SHOWN if name != "pandas"} <= least.keys()
    assert oldest(["a.b[x]>=1.2,<2; python_version < '3.11'"]) == {
        "a-b": 'a.b==1.2; python_version < "3.11"'
    }


def test_what_is_not_here_is_listed() -> None:
    """With the Python that was looked for, and no versions."""
    versions = {"python": "3.12.1", **dict.fromkeys(SHOWN, "1.0")}
    outcomes = [
        Outcome(cell=Cell(about="Python 3.12", python="3.12"), said=WORKS, versions=versions),
        Outcome(cell=Cell(about="Python 9.9", python="9.9"), said=NOT_HERE, versions={}),
    ]
    lines = table(outcomes, datetime.date(2026, 1, 2)).splitlines()

    assert lines[0] == "Tried on 2026-01-02."
    assert lines[4] == "| Python 3.12 | 3.12.1 | 1.0 | 1.0 | 1.0 | 1.0 | 1.0 | works |"
    assert lines[5] == "| Python 9.9 | 9.9 |  |  |  |  |  | not here |"
    assert interpreter("9.9") is None


def test_a_python_is_found_by_its_version() -> None:
    """One that says to be of it."""
    found = interpreter("{}.{}".format(*sys.version_info))

    assert found is None or Path(found).name == "python{}.{}".format(*sys.version_info)

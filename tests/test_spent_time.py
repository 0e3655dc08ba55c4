"""What a run of the tests says of its own time."""

from __future__ import annotations

import pytest

from tests.spent_time import LINES, spent_by_file, told


def _report(where: str, seconds: float) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=where,
        location=(where, None, where),
        keywords={},
        outcome="passed",
        longrepr=None,
        when="call",
        duration=seconds,
    )


def test_tests_of_a_file_are_added_up() -> None:
    """With what they need before and after; whatever else a run reports has no time."""
    reports = [
        _report("tests/job/test_a.py::test_one", 2.0),
        _report("tests/job/test_a.py::test_two[x::y]", 1.0),
        _report("tests/job/test_b.py::test_one", 1.0),
        "a warning",
    ]

    assert spent_by_file(reports) == {"tests/job/test_a.py": 3.0, "tests/job/test_b.py": 1.0}


def test_the_dearest_folders_stand_beside_the_dearest_files() -> None:
    """Each with its share of the whole, and no more lines than are read."""
    seconds = {f"tests/many/test_{each}.py": 1.0 for each in range(LINES)}
    lines = list(told({**seconds, "tests/few/test_long.py": 86.0}))

    assert len(lines) == LINES
    assert lines[0].split() == [
        *("86", "s", "86%", "tests/few"),
        *("86", "s", "86%", "tests/few/test_long.py"),
    ]
    assert lines[1].split()[:4] == ["14", "s", "14%", "tests/many"]

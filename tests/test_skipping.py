"""A skipped test is not a pass: under CI=true it fails the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test file that leaves something out."""

    id: str
    source: str
    ci_code: int
    """Exit code of pytest under CI=true; it is 0 or 5 (nothing collected) without."""


CASES = [
    Case(id="skip call", source="def test_a(): pytest.skip('no java')", ci_code=1),
    Case(id="skip mark", source="@pytest.mark.skip(reason='later')\ndef test_a(): pass", ci_code=1),
    Case(id="missing import", source="pytest.importorskip('no_such_module')", ci_code=2),
    Case(
        id="expected failure",
        source="@pytest.mark.xfail(reason='known')\ndef test_a(): assert False",
        ci_code=0,
    ),
    Case(id="pass", source="def test_a(): pass", ci_code=0),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_left_out_fails_under_ci(
    case: Case, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An expected failure ran, so it stays what it is."""
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(f"import pytest\n{case.source}")

    monkeypatch.setenv("CI", "true")
    assert pytester.runpytest_inprocess().ret == case.ci_code
    monkeypatch.setenv("CI", "")
    assert pytester.runpytest_inprocess().ret in (0, 5)

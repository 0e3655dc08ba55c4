"""A skipped test is not a pass: under CI=true it fails the run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest


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
def test_what_is_left_out_fails_under_ci(case: Case, tmp_path: Path) -> None:
    """An expected failure ran, so it stays what it is."""
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(f"import pytest\n{case.source}\n", encoding="utf-8")

    assert _pytest(tmp_path, ci="true") == case.ci_code
    assert _pytest(tmp_path, ci="") in (0, 5)


def _pytest(folder: Path, *, ci: str) -> int:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env={**os.environ, "CI": ci},
        capture_output=True,
        check=False,
    ).returncode

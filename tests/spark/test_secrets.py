"""Spark writes no secret anywhere: plans, event log, page, checkpoint, files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MARK = "M4RKERs3cret"


@pytest.mark.spark
def test_nothing_that_spark_writes_holds_a_secret(tmp_path: Path) -> None:
    """Every option of a catalog that may hold a secret reaches Spark under a name that it hides."""
    (tmp_path / "events").mkdir()

    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.secret_driver", str(tmp_path), MARK],
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr[-3000:]
    assert "(redacted)" in done.stdout
    assert MARK not in done.stdout
    assert MARK not in done.stderr
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.is_relative_to(tmp_path / "events") for path in written)
    assert [path for path in written if MARK.encode() in path.read_bytes()] == []

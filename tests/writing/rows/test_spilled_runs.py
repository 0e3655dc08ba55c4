"""Rows that wait on local disk, and what becomes of it when the disk does not keep them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from arctic.errors import StorageError
from arctic.writing.rows.runs import merge_runs
from arctic.writing.rows.spilled_runs import SpilledRuns

ROWS = pa.table({"id": pa.array([3, 1, 2], pa.int64())})


def test_what_somebody_removed_meanwhile_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As services do that clean a folder for temporary files while a write runs for hours."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runs = SpilledRuns(["id"], ROWS.schema)
    for number in range(3):
        runs.add(ROWS.slice(number, 1))
    waiting = sorted(tmp_path.glob("*/*.arrow"))
    waiting[0].unlink()

    with pytest.raises(StorageError, match=r"cannot be read back from local disk: .*TMPDIR"):
        list(merge_runs(runs.runs()))

    runs.close()
    assert not list(tmp_path.iterdir())

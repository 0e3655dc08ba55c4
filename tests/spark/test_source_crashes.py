"""The driver of a stream is killed at any moment: what it has told by then is the table."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.spark.lake import Lake

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parent.parent.parent
KILLS = 2
MAX_COMMITS = 10
"""Between two kills, so that a slow machine is not left with ever more to read."""
PATIENCE_SECONDS = 240


@contextmanager
def following(lake: Lake, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Follow the table in a process group of its own, which is killed at the end."""
    with said_by(folder).open("ab") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.follow_stream", lake.warehouse, str(folder)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        # With it go the JVM and Spark's workers, as when a machine fails.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def said_by(folder: Path) -> Path:
    """Return the file of what followers say when they fail."""
    return folder.with_suffix(".log")


def batches(folder: Path) -> list[Path]:
    """Return the micro-batches so far, in their order."""
    return sorted(folder.glob("*.json"))


def change(lake: Lake, draw: random.Random, model: dict[int, tuple[object, ...]]) -> None:
    """Upsert or delete some rows, and sometimes optimize."""
    ids = draw.sample(range(20), 4)
    if draw.random() < 0.3:
        lake.put([(number, "eu", 0.0) for number in ids], mode="delete")
        for number in ids:
            model.pop(number, None)
    else:
        rows = [(number, draw.choice(["eu", "us"]), float(draw.randrange(99))) for number in ids]
        lake.put(rows)
        model.update({row[0]: row for row in rows})
    if draw.random() < 0.2:
        lake.table().optimize(type="major")


def test_a_killed_driver_loses_and_repeats_nothing(lake: Lake, tmp_path: Path) -> None:
    """Batches of later runs follow those of earlier ones; one that runs again is the same again."""
    lake.create(partition_by=["region"])
    draw, model = random.Random(11), dict[int, tuple[object, ...]]()
    folder = tmp_path / "told"
    folder.mkdir()
    for _ in range(KILLS):
        told, commits = len(batches(folder)), 0
        deadline = time.monotonic() + PATIENCE_SECONDS
        with following(lake, folder) as process:
            while len(batches(folder)) < told + draw.randint(1, 2):
                assert process.poll() is None, said_by(folder).read_text()[-4000:]
                assert time.monotonic() < deadline
                if commits < MAX_COMMITS:
                    change(lake, draw, model)
                    commits += 1
                time.sleep(draw.random() / 2)
            time.sleep(draw.random())
    (folder / "end").touch()
    with following(lake, folder) as process:
        code = process.wait(timeout=PATIENCE_SECONDS)
        assert code == 0, said_by(folder).read_text()[-4000:]

    rows: dict[int, tuple[object, ...]] = {}
    for batch in batches(folder):
        for event in json.loads(batch.read_text()):
            rows.pop(event[0], None)
            if event[-1] in ("+I", "+U"):
                rows[event[0]] = tuple(event[:3])
    assert not (folder / "fault").exists()
    assert rows == model
    assert sorted(rows.values()) == lake.arrow_rows()

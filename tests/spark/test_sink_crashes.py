"""A driver is killed again and again; the table still is the sum of all events."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from tests.spark.lake import NAME, SCHEMA

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES = 6
ROUNDS = 2
LONGEST_LIFE_SECONDS = 4.0
PATIENCE_SECONDS = 300


def events(number: int) -> list[tuple[int, str, float]]:
    """Return the rows of one file: keys that others have too, and some of its own."""
    shared = [(key, "eu", float(number)) for key in range(10)]
    return shared + [(1000 * (number + 1) + key, "us", float(number)) for key in range(40)]


def begun_batches(folder: Path) -> int:
    """Return how many batches the query has begun in all of its lives."""
    return len(list((folder / "checkpoint" / "offsets").glob("[0-9]*")))


def run_driver(folder: Path, mode: str, *, life_seconds: float | None, least: int = 0) -> bool:
    """Start a driver and kill it; say if it had ended.

    Args:
        folder: of its source, its checkpoint and its table.
        mode: of the write.
        life_seconds: from when it has begun so many batches; None: it lives until it ends.
        least: how many batches it begins in any case.
    """
    command = [sys.executable, "-m", "tests.spark.stream_driver", str(folder), mode]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert driver.stdout is not None
    try:
        assert driver.stdout.readline() == "started\n"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while begun_batches(folder) < least and driver.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        driver.wait(PATIENCE_SECONDS if life_seconds is None else life_seconds)
    except subprocess.TimeoutExpired:
        pass
    finally:
        ended = driver.poll() is not None
        if not ended:
            # The JVM and its Python workers too: the group is this driver's own.
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        driver.stdout.close()
    return ended


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_killed_driver_loses_and_doubles_nothing(tmp_path: Path, mode: str) -> None:
    """Whatever it was doing; an append would show every row that lands twice."""
    warehouse = str(tmp_path / "warehouse")
    arctic.create_table(NAME, SCHEMA, primary_key=["id"], warehouse=warehouse)
    (tmp_path / "source").mkdir()
    model: list[tuple[int, str, float]] = []
    for number in range(FILES):
        columns = [list(column) for column in zip(*events(number), strict=True)]
        path = tmp_path / "source" / f"{number:03d}.parquet"
        pq.write_table(pa.table(columns, schema=SCHEMA), path)
        os.utime(path, (time.time() + number,) * 2)  # Spark takes the oldest first.
        model += events(number)
    draw = random.Random(mode)
    # The first is killed in the midst of its work, however fast it is; the others at any time.
    assert not run_driver(tmp_path, mode, life_seconds=0, least=draw.randint(1, FILES // 2))
    for _ in range(ROUNDS - 1):
        run_driver(tmp_path, mode, life_seconds=draw.uniform(0, LONGEST_LIFE_SECONDS))
    assert run_driver(tmp_path, mode, life_seconds=None)
    if mode == "upsert":
        model = list({row[0]: row for row in model}.values())
    rows = arctic.read(NAME, warehouse=warehouse).read_all().to_pylist()
    snapshots = arctic.open_table(NAME, warehouse=warehouse).inspect("snapshots").num_rows
    # Mostly one batch a file; a source that dies between its own log and the query's offsets gives
    # its file to the next batch.
    batches = begun_batches(tmp_path)

    assert sorted(tuple(row.values()) for row in rows) == sorted(model)
    assert snapshots == batches
    assert batches >= FILES - ROUNDS

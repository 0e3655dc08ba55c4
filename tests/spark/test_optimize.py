"""Optimizing on a cluster: the same rows and numbers as in this process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from tests.spark.lake import NAME, Lake

pytestmark = pytest.mark.spark

_VARIES = {"snapshot_id", "seconds", "tasks", "bytes_written", "after"}
"""File sizes differ by the digits of random names."""
WITHOUT_JVM = """
import os
import sys
import arctic
from arctic.errors import StorageError

session = arctic.local_session(master="local[1]", conf={"spark.log.level": "OFF"})

def hear(event, **facts):
    print(event, facts.get("what"), flush=True)
    if event == "found":
        session.sparkContext._gateway.proc.kill()

serve = {"groups": {"default": 1}, "executors": {"default": "spark"}, "spark": session}
try:
    arctic.serve(**serve, say=hear, warehouse=sys.argv[1])
except StorageError as error:
    print(error, flush=True)
os._exit(0)
"""


def _changed(lake: Lake) -> list[tuple[Any, ...]]:
    """Make a table with changes of both kinds, in nodes that are stated; return its rows."""
    nodes = {"base.file-index.hash-bucket": "4", "change.file-index.hash-bucket": "4"}
    lake.create(partition_by=["region"], properties={"self-optimizing.target-size": "800", **nodes})
    lake.put([(number, "eu", float(number)) for number in range(20)])
    arctic.optimize(NAME, type="minor", warehouse=lake.warehouse)
    lake.put([(number, "us" if number == 3 else "eu", -1.0) for number in range(2, 6)])
    lake.put([(7, "eu", 0.0)], "delete")
    return lake.arrow_rows()


@pytest.mark.parametrize("kind", ["minor", "full"])
def test_a_cluster_does_what_this_process_does(lake: Lake, tmp_path: Path, kind: str) -> None:
    """The same files counted alike, from the same state."""
    rows = _changed(lake)
    before = tmp_path / "before"
    shutil.copytree(lake.warehouse, before)

    here = arctic.optimize(NAME, type=kind, warehouse=lake.warehouse)
    assert lake.arrow_rows() == rows
    shutil.rmtree(lake.warehouse)
    shutil.copytree(before, lake.warehouse)
    there = arctic.optimize(NAME, type=kind, spark=lake.spark, warehouse=lake.warehouse)

    assert lake.rows() == lake.arrow_rows() == rows
    assert [row[:3] for row in lake.rows(store="base")] == rows
    for name in {field.name for field in fields(here)} - _VARIES:
        assert getattr(here, name) == getattr(there, name), name
    assert here.after.base.files == there.after.base.files
    assert here.after.base.rows == there.after.base.rows


def test_a_write_through_spark_optimizes_when_it_is_due(lake: Lake) -> None:
    """Twelve files are; the rows are in base then, and a reader sees no difference."""
    lake.create(properties={"self-optimizing.minor.trigger.file-count": "12"})
    rows = [(number, "eu", float(number)) for number in range(40)]
    lake.save(lake.frame(rows), "upsert", optimize="auto")
    lake.save(lake.frame(rows), "upsert", optimize="auto")

    status = arctic.status(NAME, warehouse=lake.warehouse)
    (partition,) = status.partitions
    assert partition.merged_up_to > 0
    assert status.due is None
    assert lake.rows() == lake.arrow_rows() == rows


def test_a_service_may_let_the_cluster_do_its_tasks(lake: Lake) -> None:
    """Each is a job of its own."""
    rows = _changed(lake)
    due = {
        "self-optimizing.minor.trigger.file-count": "2",
        "self-optimizing.min-plan-interval": "0",
    }
    arctic.set_properties(NAME, due, warehouse=lake.warehouse)
    said: list[tuple[str, dict[str, object]]] = []

    arctic.serve(
        once=True,
        groups={"default": 2},
        executors={"default": "spark"},
        spark=lake.spark,
        say=lambda event, **facts: said.append((event, facts)),
        warehouse=lake.warehouse,
    )

    assert "optimized" in [event for event, _ in said]
    assert "failed" not in [event for event, _ in said]
    assert lake.rows() == lake.arrow_rows() == rows


def test_tasks_of_many_tables_share_one_session(lake: Lake) -> None:
    """As many at a time as the group has slots, each a job of its own, and nothing is left."""
    keys = pa.table({"id": pa.array(range(50), pa.int64())})
    names = [f"shop.many{number}" for number in range(8)]
    due = {
        "self-optimizing.minor.trigger.file-count": "2",
        "self-optimizing.min-plan-interval": "0",
    }
    for name in names:
        arctic.create_table(
            name, keys.schema, primary_key=["id"], properties=due, warehouse=lake.warehouse
        )
        for _ in range(2):
            arctic.write(name, keys, mode="upsert", warehouse=lake.warehouse)
    said: list[tuple[str, Any]] = []

    arctic.serve(
        once=True,
        groups={"default": 3},
        executors={"default": "spark"},
        spark=lake.spark,
        say=lambda event, **facts: said.append((event, facts.get("table"))),
        warehouse=lake.warehouse,
    )

    assert sorted(table for event, table in said if event == "optimized") == names
    assert not [event for event, _ in said if event == "failed"]
    assert not lake.spark.sparkContext.statusTracker().getActiveJobsIds()
    for name in names:
        assert arctic.read(name, warehouse=lake.warehouse).read_all().num_rows == 50
        assert arctic.status(name, warehouse=lake.warehouse).due is None


def test_a_service_ends_when_its_session_has(lake: Lake) -> None:
    """It would fail at every table for ever; whoever keeps it running begins another."""
    rows = _changed(lake)
    due = {
        "self-optimizing.minor.trigger.file-count": "2",
        "self-optimizing.min-plan-interval": "0",
    }
    arctic.set_properties(NAME, due, warehouse=lake.warehouse)

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_JVM, lake.warehouse],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    said = done.stdout.splitlines()
    assert said[-3:-1] == ["failed running tasks; the service ends", "stopped None"]
    assert said[-1].startswith("arctic service: the Spark session has ended; expected one that")
    assert lake.arrow_rows() == rows

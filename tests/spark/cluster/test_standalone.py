"""On a cluster every verb gives the same rows, also where an executor dies or a task runs twice."""

from __future__ import annotations

import os
import site
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

import arctic
from arctic.errors import StorageError
from tests.spark.cluster import driver
from tests.spark.cluster.driver import SETTINGS
from tests.spark.servers import connect_server

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE_SECONDS = 280
WARM = os.environ.get("PYSPARK_PYTHON", sys.executable)
BARE = """#!/bin/sh
PYTHONPATH="$PYTHONPATH:{packages}" exec "{python}" -S "$@"
"""
"""A Python with all packages but those that are installed by a link to their sources."""


def run(programs: str, master: str, folder: Path, *, python: str | None = None) -> list[str]:
    """Run programs in a driver of their own; return what it printed.

    Its workers run the Python that those of all tests run, unless another one is named.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.cluster.driver", programs, master, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, "PYSPARK_PYTHON": python or WARM},
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


def bare(folder: Path) -> str:
    """Make a Python that lacks the package alone."""
    python = folder / "python3"
    python.write_text(BARE.format(packages=site.getsitepackages()[0], python=sys.executable))
    python.chmod(0o755)
    return str(python)


def test_workers_that_lack_the_package_get_it_as_a_file(master: str, tmp_path: Path) -> None:
    """Before that each write and read is one error, which says how."""
    *errors, last = run("bare", master, tmp_path, python=bare(tmp_path))

    assert len(errors) == 2
    assert all("has no package arctic; " in error for error in errors)
    assert all("addPyFile(arctic.package_zip(" in error for error in errors)
    assert last == "sent"


def test_a_program_is_submitted_with_the_package(master: str, tmp_path: Path) -> None:
    """Neither its driver nor its workers have one of their own."""
    sent, python = arctic.package_zip(tmp_path / "arctic.zip"), bare(tmp_path)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = ("--master", master, "--py-files", sent, "--driver-memory", "700m")
    done = subprocess.run(
        [str(submit), *options, driver.__file__, "submitted", master, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, "PYSPARK_PYTHON": python},
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4_000:]
    assert done.stdout.splitlines()[-1] == "submitted"


def test_a_server_that_lacks_the_package_gets_it_from_a_client(
    master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By addArtifacts, for that session: the server plans and its executors read and write."""
    from pyspark.sql.connect.session import SparkSession as Client  # noqa: PLC0415 - needs grpc

    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # F.col() is a client's
    place = {"warehouse": str(tmp_path / "warehouse"), "primaryKey": "id"}
    settings = {**SETTINGS, "spark.master": master}
    with connect_server(tmp_path, settings, python=bare(tmp_path)) as address:
        spark: Any = Client.builder.remote(address).create()
        frame = spark.range(0, 1_000, 1, 4).selectExpr("id", "id % 3 AS v")
        arctic.register(spark)
        with pytest.raises(StorageError, match=r"has no package arctic; .*addArtifacts\("):
            frame.write.format("arctic").options(**place).mode("upsert").save("db.t")

        spark.addArtifacts(arctic.package_zip(tmp_path / "arctic.zip"), pyfile=True)
        arctic.register(spark)
        frame.write.format("arctic").options(**place).mode("upsert").save("db.t")
        more = frame.where("id >= 990").selectExpr("id + 5 AS id", "9L AS v")
        more.write.format("arctic").options(**place).mode("upsert").save("db.t")
        read = spark.read.format("arctic").option("warehouse", place["warehouse"]).load("db.t")
        found = sorted(tuple(row) for row in read.collect())
        spark.stop()

    expected = {number: number % 3 for number in range(995)} | dict.fromkeys(range(995, 1_005), 9)
    assert found == sorted(expected.items())
    alone = arctic.read("db.t", warehouse=place["warehouse"]).read_all()
    assert sorted(zip(*alone.to_pydict().values(), strict=True)) == found

"""Finding a Java for Spark, with shell scripts in place of Javas."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arctic.errors import StorageError
from arctic.spark.jvm import java
from arctic.spark.jvm.java import ensure_java


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without any Java; returns a folder for some."""
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(java, "_packaged_java", lambda: None)
    return tmp_path


def _fake_java(home: Path, body: str) -> Path:
    """Make a JAVA_HOME whose java is a script."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return script


def test_a_machine_without_java_is_told_what_to_do(bare_machine: Path) -> None:
    """One sentence, with both remedies, instead of the launcher's."""
    with pytest.raises(
        StorageError, match=r"none is on this machine; run `pip install .*JAVA_HOME"
    ):
        ensure_java()


def test_workers_run_the_same_python(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless somebody said otherwise."""
    _fake_java(bare_machine, "echo 'openjdk version \"17.0.1\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(bare_machine))
    ensure_java()

    assert sys.executable == os.environ["PYSPARK_PYTHON"]


@pytest.mark.parametrize("version", ["1.8.0_292", "11.0.20"])
def test_an_old_java_is_refused(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """It would end in a stack of class versions."""
    _fake_java(bare_machine, f"echo 'openjdk version \"{version}\"' >&2")
    monkeypatch.setenv("PATH", str(bare_machine / "bin"), prepend=":")

    with pytest.raises(StorageError, match=r"on the PATH is Java \d+, but Spark 4 needs 17"):
        ensure_java()


def test_a_home_without_java_is_named(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME wins over the PATH, so it must be right."""
    monkeypatch.setenv("JAVA_HOME", str(bare_machine / "nowhere"))

    with pytest.raises(StorageError, match=r"JAVA_HOME = '.*nowhere' is not a Java that runs"):
        ensure_java()


def test_the_java_of_the_wheel_is_run_without_the_vector_module(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's launcher asks for a module that the wheel does not have."""
    script = _fake_java(
        bare_machine / "a wheel",
        'case "$1" in -version) echo \'openjdk version "21"\' >&2;; *) echo "$@";; esac',
    )
    monkeypatch.setattr(java, "_packaged_java", lambda: script)
    monkeypatch.setenv("JAVA_HOME", "")  # Undone at the end of the test, unlike a deletion.
    monkeypatch.setenv("PATH", f"{bare_machine / 'empty'}:/bin:/usr/bin")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    ensure_java()
    wrapper = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    done = subprocess.run(
        [wrapper, "-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "-Xmx1g -cp a b\n"

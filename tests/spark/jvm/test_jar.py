"""The jar of our classes: made once, whoever asks for it, and found in any session."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import arctic
from arctic.spark.base.private_names import jvm
from arctic.spark.jvm.compiled import compiled, takes_names
from arctic.spark.jvm.install_catalog import CATALOG_CLASS
from arctic.spark.jvm.jar import cache_folder, jar_of, make_jar, sources
from tests.house import LONG


@pytest.mark.spark
def test_a_jar_is_made_once_and_whole(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it cannot be kept, in a folder of this process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = jar_of(jvm(spark))

    assert made.parent == cache_folder() == tmp_path / "arctic"
    assert [each.name for each in made.parent.iterdir()] == [made.name]
    with zipfile.ZipFile(made) as jar:
        classes = set(jar.namelist())
    assert f"{CATALOG_CLASS.replace('.', '/')}.class" in classes
    assert {f"arctic/spark/{name}.class" for name in sources() if "/" not in name} <= classes
    changed = os.stat(made).st_mtime_ns
    assert jar_of(jvm(spark)) == made
    assert os.stat(made).st_mtime_ns == changed
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    elsewhere = jar_of(jvm(spark))
    assert elsewhere.read_bytes() == made.read_bytes()
    elsewhere.unlink()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", _homeless)
    assert jar_of(jvm(spark)).read_bytes() == made.read_bytes()


@pytest.mark.spark
def test_a_jar_without_the_catalog_is_not_kept(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """This process has it, once; the next tries again, and settings that need it are refused."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    broken = {**sources(), "catalog/ArcticCatalog": "package arctic.spark.catalog; class {"}
    monkeypatch.setattr("arctic.spark.jvm.jar.sources", lambda: broken)
    made = jar_of(jvm(spark))

    assert not list(tmp_path.iterdir())
    assert jar_of(jvm(spark)) == made
    assert "catalog cannot be compiled" in caplog.text
    with pytest.raises(arctic.UnsupportedError, match="written for"):
        make_jar()


@pytest.mark.spark
def test_jars_that_nobody_uses_go(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When another one is made; one that is used is not old."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("arctic.spark.jvm.jar._ours", {})
    folder = tmp_path / "arctic"
    folder.mkdir()
    names = ("arctic-spark-0a.jar", ".arctic-spark-0b.jar.x", "arctic-spark-0c.jar", "notes.jar")
    for name in names:
        (folder / name).touch()
    for name in (names[0], names[1], names[3]):
        os.utime(folder / name, (0, 0))
    made = jar_of(jvm(spark))

    assert sorted(each.name for each in folder.iterdir()) == sorted([made.name, *names[2:]])
    os.utime(made, (0, 0))
    jar_of(jvm(spark))
    assert os.stat(made).st_mtime > 0


def test_each_file_of_java_is_read_at_once() -> None:
    """As those of Python are; what is longer has two subjects."""
    lines = {name: text.count("\n") for name, text in sources().items()}

    assert {name: count for name, count in lines.items() if count > LONG} == {}


def _homeless() -> Path:
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.spark
def test_spark_finds_our_classes_by_their_names(spark: SparkSession) -> None:
    """Which the configuration of a catalog needs."""
    assert takes_names(jvm(spark))
    assert compiled(jvm(spark)).loadClass(CATALOG_CLASS).getName() == CATALOG_CLASS


@pytest.mark.spark
def test_the_jar_is_made_without_a_session_too(spark: SparkSession) -> None:
    """For a Spark that is to begin with it."""
    assert make_jar() == jar_of(jvm(spark))

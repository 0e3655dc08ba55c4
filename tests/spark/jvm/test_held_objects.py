"""What this process holds of the JVM does not grow with the number of statements."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from arctic.spark.jvm import held_objects
from arctic.spark.jvm.held_objects import HeldObjects, held


@pytest.fixture
def no_collector() -> Iterator[None]:
    """As in a process that makes nothing that lasts: Python does not collect by itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.spark
@pytest.mark.usefixtures("no_collector")
def test_statements_that_write_leave_no_frames_behind(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes a hundred objects, whose circles nobody else breaks."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path))
    monkeypatch.setattr(held_objects, "MOST_MORE", 150)
    monkeypatch.setattr(held_objects, "_REST", 0)
    spark.sql("CREATE TABLE arctic.shop.t (id BIGINT, PRIMARY KEY (id))")
    before = held()
    for number in range(8):
        spark.sql(f"INSERT OVERWRITE arctic.shop.t VALUES ({number})")
    assert held() - before < 450


def test_what_was_collected_meanwhile_is_not_waited_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a process that held much once would hold as much again before a collection."""
    there = [0]
    collected: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: collected.append(there[0]))
    monkeypatch.setattr(held_objects, "_REST", 0)
    monkeypatch.setattr(held_objects, "held", lambda: there[0])
    objects = HeldObjects()
    for there[0] in (9_000, 20, 1_000, 1_020):
        objects.let_go()
    assert collected == [9_000, 1_020]


def test_a_collection_that_takes_long_is_followed_by_a_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that going through a large process takes a twentieth of its time at most."""
    now: list[float] = [0.0]
    collected: list[float] = []

    def collect() -> None:
        collected.append(now[0])
        now[0] += 2

    monkeypatch.setattr(gc, "collect", collect)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(held_objects, "held", lambda: int(5_000 * now[0]))
    objects = HeldObjects()
    for now[0] in (10.0, 20.0, 51.0, 53.0):
        objects.let_go()
    assert collected == [10.0, 53.0]


def test_few_objects_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that holds many by itself is not gone through again and again."""
    counts = iter([900, 1_500, 1_400, 2_300, 2_500, 2_400])
    collected: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: collected.append(0))
    monkeypatch.setattr(held_objects, "_REST", 0)
    monkeypatch.setattr(held_objects, "held", lambda: next(counts))
    objects = HeldObjects()
    for _ in range(4):
        objects.let_go()
    assert len(collected) == 2

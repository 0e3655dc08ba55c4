"""Dead rows that are looked up before they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.columns.integers.row_set import RowSet
from arctic.errors import StorageError
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.engine_scan import begin_engine_scan
from arctic.job.read.engine_work import engine_work
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.job.vectors import deletion_vectors
from arctic.job.vectors.vector_work import VectorWork, look_up
from arctic.spark.base.handed_on import work_texts
from arctic.spark.jvm.vectors_ahead import VectorsAhead
from tests.factories.engines import ABLE


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """What asks for the dead rows of a table with a row that was changed."""
    place = str(tmp_path)
    arctic.create_table("a.t", pa.schema([("id", pa.int64())]), primary_key=["id"], warehouse=place)
    arctic.write("a.t", pa.table({"id": [1, 2, 3]}), mode="overwrite", warehouse=place)
    arctic.write("a.t", pa.table({"id": [2]}), mode="delete", warehouse=place)
    scan = begin_engine_scan(
        AskedRead.of({"path": "a.t", "read.deletion-vector.min-rows": "1", "warehouse": place}),
        columns=["id"],
        engine=replace(ABLE, own_columns=frozenset()),
        filter_for=lambda _: None,
        unreached=lambda _: None,
    )
    work = engine_work(scan)
    assert work is not None
    return work_texts(work)


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that looked something up."""
    threads: list[str] = []

    def watched(work: VectorWork) -> list[RowSet]:
        threads.append(threading.current_thread().name)
        return look_up(work)

    monkeypatch.setattr(deletion_vectors, "look_up", watched)
    return threads


def rows_of(dead: list[RowSet]) -> list[int]:
    """Return how many rows of each file are dead."""
    return [int(bin(int.from_bytes(rows.to_bytes(), "little")).count("1")) for rows in dead]


def test_a_command_has_rows_looked_up_while_it_is_planned(
    texts: list[str], looked_up: list[str]
) -> None:
    """Once, however often it plans; a query that may only be explained has none."""
    ahead = VectorsAhead()
    ahead.planned(texts)
    assert looked_up == []
    with ahead.during_command():
        ahead.planned(texts)
        ahead.planned(texts)
        assert rows_of(ahead.dead_rows(texts, LocalRunner(1))) == [1]
    ahead.planned(texts)
    assert rows_of(ahead.dead_rows(texts, LocalRunner(1))) == [1]
    assert len(looked_up) == 1


def test_more_than_this_process_looks_up_is_left_to_the_runner(
    texts: list[str], looked_up: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tasks begin when the rows are asked for."""
    monkeypatch.setattr(deletion_vectors, "FEW_ROWS", 0)
    ahead = VectorsAhead()
    with ahead.during_command():
        ahead.planned(texts)
        settled(ahead, texts)
        assert looked_up == []
        assert rows_of(ahead.dead_rows(texts, LocalRunner(1))) == [1]


def test_a_failure_is_told_to_who_asks(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that passes is never told."""
    failures: list[Any] = [StorageError("away"), StorageError("gone"), None]

    def failing(work: VectorWork) -> list[RowSet]:
        failure = failures.pop(0)
        if failure is not None:
            raise failure
        return look_up(work)

    monkeypatch.setattr(deletion_vectors, "look_up", failing)
    ahead = VectorsAhead()
    with ahead.during_command():
        ahead.planned(texts)
        settled(ahead, texts)
        with pytest.raises(StorageError, match="gone"):
            ahead.dead_rows(texts, LocalRunner(1))
        assert rows_of(ahead.dead_rows(texts, LocalRunner(1))) == [1]


def settled(ahead: VectorsAhead, texts: list[str]) -> None:
    """Wait for what has begun."""
    begun: dict[tuple[str, ...], Any] = ahead._begun
    wait: Callable[[], Any] | None = getattr(begun.get(tuple(texts)), "result", None)
    if wait is not None:
        wait()

"""Dead rows of files: found, remembered, forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.iceberg.tables.open_table import open_table
from arctic.job.read.asked_read import AskedRead, ReadSettings
from arctic.job.read.plan_rows import merge_request
from arctic.job.read.scan_job import scan_opened
from arctic.job.reference import parse_reference
from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import LocalRunner, Progress, Task
from arctic.job.vectors import deletion_vectors
from arctic.job.vectors.deletion_vectors import DeletionVectors
from arctic.job.vectors.vector_work import VectorWork
from arctic.mor.files.kept_keys import KEPT_KEYS
from arctic.scan.scan_input import SetApart

NAME = "db.t"
SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("value", pa.int64())])


class Watched:
    """A runner that remembers what it ran."""

    parallelism = 3

    def __init__(self) -> None:
        self.tasks: list[VectorWork] = []

    def run(
        self,
        work: Callable[[Any], Any],
        tasks: Sequence[Task[Any]],
        *,
        title: str,
        progress: Progress,
    ) -> list[Any]:
        """Run in threads."""
        self.tasks += [task.value for task in tasks]
        return LocalRunner(2).run(work, tasks, title=title, progress=SilentProgress())

    @property
    def delete_files(self) -> int:
        """How many were looked up, each in the files of a node."""
        return sum(len(work.tasks[0].change_deletes) for work in self.tasks)


@pytest.fixture
def table(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a table with a few changes; all work goes to the runner."""
    monkeypatch.setattr(deletion_vectors, "FEW_ROWS", -1)
    warehouse = str(tmp_path)
    arctic.create_table(NAME, SCHEMA, primary_key=("id",), warehouse=warehouse)
    put(warehouse, range(1_000), "overwrite")
    put(warehouse, range(0, 1_000, 7), "upsert")
    put(warehouse, range(0, 1_000, 11), "delete")
    return warehouse


def put(warehouse: str, ids: range, mode: str) -> None:
    """Write rows."""
    rows = pa.table([list(ids), list(ids)], schema=SCHEMA)
    arctic.write(
        NAME, rows if mode != "delete" else rows.select(["id"]), mode=mode, warehouse=warehouse
    )


def work_of(warehouse: str) -> VectorWork:
    """Plan the work of a read of everything."""
    options = {"path": NAME, "warehouse": warehouse, "read.deletion-vector.min-rows": "1"}
    reference = parse_reference(options)
    opened = open_table(reference.config, reference.identifier)
    job = scan_opened(opened, AskedRead.of(options), set_apart=SetApart.CLEAN_AND_DIRTY)
    assert job.plan is not None
    assert job.groups == ()
    settings = ReadSettings.of(options, opened.table.properties)
    request = merge_request(opened, settings, schema=pa.schema([]), row_filter=None)
    return VectorWork(tasks=job.plan.dirty_tasks, request=request, io=opened.io)


def whole_work_of(warehouse: str) -> VectorWork:
    """Plan the same of all files, also those that no delete can touch by their bounds."""
    options = {"path": NAME, "warehouse": warehouse}
    reference = parse_reference(options)
    job = scan_opened(open_table(reference.config, NAME), AskedRead.of(options))
    assert job.plan is not None
    tasks = [task for group in job.plan.groups for task in group.tasks]
    return replace(work_of(warehouse), tasks=tuple(tasks))


def live_ids(work: VectorWork, dead: Sequence[Any]) -> list[int]:
    """Return the ids of the rows that are left of dirty files."""
    ids: list[int] = []
    for file, rows in zip(work.files, dead, strict=True):
        column = pq.read_table(file.path.removeprefix("file://"))["id"].to_numpy()
        ids += column[~rows.slice(0, len(column))].tolist()
    return sorted(ids)


def expected(warehouse: str) -> list[int]:
    """Return the ids of the merged view."""
    return sorted(arctic.read(NAME, warehouse=warehouse).read_all()["id"].to_pylist())


def test_rows_that_are_left_are_those_of_a_merge(table: str) -> None:
    """Each file once, in tasks that have about the same number of rows."""
    work, runner = work_of(table), Watched()

    dead = DeletionVectors().dead_rows(work, runner)

    assert live_ids(work, dead) == expected(table)
    files = [file.path for piece in runner.tasks for file in piece.files]
    assert sorted(files) == sorted(file.path for file in work.files)


def test_what_is_known_is_not_looked_up_again(table: str) -> None:
    """After another upsert, only its own deletes are."""
    vectors, runner = DeletionVectors(), Watched()
    vectors.dead_rows(work_of(table), runner)
    all_deletes = runner.delete_files
    runner.tasks.clear()

    vectors.dead_rows(work_of(table), runner)
    assert runner.tasks == []

    put(table, range(0, 1_000, 13), "upsert")
    work = work_of(table)
    dead = vectors.dead_rows(work, runner)
    assert live_ids(work, dead) == expected(table)
    assert 0 < runner.delete_files < all_deletes


def test_who_comes_back_keeps_the_keys(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked up in this process, and by nobody who comes once."""
    monkeypatch.setattr(deletion_vectors, "FEW_ROWS", 2**20)
    KEPT_KEYS.forget()
    vectors = DeletionVectors()
    for times in range(4):
        work = work_of(table)
        dead = vectors.dead_rows(work, LocalRunner(1))
        assert live_ids(work, dead) == expected(table)
        assert bool(KEPT_KEYS.nbytes) == (times > 0)
        put(table, range(times, 1_000, 13), "upsert")
    kept = KEPT_KEYS.nbytes
    vectors.dead_rows(work_of(table), Watched())
    assert KEPT_KEYS.nbytes > kept


def test_files_that_came_after_deletes_have_none_of_them_looked_up(table: str) -> None:
    """So an upsert costs its own deletes, in all files of a node, and no older ones."""
    vectors = DeletionVectors()
    vectors.dead_rows(whole_work_of(table), Watched())
    put(table, range(0, 1_000, 13), "upsert")
    work, later = whole_work_of(table), Watched()

    assert live_ids(work, vectors.dead_rows(work, later)) == expected(table)
    assert {len(each.tasks[0].change_deletes) for each in later.tasks} == {1}


def test_a_state_with_fewer_deletes_is_looked_up_anew(table: str) -> None:
    """What they have killed since is alive there."""
    vectors, runner = DeletionVectors(), Watched()
    before, ids = work_of(table), expected(table)
    put(table, range(500), "delete")
    vectors.dead_rows(work_of(table), runner)

    assert live_ids(before, vectors.dead_rows(before, runner)) == ids


def test_memory_is_bounded(table: str) -> None:
    """What does not fit is forgotten, and looked up again."""
    vectors, runner = DeletionVectors(max_bytes=0), Watched()

    first = vectors.dead_rows(work_of(table), runner)
    runner.tasks.clear()
    second = vectors.dead_rows(work_of(table), runner)

    assert runner.tasks != []
    assert [rows.to_bytes() for rows in first] == [rows.to_bytes() for rows in second]


def test_deletes_that_do_not_fit_are_taken_in_pieces(table: str) -> None:
    """The same rows are dead, whatever memory deletes may take."""
    work = work_of(table)
    tight = replace(work, request=replace(work.request, max_delete_bytes=1))

    wide = DeletionVectors().dead_rows(work, Watched())
    narrow = DeletionVectors().dead_rows(tight, Watched())

    assert [rows.to_bytes() for rows in narrow] == [rows.to_bytes() for rows in wide]
    assert any(np.frombuffer(rows.to_bytes(), np.uint8).any() for rows in wide)

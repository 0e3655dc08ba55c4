"""Reads, writes and optimizing whose state is replaced and expired while they are at work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

import arctic
from arctic.errors import ConflictError, StorageError
from arctic.iceberg.snapshots.pin import pin
from arctic.job.tasks.run_tasks import LocalRunner, Progress, Task
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.write_job import begin_write, work_here
from arctic.job.write.write_task import write_task
from arctic.retry import RetryPolicy
from arctic.table.expire_report import ExpiredKind

T = TypeVar("T")
R = TypeVar("R")

SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("region", pa.string()), ("by", pa.string())]
)
AT_ONCE = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
}


def rows(region: str, by: str) -> pa.Table:
    """Return six rows of one region."""
    return pa.Table.from_pylist(
        [{"id": number, "region": region, "by": by} for number in range(6)], schema=SCHEMA
    )


@pytest.fixture
def table(tmp_path: Path) -> arctic.Table:
    """Return a table whose keys can move between partitions, with rows in base and in changes."""
    made = arctic.create_table(
        "c.t", SCHEMA, primary_key=["id"], partition_by=["region"], warehouse=str(tmp_path)
    )
    made.write(rows("eu", "first"), mode="overwrite")
    made.write(rows("eu", "second"), mode="upsert")
    return made


def outrun(table: arctic.Table) -> None:
    """Replace every file of the table, and delete the replaced ones."""
    table.optimize(type="full", runner=LocalRunner(1))
    table.expire(options={**AT_ONCE, "clean-orphan-file.enabled": "false"})


def orphans(table: arctic.Table) -> list[str]:
    """Return the files that nothing refers to."""
    report = table.expire(options=AT_ONCE, dry_run=True)
    return [item.name for item in report.items if item.kind is ExpiredKind.ORPHAN]


def seen(table: arctic.Table) -> set[tuple[str, str]]:
    """Return region and writer of all six rows."""
    found = table.read().read_all()
    assert found.num_rows == 6
    return set(zip(found["region"].to_pylist(), found["by"].to_pylist(), strict=True))


def upsert_job(table: arctic.Table, tmp_path: Path) -> Any:
    """Begin an upsert that moves every row to another partition."""
    options = {"path": "c.t", "warehouse": str(tmp_path), "write-mode": "upsert"}
    return begin_write(AskedWrite.of(options), SCHEMA)


class TestUpsert:
    """One that looks its rows up in files that are gone by then."""

    def test_it_looks_again_where_the_catalog_can_be_asked(
        self, table: arctic.Table, tmp_path: Path
    ) -> None:
        """The rows are found in the state that took the place of the first."""
        job = upsert_job(table, tmp_path)
        outrun(table)
        moved = rows("us", "third")

        result = write_task(work_here(job), moved.to_batches(), partition_id=0, task_id=0)
        commit_write(job, [result])

        assert seen(table) == {("us", "third")}
        assert orphans(table) == []

    def test_what_moved_after_it_looked_again_is_found_too(
        self, table: arctic.Table, tmp_path: Path
    ) -> None:
        """The commit looks at all that came since the first state."""
        job = upsert_job(table, tmp_path)
        outrun(table)
        result = write_task(
            work_here(job), rows("us", "third").to_batches(), partition_id=0, task_id=0
        )
        table.write(rows("asia", "other"), mode="upsert")
        outrun(table)

        commit_write(job, [result])

        assert seen(table) == {("us", "third")}

    def test_an_executor_says_to_write_again(self, table: arctic.Table, tmp_path: Path) -> None:
        """It cannot ask a catalog; and what it had written is deleted."""
        job = upsert_job(table, tmp_path)
        outrun(table)

        with pytest.raises(ConflictError, match="write again"):
            write_task(job.work, rows("us", "third").to_batches(), partition_id=0, task_id=0)

        assert orphans(table) == []


class TestRead:
    """One that began before its files were replaced and deleted."""

    @pytest.mark.parametrize("reads", [arctic.Table.read, arctic.Table.read_changes])
    def test_it_says_what_happened_and_what_to_do(
        self, table: arctic.Table, reads: Callable[[arctic.Table], pa.RecordBatchReader]
    ) -> None:
        """Read again, and keep snapshots longer."""
        reader = reads(table)
        outrun(table)

        with pytest.raises(ConflictError, match=r"read again, .* snapshot\.keep\.duration"):
            reader.read_all()
        assert reads(table).read_all().num_rows == 6

    def test_a_file_that_somebody_deleted_is_no_expiry(self, table: arctic.Table) -> None:
        """To read again would not help."""
        reader = table.read()
        files = table.inspect("files")["path"].to_pylist()
        for path in files:
            Path(path.removeprefix("file://")).unlink()

        with pytest.raises(StorageError, match="does not exist"):
            reader.read_all()

    def test_a_plan_takes_a_newer_state(
        self, table: arctic.Table, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the first one expired between its pin and its manifests."""

        def late(*arguments: Any, **named: Any) -> Any:
            pinned = pin(*arguments, **named)
            monkeypatch.setattr("arctic.job.past_state.pin", pin)
            # Other files than those that this process remembers.
            table.write(rows("eu", "newer"), mode="overwrite")
            outrun(table)
            return pinned

        table.write(rows("eu", "third"), mode="upsert")
        monkeypatch.setattr("arctic.job.past_state.pin", late)

        assert seen(table) == {("eu", "newer")}


class LateRunner:
    """Runs tasks in one thread, the first time after everybody else has acted."""

    parallelism = 4

    def __init__(self, act: Callable[[], None]) -> None:
        self._act: Callable[[], None] | None = act

    def run(
        self, work: Callable[[T], R], tasks: Sequence[Task[T]], *, title: str, progress: Progress
    ) -> list[R]:
        """Act once, after the first task."""
        runner = LocalRunner(1)
        first = runner.run(work, tasks[:1], title=title, progress=progress)
        if self._act is not None:
            act, self._act = self._act, None
            act()
        return [*first, *runner.run(work, tasks[1:], title=title, progress=progress)]


def test_an_attempt_at_optimizing_that_was_outrun_leaves_nothing(
    table: arctic.Table, tmp_path: Path
) -> None:
    """Neither the files of its tasks that were done, nor any of the next attempt."""
    table.write(
        pa.table({"id": range(10, 16), "region": ["us"] * 6, "by": ["us"] * 6}, schema=SCHEMA),
        mode="upsert",
    )
    runner = LateRunner(lambda: outrun(table))

    report = table.optimize(type="full", runner=runner)

    assert report.attempts == 2
    assert orphans(table) == []


@pytest.mark.parametrize("after", [1, 2])
def test_what_is_merged_and_expired_while_a_table_is_opened_is_read(
    table: arctic.Table, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Between the loads of its two stores: neither the changes are missed, nor what they became."""
    load, loads = SqlCatalog.load_table, []

    def then_outrun(catalog: SqlCatalog, identifier: Any) -> Table:
        loaded = load(catalog, identifier)
        loads.append(identifier)
        if len(loads) == after:
            monkeypatch.setattr(SqlCatalog, "load_table", load)
            outrun(table)
        return loaded

    monkeypatch.setattr(SqlCatalog, "load_table", then_outrun)

    assert seen(table) == {("eu", "second")}
    assert len(loads) == after


def test_a_commit_that_lost_its_race_leaves_nothing(
    table: arctic.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither manifests nor the metadata file that its catalog was to take."""
    commit = Table._do_commit

    def late(store: Table, *arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(Table, "_do_commit", commit)
        catalog_load = type(store.catalog).load_table

        def meanwhile(catalog: Any, identifier: Any) -> Table:
            loaded = catalog_load(catalog, identifier)
            monkeypatch.setattr(type(store.catalog), "load_table", catalog_load)
            table.write(rows("eu", "faster"), mode="upsert")
            return loaded

        monkeypatch.setattr(type(store.catalog), "load_table", meanwhile)
        commit(store, *arguments, **named)

    monkeypatch.setattr(RetryPolicy, "wait_seconds", lambda *_: 0)
    monkeypatch.setattr(Table, "_do_commit", late)
    table.write(rows("eu", "slower"), mode="upsert")

    assert seen(table) == {("eu", "slower")}
    assert orphans(table) == []


def test_metadata_that_leaves_the_log_is_deleted_by_its_commit(table: arctic.Table) -> None:
    """Whoever commits, and however old the table is that it had opened."""
    for number in range(24):
        table.evolve_schema(add={f"c{number}": pa.int64()})

    assert orphans(table) == []

"""Appends and overwrites: one snapshot each, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import ManifestWriterV2
from pyiceberg.table import Table, Transaction
from pyiceberg.table.update.snapshot import _SnapshotProducer
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

import arctic
from arctic.errors import (
    CommitStateUnknownError,
    ConflictError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits import commit_loop
from arctic.iceberg.commits.commit import commit_append, commit_overwrite
from arctic.iceberg.commits.commit_loop import CommitResult, commit_policy
from arctic.iceberg.metadata.data_files import _metrics_plan
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.retry import RetryPolicy
from arctic.scan.store_files import StoreFiles
from arctic.table.commit_plan import AppendFiles, OverwriteBase
from arctic.table.files import FileKind
from arctic.table.property_names import LEGACY_OPTIMIZED_SEQUENCE, OPTIMIZED_SEQUENCE
from tests.iceberg.stores import (
    SCHEMA,
    append,
    commit_files,
    config_of,
    make,
    overwrite,
    paths,
    position_delete,
    reopened,
    row,
    written,
)
from tests.processes import forked

LOCKED = OperationalError("UPDATE", {}, Exception("database is locked"))


def files_of(opened: OpenTable, *, field_ids: tuple[int, ...] = ()) -> StoreFiles:
    """List everything that is live now."""
    return list_files(opened, pin(opened.refreshed()), field_ids=field_ids, row_filter=None)


def metadata_files(table: Table, suffix: str) -> set[str]:
    """Return the names of files in the metadata folder of a store."""
    folder = Path(urlparse(table.location()).path) / "metadata"
    return {path.name for path in folder.glob(f"*{suffix}")}


def referenced(table: Table) -> set[str]:
    """Return the names of all manifests and manifest lists that some snapshot needs."""
    lists = [snapshot.manifest_list for snapshot in table.metadata.snapshots]
    manifests = [
        manifest.manifest_path
        for snapshot in table.metadata.snapshots
        for manifest in snapshot.manifests(table.io)
    ]
    return {path.rsplit("/", 1)[1] for path in [*lists, *manifests]}


def break_commits(
    monkeypatch: pytest.MonkeyPatch, failures: list[Callable[[Callable[[], None]], None]]
) -> None:
    """Let the first commits go through these functions, which get the real commit."""
    real = Table._do_commit

    def commit(table: Table, **arguments: Any) -> None:
        if failures:
            failures.pop(0)(lambda: real(table, **arguments))
        else:
            real(table, **arguments)

    monkeypatch.setattr(Table, "_do_commit", commit)
    monkeypatch.setattr(RetryPolicy, "wait_seconds", lambda *_: 0)


def fail(error: Exception) -> Callable[..., None]:
    """Return a commit that never reaches the catalog."""

    def failure(*_: Any) -> None:
        raise error

    return failure


def land_and_fail(error: Exception) -> Callable[..., None]:
    """Return a commit whose answer is lost."""

    def failure(real: Callable[[], None]) -> None:
        real()
        raise error

    return failure


class TestAppend:
    """Adding files to the store that takes them."""

    def test_a_keyed_table_appends_to_its_change_store(self, tmp_path: Path) -> None:
        """Inserts and change deletes become one snapshot of the change store; base stays."""
        opened = make(tmp_path)

        result = append(opened, [row(1), row(2, "us")], [row(1)])

        files = files_of(opened)
        assert result.sequence_number == 1
        assert opened.change is not None
        assert [each.snapshot_id for each in opened.change.snapshots()] == [result.snapshot_id]
        assert opened.base.current_snapshot() is None
        assert [(file.kind, file.partition, file.record_count) for file in files.change] == [
            (FileKind.INSERT, ("eu",), 1),
            (FileKind.CHANGE_DELETE, ("eu",), 1),
            (FileKind.INSERT, ("us",), 1),
        ]
        assert {file.transaction_id for file in files.change} == {1}

    def test_an_unkeyed_table_appends_to_base(self, tmp_path: Path) -> None:
        """Without a key there is one store, and plain rows go there."""
        opened = make(tmp_path, key=())

        result = append(opened, [row(1)])

        assert [each.snapshot_id for each in reopened(opened).base.snapshots()] == [
            result.snapshot_id
        ]
        assert [file.kind for file in files_of(opened).base] == [FileKind.BASE]

    def test_nothing_to_add_makes_no_snapshot(self, tmp_path: Path) -> None:
        """An empty append leaves the table as it is."""
        opened = make(tmp_path)

        assert commit_append(opened, AppendFiles(files=())) is None
        assert reopened(opened).change.snapshots() == []  # type: ignore[union-attr]

    def test_a_snapshot_counts_what_it_adds(self, tmp_path: Path) -> None:
        """By Iceberg's own names."""
        opened = make(tmp_path)
        files = written(opened, [row(1), row(2)], FileKind.INSERT)

        commit_append(opened, AppendFiles(files=files))

        snapshot = reopened(opened).change.current_snapshot()  # type: ignore[union-attr]
        assert snapshot is not None
        assert snapshot.summary is not None
        assert snapshot.summary["added-records"] == "2"
        assert snapshot.summary["total-data-files"] == "1"
        assert snapshot.summary.operation.value == "append"

    def test_key_bounds_are_complete_and_offsets_are_bounded(self, tmp_path: Path) -> None:
        """A text key of any length keeps its full bounds; other texts are cut to 16 characters."""
        opened = make(tmp_path, key=("region",), partition_by=())
        key = "a key that is longer than sixteen characters"
        files = written(opened, [row(1, key), row(5, key + "z")], FileKind.INSERT)

        commit_append(opened, AppendFiles(files=files))

        bounds = files_of(opened, field_ids=(2, 2147482645)).change[0].bounds
        assert (bounds[2].lower, bounds[2].upper, bounds[2].null_count) == (key, key + "z", 0)
        assert (bounds[2147482645].lower, bounds[2147482645].upper) == (1, 2)

    def test_a_bound_of_a_text_is_never_cut_within_a_character(self, tmp_path: Path) -> None:
        """After U+D7FF come halves of characters, which no text has: the next one is U+E000."""
        opened = make(tmp_path, key=("id",), partition_by=())
        before = "x" * 14
        for end, least in (("\ud7ff", "\ue000"), ("\ud7ff\U0010ffff", "\ue000\U0010ffff")):
            text = before + ("" if len(end) == 2 else "x") + end
            opened = reopened(opened)
            files = written(opened, [row(1, text + "more")], FileKind.INSERT)

            commit_append(opened, AppendFiles(files=files))

            paths = {file.path for file in files}
            found = files_of(reopened(opened), field_ids=(2,)).change
            (bounds,) = (file.bounds[2] for file in found if file.path in paths)
            assert (bounds.lower, bounds.upper) == (text, text.removesuffix(end) + least)

    def test_bounds_that_hold_for_some_row_groups_only_are_left_out(self, tmp_path: Path) -> None:
        """Parquet drops bounds of very long texts; those of the other groups are too narrow."""
        opened = make(tmp_path, key=("region",), partition_by=())
        rows = [row(1, "b"), row(2, "z" * 5000), row(3, "c")]
        files = written(opened, rows, FileKind.INSERT, row_group_rows=1)

        commit_append(opened, AppendFiles(files=files))

        bounds = files_of(opened, field_ids=(1, 2)).change[0].bounds
        assert (bounds[1].lower, bounds[1].upper) == (1, 3)
        assert (bounds[2].lower, bounds[2].upper) == (None, None)

    def test_bounds_follow_field_ids_after_a_rename(self, tmp_path: Path) -> None:
        """A file that was written under an old name counts for the column as it is called now."""
        opened = make(tmp_path, partition_by=())
        files = written(opened, [row(1, score=2.5)], FileKind.INSERT)
        for store in (opened.base, opened.change):
            assert store is not None
            with store.update_schema() as update:
                update.rename_column("score", "points")

        commit_append(reopened(opened), AppendFiles(files=files))

        bounds = files_of(reopened(opened), field_ids=(5,)).change[0].bounds
        assert (bounds[5].lower, bounds[5].upper) == (2.5, 2.5)

    def test_a_plan_can_expect_a_state(self, tmp_path: Path) -> None:
        """A commit that was planned on one state is refused on another, and leaves nothing."""
        opened = make(tmp_path)
        files = written(opened, [row(1)], FileKind.INSERT)
        more = written(opened, [row(2)], FileKind.INSERT)

        change = opened.change
        assert change is not None
        empty = pin(opened.refreshed())
        first = commit_append(opened, AppendFiles(files=files, on_top_of=empty))
        before = referenced(refresh(change))
        with pytest.raises(ConflictError, match="was at sequence number 0"):
            commit_append(opened, AppendFiles(files=more, on_top_of=empty))
        one = pin(opened.refreshed())
        overwrite(opened, [row(9)], up_to=1)
        with pytest.raises(ConflictError, match="changed partition"):
            commit_append(opened, AppendFiles(files=more, on_top_of=one))
        assert metadata_files(refresh(change), ".avro") == before
        second = commit_append(opened, AppendFiles(files=more, on_top_of=pin(opened.refreshed())))

        assert first is not None
        assert second is not None
        assert (first.sequence_number, second.sequence_number) == (1, 2)

    def test_a_state_that_was_loaded_just_now_is_compared_by_the_catalog(
        self, tmp_path: Path
    ) -> None:
        """The other store is not loaded again; where it has moved on, the attempt loses a race."""
        opened = make(tmp_path)
        files = written(opened, [row(1)], FileKind.INSERT)
        commit_append(opened, AppendFiles(files=written(opened, [row(2)], FileKind.INSERT)))
        seen, state = reopened(opened), pin(opened.refreshed())
        assert seen.change is not None
        before = metadata_files(seen.change, ".avro")
        overwrite(opened, [row(9)], up_to=1)
        with pytest.raises(ConflictError, match="changed partition"):
            commit_append(seen, AppendFiles(files=files, on_top_of=state))
        assert metadata_files(refresh(seen.change), ".avro") == before

        seen, state = reopened(opened), pin(opened.refreshed())
        commit_append(opened, AppendFiles(files=files))
        rows = OverwriteBase(
            files=written(opened, [row(9)], FileKind.BASE),
            dynamic=False,
            planned_at=state.base_snapshot_id,
            change_sequence_number=state.change_sequence_number or 0,
            must_be_newest_change=True,
        )
        with pytest.raises(ConflictError, match="changes were committed during the overwrite"):
            commit_overwrite(seen, rows)

    def test_a_file_that_its_store_cannot_hold_is_refused(self, tmp_path: Path) -> None:
        """The kind stands only in the name, so a mistake there would turn deletes into rows."""
        opened = make(tmp_path)
        base = written(opened, [row(1)], FileKind.BASE)
        misnamed = written(
            opened, [row(1)], FileKind.CHANGE_DELETE, name="1-I-0-00000-0-1-00001.parquet"
        )
        doubled = written(opened, [row(2)], FileKind.INSERT) * 2

        for files in (base, misnamed, doubled):
            with pytest.raises(InternalError):
                commit_append(opened, AppendFiles(files=files))

    def test_many_small_commits_keep_few_manifests_and_every_sequence_number(
        self, tmp_path: Path
    ) -> None:
        """Manifests are merged in tiers; each file stays in the transaction that brought it."""
        opened = make(tmp_path, partition_by=(), **{"commit__manifest__min-count-to-merge": "4"})

        for number in range(1, 31):
            append(opened, [row(number)])

        change = reopened(opened).change
        assert change is not None
        snapshot = change.current_snapshot()
        assert snapshot is not None
        assert len(snapshot.manifests(change.io)) <= 3 * 3 + 1
        files = files_of(opened, field_ids=(1,)).change
        assert sorted(file.transaction_id for file in files) == list(range(1, 31))
        assert all(file.bounds[1].lower == file.transaction_id for file in files)
        assert metadata_files(change, ".avro") == referenced(change)


class TestRaces:
    """Other writers, and catalogs that fail."""

    def test_a_lost_race_is_run_again_and_leaves_no_manifests(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The attempt that lost is deleted, the next one lies on top of the winner."""
        opened = make(tmp_path)
        other = reopened(opened)

        def lose(real: Callable[[], None]) -> None:
            append(other, [row(9)])
            real()

        break_commits(monkeypatch, [lose])
        result = append(opened, [row(1)])

        change = reopened(opened).change
        assert change is not None
        assert result.sequence_number == 2
        assert len(files_of(opened).change) == 2
        assert metadata_files(change, ".avro") == referenced(change)

    def test_retries_that_are_used_up_are_a_conflict(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The caller learns that nothing was committed, and nothing of the attempts is left."""
        opened = make(tmp_path, **{"commit__retry__num-retries": "2"})
        # Besides the one on the head as it was opened, which costs no retry.
        calls: list[Any] = [fail(CommitFailedException("branch main has changed"))] * (1 + 3)
        break_commits(monkeypatch, calls)

        with pytest.raises(ConflictError, match="other commits won 3 attempts"):
            append(opened, [row(1)])

        change = reopened(opened).change
        assert change is not None
        assert calls == []
        assert change.current_snapshot() is None
        assert metadata_files(change, ".avro") == set()

    def test_who_was_faster_than_a_fresh_look_costs_no_retry(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The head was loaded a while before the attempt: others had the time to commit."""
        opened = make(tmp_path, **{"commit__retry__num-retries": "0"})
        other = reopened(opened)
        plan = AppendFiles(files=written(opened, [row(1)], FileKind.INSERT))
        append(other, [row(9)])

        result = commit_append(opened, plan)

        change = reopened(opened).change
        assert result is not None
        assert change is not None
        assert result.sequence_number == 2
        assert metadata_files(change, ".avro") == referenced(change)

    def test_what_comes_during_a_check_is_checked_before_the_race(self, tmp_path: Path) -> None:
        """A check may take longer than a commit of others, and no attempt is lost by that."""
        opened = make(tmp_path, **{"commit__retry__num-retries": "0"})
        other, seen = reopened(opened), list[int]()
        plan = AppendFiles(files=written(opened, [row(1)], FileKind.INSERT))

        def check(head: OpenTable) -> None:
            assert head.change is not None
            seen.append(len(head.change.snapshots()))
            if len(seen) <= 3:
                append(other, [row(9)])

        result = commit_append(opened, plan, check=check)

        assert result is not None
        assert result.sequence_number == 4
        assert seen == [0, 1, 2, 3]

    def test_a_check_that_never_keeps_up_ends_in_a_conflict(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After as many races as there are for rows that took long; nothing of them is left."""
        opened = make(tmp_path, **{"commit__retry__num-retries": "0"})
        other, count = reopened(opened), 0
        plan = AppendFiles(files=written(opened, [row(1)], FileKind.INSERT))
        monkeypatch.setattr(commit_loop, "_MOST_LOOKS", 2)

        def check(_: OpenTable) -> None:
            nonlocal count
            count += 1
            append(other, [row(9)])

        break_commits(monkeypatch, [])
        with pytest.raises(ConflictError, match="other commits won 5 attempts"):
            commit_append(opened, plan, check=check)

        change = reopened(opened).change
        assert change is not None
        assert count == len(change.snapshots()) == 5 * 3
        assert metadata_files(change, ".avro") == referenced(change)

    def test_a_store_that_is_dropped_meanwhile_keeps_no_manifest(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The attempt was staged before anybody looked again."""
        opened = make(tmp_path)
        change = opened.change
        assert change is not None
        plan = AppendFiles(files=written(opened, [row(1)], FileKind.INSERT))

        def drop(_: Callable[[], None]) -> None:
            change.catalog.drop_table(change.name())
            raise CommitFailedException("no such table")

        break_commits(monkeypatch, [drop])
        with pytest.raises(NotFoundError):
            commit_append(opened, plan)

        assert metadata_files(change, ".avro") == set()

    def test_an_answer_lost_before_a_rename_leaves_the_outcome_open(self, tmp_path: Path) -> None:
        """Nobody looks under the new name, where the rows are live: no file of theirs goes."""
        table = arctic.create_table("db.u", SCHEMA, primary_key=[], warehouse=str(tmp_path))
        table.write(pa.Table.from_pylist([row(1)], SCHEMA), mode="append")

        def rename(real: Callable[[], None]) -> None:
            real()
            arctic.rename("db.u", "db.w", warehouse=str(tmp_path))
            raise LOCKED

        with pytest.MonkeyPatch.context() as patched:
            break_commits(patched, [rename])
            with pytest.raises(CommitStateUnknownError, match="database is locked"):
                table.write(pa.Table.from_pylist([row(2)], SCHEMA), mode="append")

        renamed = arctic.open_table("db.w", warehouse=str(tmp_path))
        assert sorted(renamed.read().read_all()["id"].to_pylist()) == [1, 2]

    def test_a_lost_answer_is_not_a_lost_commit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A snapshot that landed although the catalog failed is found by its id, and kept."""
        for error in (LOCKED, CommitFailedException("409 after a repeated request")):
            opened = make(tmp_path / type(error).__name__)
            break_commits(monkeypatch, [land_and_fail(error)])

            result = append(opened, [row(1)])

            change = reopened(opened).change
            assert change is not None
            assert [each.snapshot_id for each in change.snapshots()] == [result.snapshot_id]
            assert len(files_of(opened).change) == 1

    def test_a_locked_database_is_tried_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An attempt of unknown outcome that did not land is repeated, once."""
        opened = make(tmp_path)
        break_commits(monkeypatch, [fail(LOCKED), fail(LOCKED)])
        emptied: list[Engine] = []
        monkeypatch.setattr(Engine, "dispose", lambda engine: emptied.append(engine))

        result = append(opened, [row(1)])

        # A pooled connection would show this process the snapshot that it failed to commit.
        assert len(emptied) == 2
        assert result.sequence_number == 1
        assert len(files_of(opened).change) == 1

    def test_a_catalog_that_keeps_failing_leaves_the_outcome_open(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody may delete the files then: the commit might still land."""
        opened = make(tmp_path)
        break_commits(monkeypatch, [fail(LOCKED)] * 100)

        with pytest.raises(CommitStateUnknownError, match="database is locked") as caught:
            append(opened, [row(1)])

        assert opened.change is not None
        assert caught.value.__cause__ is LOCKED
        assert metadata_files(opened.change, ".avro")

    def test_a_catalog_that_vanishes_leaves_the_outcome_open(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If even looking fails, the commit may have landed."""
        opened = make(tmp_path)

        def vanish(real: Callable[[], None]) -> None:
            real()
            monkeypatch.setattr(Table, "refresh", fail(OSError("connection reset")))
            raise LOCKED

        break_commits(monkeypatch, [vanish])
        with pytest.raises(CommitStateUnknownError, match="did not say"):
            append(opened, [row(1)])

    def test_a_broken_catalog_is_asked_a_few_times_only(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However many retries a table has: those are for lost races."""
        opened = make(tmp_path, **{"commit__retry__num-retries": "100"})
        calls: list[Any] = [fail(LOCKED)] * 100
        break_commits(monkeypatch, calls)

        with pytest.raises(CommitStateUnknownError):
            append(opened, [row(1)])

        assert len(calls) == 95

    def test_an_outcome_is_known_once_another_commit_took_its_place(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What lay on a parent that has another child can not land, so the write did not."""
        opened = make(tmp_path, **{"commit__retry__num-retries": "1"})
        other = reopened(opened)

        def overtake(_: Callable[[], None]) -> None:
            append(other, [row(9)])
            raise CommitFailedException("branch main has changed")

        # The other writer's commit goes through the same function.
        break_commits(monkeypatch, [fail(LOCKED), overtake])
        with pytest.raises(ConflictError, match="other commits won 2 attempts"):
            append(opened, [row(1)])

        assert len(files_of(opened).change) == 1

    def test_an_outcome_stays_open_while_nothing_took_its_place(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A race that was lost afterwards says nothing of the attempt before it."""
        opened = make(tmp_path, **{"commit__retry__num-retries": "1"})
        append(opened, [row(9)])
        opened = reopened(opened)
        lost = CommitFailedException("branch main has changed")
        break_commits(monkeypatch, [fail(LOCKED), fail(lost)])

        with pytest.raises(CommitStateUnknownError, match="database is locked"):
            append(opened, [row(1)])

    def test_a_lost_race_that_cannot_be_looked_up_leaves_the_outcome_open(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The answer may have been to a request that was repeated on the way."""
        opened = make(tmp_path)

        def vanish(real: Callable[[], None]) -> None:
            real()
            monkeypatch.setattr(Table, "refresh", fail(OSError("connection reset")))
            raise CommitFailedException("409 after a repeated request")

        break_commits(monkeypatch, [vanish])
        with pytest.raises(CommitStateUnknownError, match="connection reset"):
            append(opened, [row(1)])

    def test_a_retry_that_fails_leaves_an_earlier_outcome_open(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A second attempt that cannot even be written says nothing of the first one."""
        opened = make(tmp_path)

        def fail_for_good(_: Callable[[], None]) -> None:
            monkeypatch.setattr(ManifestWriterV2, "to_manifest_file", fail(OSError("disk full")))
            raise LOCKED

        break_commits(monkeypatch, [fail_for_good])
        with pytest.raises(CommitStateUnknownError, match="database is locked"):
            append(opened, [row(1)])

    def test_a_failure_before_the_commit_is_no_unknown_outcome(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What fails while manifests are written was never asked of the catalog."""
        opened = make(tmp_path)
        monkeypatch.setattr(ManifestWriterV2, "to_manifest_file", fail(OSError("disk full")))

        with pytest.raises(StorageError, match="disk full"):
            append(opened, [row(1)])

        assert opened.change is not None
        assert metadata_files(opened.change, ".avro") == set()

    def test_waits_grow_at_random_up_to_a_bound(self) -> None:
        """Full jitter: everything between nothing and the doubled wait, never above the bound."""
        policy = RetryPolicy(retries=9, min_wait_ms=20, max_wait_ms=1000, total_ms=10)

        first = [policy.wait_seconds(0) for _ in range(200)]
        late = [policy.wait_seconds(500) for _ in range(200)]

        assert 0 <= min(first) < 0.005
        assert 0.015 < max(first) <= 0.02
        assert 0.5 < max(late) <= 1.0

    def test_a_retry_property_that_is_no_number_is_named(self) -> None:
        """A table property is user input too."""
        with pytest.raises(InvalidInputError, match=r"commit\.retry\.num-retries = 'many'"):
            commit_policy({"commit.retry.num-retries": "many"})


class TestOverwrite:
    """Replacing whole partitions of base."""

    def test_a_static_overwrite_replaces_the_whole_table(self, tmp_path: Path) -> None:
        """Base files of every partition go, and every partition with changes is marked merged."""
        opened = make(tmp_path)
        overwrite(opened, [row(1), row(2, "us")])
        append(opened, [row(3, "asia")])
        changed = append(opened, [row(4, "eu")])

        overwrite(
            opened,
            [row(5, "africa")],
            up_to=changed.sequence_number,
            change_partitions=frozenset({("asia",), ("eu",)}),
        )

        snapshot = pin(opened.refreshed())
        assert snapshot.optimized_sequence == {
            ("eu",): 2,
            ("us",): 2,
            ("asia",): 2,
            ("africa",): 2,
        }
        assert [file.partition for file in files_of(opened).base] == [("africa",)]

    def test_a_dynamic_overwrite_replaces_its_own_partitions(self, tmp_path: Path) -> None:
        """Other partitions keep their files and stay as far merged as they were."""
        opened = make(tmp_path)
        append(opened, [row(1), row(2, "us")])
        overwrite(opened, [row(1), row(2, "us")], up_to=1)
        append(opened, [row(3, "us")])

        overwrite(opened, [row(9, "us")], dynamic=True, up_to=2)

        files = files_of(opened)
        assert pin(opened.refreshed()).optimized_sequence == {("eu",): 1, ("us",): 2}
        assert sorted((file.partition, file.transaction_id) for file in files.base) == [
            (("eu",), 1),
            (("us",), 2),
        ]

    def test_everything_is_one_metadata_commit(self, tmp_path: Path) -> None:
        """Files, sequence, statistics entry, marker and legacy property appear together."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        before = len(reopened(opened).base.metadata.metadata_log)

        result = overwrite(opened, [row(1)], up_to=1)

        base = reopened(opened).base
        assert result is not None
        assert len(base.metadata.metadata_log) == before + 1
        snapshot = base.current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        (statistics,) = base.metadata.statistics
        assert statistics.snapshot_id == snapshot.snapshot_id == result.snapshot_id
        assert statistics.blob_metadata == []
        assert snapshot.summary[OPTIMIZED_SEQUENCE] == statistics.statistics_path
        assert statistics.statistics_path.startswith(f"{base.location()}/data/puffin/")
        assert '"max-txId":"1"' in base.properties[LEGACY_OPTIMIZED_SEQUENCE]

    def test_position_deletes_go_with_their_partition(self, tmp_path: Path) -> None:
        """Delete files of a replaced partition would otherwise outlive the rows they mean."""
        opened = make(tmp_path)
        overwrite(opened, [row(1), row(2), row(3, "us")])
        eu, us = (file for file in files_of(opened).base)
        commit_files(
            opened.base,
            position_delete(opened, [(eu.path, 0)], ("eu",), "a.parquet"),
            position_delete(opened, [(us.path, 0)], ("us",), "b.parquet"),
        )

        overwrite(opened, [row(7)], dynamic=True)

        files = files_of(opened)
        assert paths(files.base) > {us.path}
        assert eu.path not in paths(files.base)
        assert [file.partition for file in files.position_deletes] == [("us",)]

    def test_an_overwrite_without_rows_hides_unmerged_changes(self, tmp_path: Path) -> None:
        """Emptying a table whose rows are all unmerged changes needs a commit."""
        opened = make(tmp_path)
        changed = append(opened, [row(1)])

        result = overwrite(
            opened, [], up_to=changed.sequence_number, change_partitions=frozenset({("eu",)})
        )

        assert result is not None
        snapshot = pin(opened.refreshed())
        assert snapshot.optimized_sequence == {("eu",): 1}
        assert files_of(opened).base == ()

    def test_an_overwrite_that_changes_nothing_makes_no_snapshot(self, tmp_path: Path) -> None:
        """No rows over no rows; and no partition at all in a dynamic one."""
        opened = make(tmp_path)

        assert overwrite(opened, []) is None
        append(opened, [row(1)])
        assert overwrite(opened, [], dynamic=True, up_to=1) is None
        overwrite(opened, [row(1)], up_to=1)
        overwrite(opened, [], up_to=1)
        assert overwrite(opened, [], up_to=1) is None

    def test_the_operation_says_what_was_done(self, tmp_path: Path) -> None:
        """Only adding is an append, only removing a delete, both an overwrite."""
        opened = make(tmp_path, key=())

        overwrite(opened, [row(1)], up_to=None)
        overwrite(opened, [row(2)], up_to=None)
        overwrite(opened, [], up_to=None)

        operations = [
            each.summary.operation.value
            for each in reopened(opened).base.snapshots()
            if each.summary is not None
        ]
        assert operations == ["append", "overwrite", "delete"]

    def test_an_unkeyed_overwrite_carries_no_sequence(self, tmp_path: Path) -> None:
        """Without a change store there is nothing to mark as merged."""
        opened = make(tmp_path, key=(), partition_by=("year(day)",))

        overwrite(opened, [row(1)], up_to=None)

        base = reopened(opened).base
        assert base.metadata.statistics == []
        assert LEGACY_OPTIMIZED_SEQUENCE not in base.properties

    def test_an_attempt_after_others_keeps_what_they_did_elsewhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Base files and merged partitions that a winner brought stay."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)
        other = reopened(opened)

        def lose(real: Callable[[], None]) -> None:
            append(other, [row(6, "asia")])
            overwrite(other, [row(6, "asia"), row(7)], dynamic=True, up_to=2)
            real()

        break_commits(monkeypatch, [lose])
        overwrite(opened, [row(9, "us")], dynamic=True, up_to=1)

        files = files_of(opened)
        assert {file.partition for file in files.base} == {("us",), ("asia",), ("eu",)}
        assert pin(opened.refreshed()).optimized_sequence == {("eu",): 2, ("us",): 1, ("asia",): 2}
        base = reopened(opened).base
        assert metadata_files(base, ".avro") == referenced(base)
        puffins = Path(urlparse(base.location()).path) / "data" / "puffin"
        assert len(list(puffins.iterdir())) == len(base.metadata.statistics)

    def test_replaced_files_are_deleted_entries_of_their_manifest(self, tmp_path: Path) -> None:
        """Other engines see what a snapshot removed; the next one forgets it."""
        opened = make(tmp_path, key=())
        overwrite(opened, [row(1), row(2, "us")], up_to=None)

        overwrite(opened, [row(3)], dynamic=True, up_to=None)

        snapshot = reopened(opened).base.current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        counts = {
            key: snapshot.summary[key]
            for key in ("added-data-files", "deleted-data-files", "total-data-files")
        }
        assert counts == {
            "added-data-files": "1",
            "deleted-data-files": "1",
            "total-data-files": "2",
        }
        entries = [
            (entry.status.name, entry.sequence_number)
            for manifest in snapshot.manifests(opened.base.io)
            for entry in manifest.fetch_manifest_entry(opened.base.io, discard_deleted=False)
        ]
        assert sorted(entries) == [("ADDED", 2), ("DELETED", 1), ("EXISTING", 1)]


def test_metadata_that_landed_outlives_an_answer_that_it_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that asks its catalog a second time hears that a commit was faster: its own."""
    opened = make(tmp_path)
    real = SqlCatalog.commit_table

    def told_twice(*arguments: Any) -> Any:
        real(*arguments)
        monkeypatch.setattr(SqlCatalog, "commit_table", real)
        raise CommitFailedException("Table has been updated by another process")

    monkeypatch.setattr(SqlCatalog, "commit_table", told_twice)
    append(opened, [row(1)])

    change = reopened(opened).change
    assert change is not None
    assert len(change.snapshots()) == 1
    assert len(files_of(opened).change) == 1


def test_files_of_one_schema_share_the_plan_of_their_metrics(tmp_path: Path) -> None:
    """To make one takes longer than to take the metrics; each file's footer says its own name."""
    opened = make(tmp_path)
    append(opened, [row(1)])
    before = _metrics_plan.cache_info()
    append(opened, [row(2)])
    after = _metrics_plan.cache_info()
    assert (after.misses, after.hits) == (before.misses, before.hits + 1)


def test_pyiceberg_still_has_what_the_producer_is_built_on() -> None:
    """The producer extends private classes: a release that moves them must fail here, loudly."""
    for name in ("_manifests", "_commit", "_summary", "_clean_all_uncommitted", "spec"):
        assert callable(getattr(_SnapshotProducer, name))
    assert isinstance(vars(Transaction)["table_metadata"], property)
    assert callable(Table._do_commit)
    for name in ("_meta", "content", "new_writer", "_with_partition"):
        assert hasattr(ManifestWriterV2, name)
    fields = {"_snapshot_id", "_added_data_files", "_deleted_data_files", "_compression"}
    assert fields <= set(_SnapshotProducer.__annotations__)


PROCESSES, COMMITS = 8, 20


def append_many(folder: Path, writer: int) -> list[CommitResult]:
    """Commit one row at a time, as one of several processes."""
    opened = open_table(config_of(folder), "db.t")
    return [append(opened, [row(writer * COMMITS + number)]) for number in range(COMMITS)]


@pytest.mark.slow
def test_concurrent_appends_all_land_once(tmp_path: Path) -> None:
    """8 processes x 20 commits on one SQLite catalog: none is lost, none is doubled."""
    opened = make(tmp_path)
    with forked().Pool(PROCESSES) as pool:
        landed = pool.starmap(append_many, [(tmp_path, writer) for writer in range(PROCESSES)])
    results = [result for of_writer in landed for result in of_writer]

    files = files_of(opened, field_ids=(1,)).change
    assert sorted(result.sequence_number for result in results) == list(range(1, 161))
    assert {file.bounds[1].lower for file in files} == set(range(160))
    assert len({file.path for file in files}) == 160
    change = reopened(opened).change
    assert change is not None
    assert metadata_files(change, ".avro") == referenced(change)


def test_an_overwrite_refuses_what_base_cannot_hold(tmp_path: Path) -> None:
    """Change files never go to base."""
    opened = make(tmp_path)
    files = written(opened, [row(1)], FileKind.INSERT)
    plan = OverwriteBase(files=files, dynamic=True, planned_at=None, change_sequence_number=1)

    with pytest.raises(InternalError, match="holds only B"):
        commit_overwrite(opened, plan)

"""Change files and position deletes that leave the newest snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import Table

from arctic.errors import UnsupportedError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.cleaning.expire_files import expire_changes, expire_dangling_deletes
from arctic.iceberg.commits.commit import commit_append
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.retry import RetryPolicy
from arctic.table.commit_plan import AppendFiles
from arctic.table.expire_report import ExpiredItem
from arctic.table.files import FileKind
from tests.iceberg.metadata.test_sequence_file import commit_as_amoro
from tests.iceberg.stores import (
    append,
    change_of,
    commit_files,
    foreign_file,
    make,
    overwrite,
    paths,
    position_delete,
    row,
    written,
)

FAR = 2**50
"""A time at which everything is old."""


def expire(
    opened: OpenTable,
    *,
    ttl_ms: int = 0,
    keep_ms: int = 0,
    now_ms: int = FAR,
    dry_run: bool = False,
) -> tuple[ExpiredItem, ...]:
    """Remove merged change files."""
    return expire_changes(opened, ttl_ms=ttl_ms, keep_ms=keep_ms, now_ms=now_ms, dry_run=dry_run)


def live(opened: OpenTable) -> set[str]:
    """Return the paths of the live change files."""
    return paths(list_files(opened, pin(opened.refreshed()), field_ids=(), row_filter=None).change)


def position_deletes(opened: OpenTable) -> set[str]:
    """Return the paths of the live position deletes."""
    return paths(
        list_files(opened, pin(opened.refreshed()), field_ids=(), row_filter=None).position_deletes
    )


class TestChanges:
    """By data sequence number, in one commit."""

    def test_only_the_merged_files_of_a_partition_go(self, tmp_path: Path) -> None:
        """Each partition has its own sequence."""
        opened = make(tmp_path)
        append(opened, [row(1), row(2, "us")])
        append(opened, [row(3), row(4, "us")])
        overwrite(opened, [row(1)], dynamic=True, up_to=1)
        before = live(opened)

        removed = expire(opened)

        assert len(removed) == 1
        assert "region=eu" in removed[0].name
        assert removed[0].reason == "merged (sequence 1 <= 1) and older than 0 minutes"
        assert live(opened) == before - {removed[0].name}

    def test_a_transaction_id_decides_nothing(self, tmp_path: Path) -> None:
        """A writer that began before the merge and committed after it is not merged."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        late = written(opened, [row(2)], FileKind.INSERT, transaction_id=1)
        overwrite(opened, [row(1)], up_to=1)
        commit_append(opened, AppendFiles(files=late))

        expire(opened)

        assert live(opened) == {late[0].path}

    def test_the_commit_says_who_made_it(self, tmp_path: Path) -> None:
        """Other tools tell maintenance from rows by it."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)

        expire(opened)

        snapshot = change_of(opened).current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        assert snapshot.summary.operation.value == "delete"
        assert snapshot.summary["snapshot.producer"] == "DATA_EXPIRATION"

    def test_young_files_stay_and_nothing_is_committed(self, tmp_path: Path) -> None:
        """The age is that of the commit."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)
        committed = change_of(opened).metadata.snapshots[0].timestamp_ms

        assert expire(opened, ttl_ms=100, now_ms=committed + 99) == ()
        assert len(change_of(opened).metadata.snapshots) == 1
        assert len(expire(opened, ttl_ms=100, now_ms=committed + 100)) == 1

    def test_a_file_whose_snapshot_has_expired_is_old(self, tmp_path: Path) -> None:
        """Nobody knows its age any more, but it is beyond that of snapshots."""
        opened = make(tmp_path)
        first = append(opened, [row(1)])
        append(opened, [row(2)])
        overwrite(opened, [row(1), row(2)], up_to=2)
        change_of(opened).maintenance.expire_snapshots().by_id(first.snapshot_id).commit()

        removed = expire(opened, ttl_ms=10**9, now_ms=0)

        assert [item.reason.partition(")")[0] for item in removed] == ["merged (sequence 1 <= 2"]

    def test_a_delete_that_orders_is_as_old_as_the_next_snapshot_that_is_known(
        self, tmp_path: Path
    ) -> None:
        """Where others expired its own before that time; older ones, as of a tag, say nothing."""
        opened = make(tmp_path, partition_by=(), write__ordering_columns="score")
        for number in range(1, 5):
            deletes = FileKind.CHANGE_DELETE if number == 2 else FileKind.INSERT
            files = written(opened, [row(number, score=1.0)], deletes, transaction_id=number)
            commit_append(opened, AppendFiles(files=files))
        overwrite(opened, [row(1, score=1.0)], up_to=4)
        second, third = change_of(opened).metadata.snapshots[1:3]
        change_of(opened).maintenance.expire_snapshots().by_id(second.snapshot_id).commit()

        early = expire(opened, ttl_ms=100, now_ms=third.timestamp_ms + 99, dry_run=True)
        late = expire(opened, ttl_ms=100, now_ms=third.timestamp_ms + 100, dry_run=True)

        assert not any("-ED-" in item.name for item in early)
        assert sum("-ED-" in item.name for item in late) == 1

    def test_what_amoro_has_merged_goes_too(self, tmp_path: Path) -> None:
        """Its marker and its blob say how far."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        append(opened, [row(2)])
        commit_as_amoro(opened, {"region=eu": 1})

        assert len(expire(opened)) == 1
        assert len(live(opened)) == 1

    def test_a_lost_race_is_planned_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another run removes the same files first: they are not removed twice."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)
        commit = Table._do_commit

        def late(store: Table, *arguments: object, **named: object) -> None:
            monkeypatch.setattr(Table, "_do_commit", commit)
            assert len(expire(opened)) == 1
            append(opened, [row(2)])
            commit(store, *arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(RetryPolicy, "wait_seconds", lambda *_: 0)
        monkeypatch.setattr(Table, "_do_commit", late)

        assert expire(opened) == ()
        assert len(live(opened)) == 1

    def test_a_dry_run_commits_nothing(self, tmp_path: Path) -> None:
        """It says what would go."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)

        said = expire(opened, dry_run=True)

        assert len(live(opened)) == 1
        assert said == expire(opened)


class TestDanglingDeletes:
    """Position deletes whose data files are gone."""

    def test_only_those_that_apply_to_nothing_go(self, tmp_path: Path) -> None:
        """Of a file that is gone, of another partition, and of a file that came later."""
        opened = make(tmp_path)
        overwrite(opened, [row(1), row(2)])
        base = refresh(opened.base)
        [data] = [task.file.file_path for task in base.scan().plan_files()]
        gone = f"{base.location()}/data/gone.parquet"
        useful = position_delete(opened, [(data, 0)], ("eu",), "useful.parquet")
        of_gone = position_delete(opened, [(gone, 0)], ("eu",), "of-gone.parquet")
        of_two = position_delete(opened, [(gone, 0), (data, 1)], ("eu",), "of-two.parquet")
        elsewhere = position_delete(opened, [(gone, 0), (gone, 1)], ("us",), "elsewhere.parquet")
        commit_files(opened.base, useful, of_gone, of_two, elsewhere)

        removed = expire_dangling_deletes(opened, dry_run=False)

        assert [Path(item.name).name for item in removed] == [
            "elsewhere.parquet",
            "of-gone.parquet",
        ]
        assert position_deletes(opened) == {useful.file_path, of_two.file_path}

    def test_what_is_merged_stays_known(self, tmp_path: Path) -> None:
        """The commit carries no marker of its own; its parent's counts."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)
        gone = f"{opened.base.location()}/data/gone.parquet"
        delete = position_delete(opened, [(gone, 0)], ("eu",), "d.parquet")
        commit_files(opened.base, delete)
        before = pin(opened.refreshed())

        expire_dangling_deletes(opened, dry_run=False)

        after = pin(opened.refreshed())
        summary = refresh(opened.base).metadata.snapshots[-1].summary
        assert after.base_snapshot_id != before.base_snapshot_id
        assert after.optimized_sequence == before.optimized_sequence == {("eu",): 1}
        assert summary is not None
        assert summary.operation.value == "replace"
        assert summary["snapshot.producer"] == "CLEAN_DANGLING_DELETE"

    def test_a_dry_run_commits_nothing(self, tmp_path: Path) -> None:
        """It says what would go."""
        opened = make(tmp_path)
        delete = position_delete(opened, [("file:///gone", 0)], ("eu",), "d.parquet")
        commit_files(opened.base, delete)

        [said] = expire_dangling_deletes(opened, dry_run=True)

        assert said.name == delete.file_path
        assert position_deletes(opened) == {delete.file_path}

    def test_what_is_not_understood_is_refused(self, tmp_path: Path) -> None:
        """Equality deletes could apply to anything."""
        opened = make(tmp_path)
        delete = foreign_file(
            opened.base,
            "e.parquet",
            ("eu",),
            content=DataFileContent.EQUALITY_DELETES,
            equality_ids=[1],
        )
        commit_files(opened.base, delete)

        with pytest.raises(UnsupportedError, match=r"e\.parquet"):
            expire_dangling_deletes(opened, dry_run=False)

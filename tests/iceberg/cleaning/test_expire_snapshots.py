"""Snapshots that leave the metadata of a store, against everybody else who commits."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from pathlib import Path

import pytest
from pyiceberg.table import Table

from arctic.errors import ConflictError, StorageError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.cleaning.expire_snapshots import (
    KeepRules,
    RemovedSnapshots,
    base_snapshots_to_read,
    expire_snapshots,
)
from arctic.iceberg.snapshots.pin import changes_under, pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.retry import RetryPolicy
from arctic.table.expire_report import ExpiredKind
from tests.iceberg.metadata.test_sequence_file import commit_as_amoro, state_of
from tests.iceberg.snapshots.test_pin import set_times
from tests.iceberg.stores import append, commit_files, make, overwrite, row

FAR = 2**50
ALL = KeepRules(keep_ms=0, min_count=1, now_ms=FAR)


def plain(folder: Path, *, commits: int = 4) -> OpenTable:
    """Make a table without a key, one row in each of its snapshots."""
    opened = make(folder, key=(), partition_by=())
    for number in range(commits):
        append(opened, [row(number)])
    return opened


def expire(store: Table, rules: KeepRules = ALL) -> RemovedSnapshots:
    """Remove what is old."""
    return expire_snapshots(store, rules, needed=frozenset, dry_run=False)


def ids_of(store: Table) -> list[int]:
    """Return the snapshots that the catalog knows now."""
    return [each.snapshot_id for each in refresh(copy(store)).metadata.snapshots]


def before_commit(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Let somebody else act between planning and the first commit."""
    commit = Table._do_commit

    def late(store: Table, *arguments: object, **named: object) -> None:
        monkeypatch.setattr(Table, "_do_commit", commit)
        action()
        commit(store, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(RetryPolicy, "wait_seconds", lambda *_: 0)
    monkeypatch.setattr(Table, "_do_commit", late)


class TestCommit:
    """One metadata commit that relies on what it has seen."""

    def test_the_current_snapshot_is_left(self, tmp_path: Path) -> None:
        """And the handle that was given is not changed."""
        opened = plain(tmp_path)
        before = ids_of(opened.base)

        removed = expire(opened.base)

        assert [each.snapshot_id for each in removed.snapshots] == before[:-1]
        assert ids_of(opened.base) == before[-1:]

    def test_a_handle_that_is_out_of_date_drops_nothing(self, tmp_path: Path) -> None:
        """A rollback and a tag that it has never seen: PyIceberg's own expiry empties the table."""
        opened = plain(tmp_path)
        stale = copy(opened.base)
        refresh(stale)
        ids = ids_of(opened.base)
        with refresh(opened.base).manage_snapshots() as manage:
            manage.create_tag(ids[1], "kept").rollback_to_snapshot(ids[2])

        expire(stale)

        metadata = refresh(opened.base).metadata
        assert metadata.current_snapshot_id == ids[2]
        assert metadata.refs["kept"].snapshot_id == ids[1]
        assert ids_of(opened.base) == [ids[1], ids[2]]

    def test_a_rollback_in_between_is_seen(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The commit requires where main is."""
        opened = plain(tmp_path)
        ids = ids_of(opened.base)
        other = copy(refresh(opened.base))
        before_commit(
            monkeypatch,
            lambda: other.manage_snapshots().rollback_to_snapshot(ids[1]).commit(),
        )

        expire(opened.base)

        assert refresh(opened.base).metadata.current_snapshot_id == ids[1]
        assert ids_of(opened.base) == [ids[1]]

    def test_a_tag_that_is_made_in_between_is_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Removing its snapshot would remove the tag with it."""
        opened = plain(tmp_path)
        ids = ids_of(opened.base)
        other = copy(refresh(opened.base))
        before_commit(
            monkeypatch, lambda: other.manage_snapshots().create_tag(ids[0], "new").commit()
        )

        expire(opened.base)

        assert refresh(opened.base).metadata.refs["new"].snapshot_id == ids[0]
        assert ids_of(opened.base) == [ids[0], ids[-1]]

    def test_another_expiry_in_between_is_no_failure(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is gone needs not be removed."""
        opened = plain(tmp_path)
        before_commit(monkeypatch, lambda: expire(opened.base))

        assert expire(opened.base).snapshots == ()
        assert len(ids_of(opened.base)) == 1

    def test_races_that_are_all_lost_are_a_conflict(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After as many retries as the table allows."""
        opened = make(tmp_path, key=(), partition_by=(), commit__retry__num_retries="2")
        for number in range(2):
            append(opened, [row(number)])
        attempts: list[int] = []

        def commit_again() -> None:
            attempts.append(len(attempts))
            before_commit(monkeypatch, commit_again)
            monkeypatch.undo()
            append(opened, [row(9)])
            before_commit(monkeypatch, commit_again)

        before_commit(monkeypatch, commit_again)

        with pytest.raises(ConflictError, match=r"'db\.t': other commits won every attempt"):
            expire(opened.base)

        assert len(attempts) == 3

    def test_a_catalog_that_fails_is_a_storage_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whether it landed or not, nothing is lost."""
        opened = plain(tmp_path)

        def fail(*_: object, **__: object) -> None:
            raise OSError("connection reset")

        monkeypatch.setattr(Table, "_do_commit", fail)

        with pytest.raises(StorageError, match=r"remove snapshots of 'db\.t'"):
            expire(opened.base)

    def test_branches_keep_as_many_as_they_ask_for(self, tmp_path: Path) -> None:
        """Iceberg's own retention of a reference counts."""
        opened = plain(tmp_path)
        ids = ids_of(opened.base)
        refresh(opened.base).manage_snapshots().create_branch(
            ids[2], "work", min_snapshots_to_keep=2
        ).commit()

        expire(opened.base)

        assert ids_of(opened.base) == ids[1:]


class TestMerged:
    """What is merged stays known, whoever has written it."""

    def test_statistics_go_with_their_snapshots(self, tmp_path: Path) -> None:
        """The newest stay, and tell the same as before."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)
        append(opened, [row(2)])
        overwrite(opened, [row(2)], up_to=2)
        before = state_of(opened.base, opened)

        removed = expire(opened.base)

        assert len(removed.statistics) == 1
        assert {file.kind for file in removed.files()} == {
            ExpiredKind.DATA_FILE,
            ExpiredKind.MANIFEST,
            ExpiredKind.MANIFEST_LIST,
            ExpiredKind.STATISTICS,
        }
        assert len(refresh(opened.base).metadata.statistics) == 1
        assert state_of(opened.base, opened) == before

    @pytest.mark.parametrize("by_amoro", [False, True])
    def test_the_snapshot_that_tells_stays_under_others(
        self, tmp_path: Path, by_amoro: bool
    ) -> None:
        """Ours or Amoro's marker, below snapshots that say nothing."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        commit_files(opened.base)
        if by_amoro:
            commit_as_amoro(opened, {"region=eu": 1})
        else:
            overwrite(opened, [row(1)], up_to=1)
        commit_files(opened.base)
        commit_files(opened.base)
        before = pin(opened.refreshed())

        removed = expire(opened.base)

        assert len(removed.snapshots) == 1
        assert pin(opened.refreshed()) == before
        assert before.optimized_sequence == {("eu",): 1}

    def test_a_rolled_back_merge_does_not_come_back(self, tmp_path: Path) -> None:
        """Its table property says more than is merged; its snapshot shows that it is not so."""
        opened = make(tmp_path)
        append(opened, [row(1)])
        commit_files(opened.base)
        first = commit_files(opened.base)
        overwrite(opened, [row(1)], up_to=1)
        refresh(opened.base).manage_snapshots().rollback_to_snapshot(first).commit()

        expire(opened.base)

        assert pin(opened.refreshed()).optimized_sequence == {}


class TestTimeTravel:
    """What the change store keeps for the sake of base."""

    def test_it_keeps_what_young_and_named_base_snapshots_read(self, tmp_path: Path) -> None:
        """Change 1 at 100 under base A at 200, change 2 at 300, base B at 400."""
        opened = make(tmp_path)
        assert opened.change is not None
        change_1 = append(opened, [row(1)]).snapshot_id
        overwrite(opened, [row(1)], up_to=1)
        change_2 = append(opened, [row(2)]).snapshot_id
        overwrite(opened, [row(2)], up_to=2)
        base_a, base_b = ids_of(opened.base)
        set_times(opened.base, {base_a: 200, base_b: 400})
        set_times(opened.change, {change_1: 100, change_2: 300})

        assert changes_under(opened, [base_a]) == {change_1}
        assert changes_under(opened, [base_a, base_b]) == {change_1, change_2}
        base = refresh(opened.base)
        assert base_snapshots_to_read(base, keep_ms=100, now_ms=450) == {base_b}
        assert base_snapshots_to_read(base, keep_ms=0, now_ms=450) == set()
        base.manage_snapshots().create_tag(base_a, "then").commit()
        assert base_snapshots_to_read(refresh(base), keep_ms=0, now_ms=450) == {base_a}

    def test_what_is_refused_already_needs_nothing(self, tmp_path: Path) -> None:
        """Its change snapshots have expired before."""
        opened = make(tmp_path)
        assert opened.change is not None
        append(opened, [row(1)])
        overwrite(opened, [row(1)], up_to=1)
        append(opened, [row(2)])
        overwrite(opened, [row(2)], up_to=2)
        set_times(opened.base, {ids_of(opened.base)[0]: 1})
        expire(opened.change)

        assert changes_under(opened, ids_of(opened.base)[:1]) == frozenset()

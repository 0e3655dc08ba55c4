"""Pinning both stores: now, at a snapshot, at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from pyiceberg.table import Table

from arctic.errors import FormatError, InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.drop_table import drop_table
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.property_names import LEGACY_OPTIMIZED_SEQUENCE
from arctic.table.snapshot import TableSnapshot
from tests.iceberg.stores import append, change_of, make, overwrite, reopened, row


def set_times(table: Table, times_ms: dict[int, int]) -> None:
    """Rewrite when snapshots were committed, in the metadata file that the catalog names."""
    path = Path(urlparse(refresh(table).metadata_location).path)
    metadata = json.loads(path.read_text())
    for entry in (*metadata["snapshots"], *metadata["snapshot-log"]):
        entry["timestamp-ms"] = times_ms.get(entry["snapshot-id"], entry["timestamp-ms"])
    path.write_text(json.dumps(metadata))


def expire(table: Table, *snapshot_ids: int) -> None:
    """Expire snapshots."""
    refresh(table).maintenance.expire_snapshots().by_ids(list(snapshot_ids)).commit()


@dataclass(frozen=True)
class History:
    """change 1 at 100, base A (holds 1) at 200, change 2 at 300, base B (holds 2) at 400."""

    opened: OpenTable
    change_1: int
    base_a: int
    change_2: int
    base_b: int


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Make the history with exact times."""
    opened = make(tmp_path)
    change_1 = append(opened, [row(1)])
    base_a = overwrite(opened, [row(1)], up_to=1)
    change_2 = append(opened, [row(2), row(3, "us")])
    base_b = overwrite(opened, [row(2)], dynamic=True, up_to=2)
    assert base_a is not None
    assert base_b is not None
    set_times(opened.base, {base_a.snapshot_id: 200, base_b.snapshot_id: 400})
    set_times(change_of(opened), {change_1.snapshot_id: 100, change_2.snapshot_id: 300})
    return History(
        opened=opened,
        change_1=change_1.snapshot_id,
        base_a=base_a.snapshot_id,
        change_2=change_2.snapshot_id,
        base_b=base_b.snapshot_id,
    )


def seen(snapshot: TableSnapshot) -> tuple[int | None, int | None, int, dict[Any, int]]:
    """Return a pinned state as a tuple."""
    return (
        snapshot.base_snapshot_id,
        snapshot.change_snapshot_id,
        snapshot.change_sequence_number,
        dict(snapshot.optimized_sequence),
    )


class TestNewest:
    """Without a point in time."""

    def test_an_empty_table_has_no_snapshots(self, tmp_path: Path) -> None:
        """Both stores are there and have nothing."""
        assert seen(pin(make(tmp_path))) == (None, None, 0, {})

    def test_both_stores_are_refreshed(self, history: History) -> None:
        """What others have committed since the table was opened is seen."""
        opened = reopened(history.opened)
        result = append(history.opened, [row(4)])

        snapshot = pin(opened.refreshed())

        assert seen(snapshot) == (history.base_b, result.snapshot_id, 3, {("eu",): 2})
        assert snapshot.merged_up_to(("eu",)) == 2
        assert snapshot.merged_up_to(("us",)) == 0

    def test_a_table_without_a_key_has_only_base(self, tmp_path: Path) -> None:
        """No change store, no sequence."""
        opened = make(tmp_path, key=())
        result = append(opened, [row(1)])

        assert seen(pin(opened.refreshed())) == (result.snapshot_id, None, 0, {})

    def test_change_is_loaded_again_when_base_is_ahead(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Changes that were committed and merged between both loads are in the pinned pair."""
        opened = make(tmp_path)
        other = reopened(opened)
        append(opened, [row(1)])
        real = Table.refresh
        loaded = []

        def load(table: Table) -> Table:
            refreshed = real(table)
            loaded.append("change" if table is opened.change else "base")
            if loaded == ["change"]:
                append(other, [row(2)])
                overwrite(other, [row(2)], up_to=2)
            return refreshed

        monkeypatch.setattr(Table, "refresh", load)
        snapshot = pin(opened.refreshed())

        assert snapshot.change_sequence_number == 2
        assert snapshot.optimized_sequence == {("eu",): 2}

    def test_a_base_that_stays_ahead_is_refused(self, tmp_path: Path) -> None:
        """It belongs to another change store: its rows would be guessed."""
        opened = make(tmp_path)
        with opened.base.transaction() as transaction:
            transaction.set_properties(
                {LEGACY_OPTIMIZED_SEQUENCE: '{"region=eu":{"max-txId":"7"}}'}
            )

        with pytest.raises(FormatError, match="up to sequence number 7"):
            pin(opened.refreshed())

    def test_a_table_that_was_dropped_is_named(self, tmp_path: Path) -> None:
        """Also when another one has taken its name."""
        opened = make(tmp_path)
        drop_table(opened.config, "db.t", purge=True)
        with pytest.raises(NotFoundError, match="dropped after it was opened"):
            pin(opened.refreshed())

        make(tmp_path)
        with pytest.raises(NotFoundError, match="created again"):
            pin(opened.refreshed())


class TestAtSnapshot:
    """The view right after one commit of either store."""

    def test_after_a_change_commit(self, history: History) -> None:
        """The newest base snapshot of that time lies below, none that holds later changes."""
        first = pin(history.opened.refreshed(), snapshot_id=history.change_1)
        second = pin(history.opened.refreshed(), snapshot_id=history.change_2)

        assert seen(first) == (None, history.change_1, 1, {})
        assert seen(second) == (history.base_a, history.change_2, 2, {("eu",): 1})

    def test_after_a_base_commit(self, history: History) -> None:
        """The newest change snapshot of that time lies above."""
        first = pin(history.opened.refreshed(), snapshot_id=history.base_a)
        second = pin(history.opened.refreshed(), snapshot_id=history.base_b)

        assert seen(first) == (history.base_a, history.change_1, 1, {("eu",): 1})
        assert seen(second) == (history.base_b, history.change_2, 2, {("eu",): 2})

    def test_commits_of_one_moment_belong_together(self, history: History) -> None:
        """Nobody knows which was first, so neither hides the other."""
        set_times(history.opened.base, {history.base_a: 300})

        under = pin(history.opened.refreshed(), snapshot_id=history.change_2)
        over = pin(history.opened.refreshed(), snapshot_id=history.base_a)

        assert seen(under) == (history.base_a, history.change_2, 2, {("eu",): 1})
        assert seen(over) == (history.base_a, history.change_2, 2, {("eu",): 1})

    def test_clocks_that_differ_do_not_hide_changes(self, history: History) -> None:
        """A base snapshot that seems older than the changes it holds is not put below others."""
        set_times(history.opened.base, {history.base_b: 250})
        set_times(change_of(history.opened), {history.change_2: 500})

        under = pin(history.opened.refreshed(), snapshot_id=history.change_1)
        over = pin(history.opened.refreshed(), snapshot_id=history.base_b)

        assert seen(under)[0] is None
        assert seen(over)[:2] == (history.base_b, history.change_2)

    def test_an_unknown_snapshot_is_named_with_those_that_exist(self, history: History) -> None:
        """The caller sees what can be read."""
        with pytest.raises(NotFoundError) as caught:
            pin(history.opened.refreshed(), snapshot_id=12345)

        message = caught.value.message
        assert "no snapshot 12345" in message
        for known in (history.base_a, history.base_b, history.change_1, history.change_2):
            assert str(known) in message

    def test_an_expired_partner_is_not_taken_for_an_empty_store(self, history: History) -> None:
        """Rows that base held then would be missing."""
        expire(history.opened.base, history.base_a)

        with pytest.raises(NotFoundError, match="have expired"):
            pin(history.opened.refreshed(), snapshot_id=history.change_2)

    def test_an_expired_change_history_is_not_taken_for_an_empty_one(
        self, history: History
    ) -> None:
        """Changes that were visible then would be missing."""
        set_times(history.opened.base, {history.base_a: 99})
        expire(change_of(history.opened), history.change_1)
        append(history.opened, [row(9)])

        with pytest.raises(NotFoundError, match="have expired"):
            pin(history.opened.refreshed(), snapshot_id=history.base_a)

    def test_only_base_snapshots_without_a_key(self, tmp_path: Path) -> None:
        """There is nothing to pair."""
        opened = make(tmp_path, key=())
        first = append(opened, [row(1)])
        append(opened, [row(2)])

        snapshot = pin(opened.refreshed(), snapshot_id=first.snapshot_id)

        assert seen(snapshot) == (first.snapshot_id, None, 0, {})
        assert len(list_files(opened, snapshot, field_ids=(), row_filter=None).base) == 1


class TestAtTime:
    """The state of both stores at one moment."""

    @pytest.mark.parametrize(
        ("as_of_ms", "base", "change"),
        [
            (100, None, "change_1"),
            (199, None, "change_1"),
            (200, "base_a", "change_1"),
            (300, "base_a", "change_2"),
            (10**15, "base_b", "change_2"),
        ],
    )
    def test_each_store_is_at_its_newest_of_then(
        self, history: History, as_of_ms: int, base: str | None, change: str
    ) -> None:
        """A commit at exactly this time counts."""
        snapshot = pin(history.opened.refreshed(), as_of_ms=as_of_ms)

        assert snapshot.base_snapshot_id == (None if base is None else getattr(history, base))
        assert snapshot.change_snapshot_id == getattr(history, change)

    def test_before_the_first_commit(self, history: History) -> None:
        """The table had nothing to show; the message says from when on it has."""
        with pytest.raises(NotFoundError, match=r"no snapshot at 99; .*at 100"):
            pin(history.opened.refreshed(), as_of_ms=99)

    def test_a_rollback_counts_as_it_happened(self, tmp_path: Path) -> None:
        """Time follows the log of what was current, not the ancestry."""
        opened = make(tmp_path, key=())
        first, second = append(opened, [row(1)]), append(opened, [row(2)])
        refresh(opened.base).manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
        log = refresh(opened.base).metadata.snapshot_log
        assert [entry.snapshot_id for entry in log] == [
            first.snapshot_id,
            second.snapshot_id,
            first.snapshot_id,
        ]

        at = log[1].timestamp_ms
        if log[2].timestamp_ms > at:
            assert pin(opened.refreshed(), as_of_ms=at).base_snapshot_id == second.snapshot_id
        assert pin(opened.refreshed(), as_of_ms=10**15).base_snapshot_id == first.snapshot_id

    def test_a_time_whose_snapshot_expired(self, tmp_path: Path) -> None:
        """The snapshot before it is not the answer, nor is nothing."""
        opened = make(tmp_path, key=())
        results = [append(opened, [row(number)]) for number in range(3)]
        times = {result.snapshot_id: 100 * number for number, result in enumerate(results, 1)}
        set_times(opened.base, times)
        expire(opened.base, results[1].snapshot_id)

        with pytest.raises(NotFoundError, match="of 250 has expired"):
            pin(opened.refreshed(), as_of_ms=250)
        assert pin(opened.refreshed(), as_of_ms=300).base_snapshot_id == results[2].snapshot_id

    def test_clocks_that_differ_do_not_lose_changes(self, history: History) -> None:
        """Base holds change 2 already at 250: then change cannot be looked at before it."""
        set_times(history.opened.base, {history.base_b: 250})

        snapshot = pin(history.opened.refreshed(), as_of_ms=260)

        assert seen(snapshot)[:2] == (history.base_b, history.change_2)


def test_both_arguments_contradict_each_other(history: History) -> None:
    """A snapshot is a time already."""
    with pytest.raises(InvalidInputError, match="only one of them"):
        pin(history.opened.refreshed(), snapshot_id=history.base_a, as_of_ms=100)

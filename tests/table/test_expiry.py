"""What may be cleaned away, decided with literals only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.table.expiry import (
    ChangeFile,
    Head,
    SnapshotRecord,
    ancestry,
    duration_text,
    expired_changes,
    expired_snapshots,
    is_old,
)
from arctic.table.files import Partition

NOW = 1_000
EU, US = ("eu",), ("us",)

change_files = st.builds(
    ChangeFile,
    path=st.uuids().map(str),
    partition=st.sampled_from([EU, US, (None,)]),
    sequence_number=st.integers(1, 9),
    size_bytes=st.just(10),
    added_ms=st.none() | st.integers(0, 2 * NOW),
    seen_ms=st.integers(0, 2 * NOW),
).map(lambda file: file if file.added_ms is None else replace(file, seen_ms=file.added_ms))
merged_maps = st.dictionaries(st.sampled_from([EU, US, (None,)]), st.integers(0, 9))


def change_file(
    sequence: int, *, partition: Partition = EU, added: int | None = 0, seen: int = NOW
) -> ChangeFile:
    """Return a file that was committed at a time; if that is not known, it was seen at another."""
    return ChangeFile(
        path=f"f{sequence}",
        partition=partition,
        sequence_number=sequence,
        size_bytes=1,
        added_ms=added,
        seen_ms=seen if added is None else added,
    )


def snapshot(
    number: int, *, parent: int | None = None, at: int = 0, tells: bool = False
) -> SnapshotRecord:
    """Return a snapshot whose id is its sequence number."""
    return SnapshotRecord(
        snapshot_id=number,
        parent_id=parent if parent is not None else (number - 1 or None),
        sequence_number=number,
        timestamp_ms=at,
        tells_merged=tells,
    )


def expired_ids(
    snapshots: Sequence[SnapshotRecord],
    *,
    current: int,
    named: Sequence[int] = (),
    needed: Sequence[int] = (),
    keep_ms: int = 0,
    min_count: int = 1,
) -> list[int]:
    """Return the ids that go."""
    heads = [Head(snapshot_id=current, min_count=min_count, keep_ms=keep_ms)]
    heads += [Head(snapshot_id=each, min_count=1, keep_ms=0) for each in named]
    expired = expired_snapshots(
        snapshots, heads=heads, needed=frozenset(needed), keep_ms=keep_ms, now_ms=NOW
    )
    return [each.snapshot_id for each in expired]


class TestChangeFiles:
    """Merged and old enough, both."""

    @pytest.mark.parametrize(
        ("file", "goes"),
        [
            pytest.param(change_file(3), True, id="merged"),
            pytest.param(change_file(4), False, id="one-above-the-sequence"),
            pytest.param(change_file(1, partition=US), False, id="partition-nobody-mentions"),
            pytest.param(change_file(3, added=NOW - 100), True, id="exactly-as-old"),
            pytest.param(change_file(3, added=NOW - 99), False, id="too-young"),
            pytest.param(change_file(3, added=None), True, id="its-snapshot-has-expired"),
            pytest.param(change_file(4, added=None), False, id="expired-but-not-merged"),
        ],
    )
    def test_a_file_goes_only_when_it_is_merged_and_old(self, file: ChangeFile, goes: bool) -> None:
        """Either condition alone keeps it."""
        expired = expired_changes([file], merged={EU: 3}, ttl_ms=100, now_ms=NOW)

        assert bool(expired) is goes

    @given(st.lists(change_files), merged_maps, st.integers(0, NOW))
    def test_nothing_unmerged_ever_goes(
        self, files: list[ChangeFile], merged: Mapping[Partition, int], ttl_ms: int
    ) -> None:
        """Whatever the ages: what base does not hold is the only copy of its rows."""
        expired = expired_changes(files, merged=merged, ttl_ms=ttl_ms, now_ms=NOW)

        assert all(file.sequence_number <= merged.get(file.partition, 0) for file in expired)

    @given(st.lists(change_files), merged_maps)
    def test_without_a_wait_all_that_is_merged_goes(
        self, files: list[ChangeFile], merged: Mapping[Partition, int]
    ) -> None:
        """Zero means at once, for what was committed in this very millisecond too."""
        files = [file for file in files if (file.added_ms or 0) <= NOW]

        expired = expired_changes(files, merged=merged, ttl_ms=0, now_ms=NOW)

        assert set(expired) == {
            file for file in files if file.sequence_number <= merged.get(file.partition, 0)
        }

    @pytest.mark.parametrize(
        ("seen", "goes"), [(NOW - 99, False), (NOW - 100, True), (NOW - 101, True)]
    )
    def test_a_delete_that_orders_stays_where_nobody_knows_since_when(
        self, seen: int, goes: bool
    ) -> None:
        """As long as if it had come with the first commit that is known to have it."""
        delete = replace(change_file(1, added=None, seen=seen), is_delete=True)
        for file, is_ordered in (
            (delete, True),
            (delete, False),
            (change_file(1, added=None), True),
        ):
            expired = expired_changes(
                [file], merged={EU: 1}, ttl_ms=100, now_ms=NOW, is_ordered=is_ordered
            )
            assert bool(expired) is (goes or not (file.is_delete and is_ordered))

    @pytest.mark.parametrize(
        ("added", "waiting", "goes"),
        [
            (100, [], True),
            (100, [200], True),
            (100, [199], False),
            (100, [250, 150], False),
            (None, [900], False),
            (100, [None, 900], False),
            (950, [], False),
        ],
    )
    def test_a_delete_that_orders_stays_while_what_it_held_against_waits(
        self, added: int | None, waiting: Sequence[int | None], goes: bool
    ) -> None:
        """Committed within its time and not merged yet: without it such a row would be back."""
        delete = replace(change_file(1, added=added), is_delete=True)
        later = [change_file(5 + place, added=when) for place, when in enumerate(waiting)]
        elsewhere = change_file(9, partition=US, added=added)
        for is_ordered in (True, False):
            expired = expired_changes(
                [delete, *later, elsewhere],
                merged={EU: 4, US: 4},
                ttl_ms=100,
                now_ms=NOW,
                is_ordered=is_ordered,
            )
            is_old_enough = added is None or added <= 900
            assert bool(expired) is (goes if is_ordered else is_old_enough)


class TestSnapshots:
    """What stays, and why."""

    def test_only_the_current_one_stays_of_an_old_store(self) -> None:
        """The oldest is named first."""
        assert expired_ids([snapshot(n) for n in (1, 2, 3)], current=3) == [1, 2]

    def test_the_newest_stay_by_count(self) -> None:
        """Whatever their age."""
        assert expired_ids([snapshot(n) for n in range(1, 6)], current=5, min_count=3) == [1, 2]

    def test_a_lineage_keeps_no_gap(self) -> None:
        """The clocks of two writers differ: snapshot 2 looks younger than 3."""
        snapshots = [snapshot(1), snapshot(2, at=950), snapshot(3, at=10), snapshot(4, at=990)]

        assert expired_ids(snapshots, current=4, keep_ms=100) == [1]

    def test_branches_and_tags_keep_what_they_name(self) -> None:
        """And nothing else of their lineage."""
        snapshots = [snapshot(n) for n in range(1, 6)]

        assert expired_ids(snapshots, current=5, named=[2]) == [1, 3, 4]

    def test_what_was_rolled_back_goes_when_it_is_old(self) -> None:
        """A snapshot of no lineage stays by its age alone."""
        snapshots = [snapshot(1), snapshot(2, at=950), snapshot(3, parent=1), snapshot(4, parent=1)]

        assert expired_ids(snapshots, current=4, keep_ms=100) == [1, 3]

    def test_what_the_other_store_needs_stays_with_all_that_is_newer(self) -> None:
        """A look into the past walks there from the current snapshot."""
        snapshots = [snapshot(n) for n in range(1, 6)]

        assert expired_ids(snapshots, current=5, needed=[3]) == [1, 2]

    def test_the_newest_telling_snapshot_stays(self) -> None:
        """Without it all changes would be visible again, and rows double."""
        snapshots = [snapshot(1), snapshot(2, tells=True), snapshot(3), snapshot(4), snapshot(5)]

        assert expired_ids(snapshots, current=5) == [1]

    def test_a_tag_keeps_the_way_to_what_is_merged_in_it(self) -> None:
        """Expiry takes the parent from the children of what goes."""
        telling = {2, 6}
        snapshots = [snapshot(n, tells=n in telling) for n in range(1, 8)]

        assert expired_ids(snapshots, current=7, named=[4]) == [1, 5]

    def test_a_tag_before_the_first_merge_keeps_the_beginning(self) -> None:
        """Only the first snapshot of all proves that nothing was merged."""
        snapshots = [snapshot(n, tells=n == 5) for n in range(1, 7)]

        assert expired_ids(snapshots, current=6, named=[3]) == [4]

    def test_a_streaming_writer_finds_how_far_it_came(self) -> None:
        """A restarted job would commit again what it does not find."""
        snapshots = [replace(snapshot(n), holds_checkpoint=n in (2, 3)) for n in range(1, 6)]

        assert expired_ids(snapshots, current=5) == [1, 2]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[SnapshotRecord], int, list[int]]:
    """Draw a history with rollbacks and branches, the current snapshot, and tags."""
    count = draw(st.integers(1, 12))
    snapshots: list[SnapshotRecord] = []
    for number in range(1, count + 1):
        parent = draw(st.integers(1, number - 1)) if number > 1 and draw(st.booleans()) else None
        made = snapshot(number, at=draw(st.integers(0, NOW)), tells=draw(st.booleans()))
        snapshots.append(made if parent is None else replace(made, parent_id=parent))
    ids = st.integers(1, count)
    return snapshots, draw(ids), draw(st.lists(ids, max_size=3))


def state_of(snapshots: Sequence[SnapshotRecord], snapshot_id: int) -> object:
    """Return where a reader finds what is merged in a snapshot, as ``read_state`` does."""
    lineage = list(ancestry({each.snapshot_id: each for each in snapshots}, snapshot_id))
    for each in lineage:
        if each.tells_merged:
            return each.snapshot_id
    if not any(each.tells_merged for each in snapshots):
        return "the table property"
    first = lineage[-1]
    return "nothing" if first.parent_id is None and first.sequence_number == 1 else "unknown"


class TestLaws:
    """For every history."""

    @given(histories(), st.integers(0, NOW), st.integers(1, 4), st.data())
    def test_what_stays_knows_what_is_merged_in_it(
        self,
        drawn: tuple[list[SnapshotRecord], int, list[int]],
        keep_ms: int,
        min_count: int,
        data: st.DataObject,
    ) -> None:
        """As before, although the children of what went have lost their parent."""
        snapshots, current, tags = drawn
        needed = data.draw(st.lists(st.integers(1, len(snapshots)), max_size=2))

        gone = set(
            expired_ids(
                snapshots,
                current=current,
                named=tags,
                needed=needed,
                keep_ms=keep_ms,
                min_count=min_count,
            )
        )

        left = [
            replace(each, parent_id=None) if each.parent_id in gone else each
            for each in snapshots
            if each.snapshot_id not in gone
        ]
        assert not gone & {current, *tags, *needed}
        assert all(
            is_old(each.timestamp_ms, duration_ms=keep_ms, now_ms=NOW)
            for each in snapshots
            if each.snapshot_id in gone
        )
        for each in left:
            assert state_of(left, each.snapshot_id) == state_of(snapshots, each.snapshot_id)

    @given(histories(), st.integers(0, NOW), st.integers(1, 4))
    def test_the_current_lineage_is_cut_at_one_place(
        self,
        drawn: tuple[list[SnapshotRecord], int, list[int]],
        keep_ms: int,
        min_count: int,
    ) -> None:
        """Whoever walks back from the current snapshot finds all that stayed by age or count."""
        snapshots, current, _ = drawn

        gone = set(expired_ids(snapshots, current=current, keep_ms=keep_ms, min_count=min_count))

        lineage = list(ancestry({each.snapshot_id: each for each in snapshots}, current))
        upper = [each for each in lineage if each.snapshot_id not in gone]
        wanted = [
            position
            for position, each in enumerate(lineage)
            if position < min_count
            or not is_old(each.timestamp_ms, duration_ms=keep_ms, now_ms=NOW)
        ]
        assert upper[: max(wanted) + 1] == lineage[: max(wanted) + 1]


@pytest.mark.parametrize(
    ("duration_ms", "text"), [(0, "0 minutes"), (60_000, "1 minute"), (61_000, "61000 ms")]
)
def test_durations_are_told_in_minutes_where_they_are_minutes(duration_ms: int, text: str) -> None:
    """As the properties are given."""
    assert duration_text(duration_ms) == text

"""Numbers that decide what is due and how far a run goes: each at its bound and beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import pytest

from arctic.optimizing.planning.evaluate import LastTimes, Verdict, evaluate, strongest
from arctic.optimizing.planning.health import FileCounts, PartitionHealth, health_score, measure
from arctic.optimizing.planning.partition_files import (
    PartitionFiles,
    files_by_partition,
    merge_horizon,
)
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.snapshot import TableSnapshot
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import NodeTree
from tests.factories.files import table_file
from tests.optimizing.lake import settings_of

MINOR, MAJOR, FULL = OptimizeType.MINOR, OptimizeType.MAJOR, OptimizeType.FULL
HOUR = 3_600_000
NOW = 1_000 * HOUR
DEFAULTS = OptimizeSettings.of({}, {})
NOTHING = FileCounts(files=0, rows=0, bytes=0)
HEALTHY = PartitionHealth(
    partition=(),
    fragments=NOTHING,
    segments=NOTHING,
    undersized=NOTHING,
    inserts=NOTHING,
    change_deletes=NOTHING,
    position_deletes=NOTHING,
    surplus_position_deletes=0,
    fragment_nodes=0,
    least_nodes=4,
    joinable_nodes=0,
    overlapping=0,
    worn_segments=0,
    read_cost_bytes=0,
    ideal_cost_bytes=0,
)
NODE, UPPER, OTHER = TreeNode(3, 0), TreeNode(1, 0), TreeNode(3, 1)


def number_of(files: int) -> FileCounts:
    """Return so many files."""
    return FileCounts(files=files, rows=files, bytes=files)


def health(
    *,
    fragments: int = 0,
    inserts: int = 0,
    change_deletes: int = 0,
    position_deletes: int = 0,
    surplus: int = 0,
    least_nodes: int = 4,
) -> PartitionHealth:
    """Return a partition of so many files."""
    return replace(
        HEALTHY,
        fragments=number_of(fragments),
        inserts=number_of(inserts),
        change_deletes=number_of(change_deletes),
        position_deletes=number_of(position_deletes),
        surplus_position_deletes=surplus,
        least_nodes=least_nodes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A partition, when it was optimized, and what is due."""

    id: str
    health: PartitionHealth
    expected: str
    since: int | None = HOUR // 2
    since_full: int | None = HOUR // 2
    since_first: int = HOUR // 2
    settings: OptimizeSettings = DEFAULTS
    is_keyed: bool = True


def changed(**values: object) -> OptimizeSettings:
    """Return the default settings but for these."""
    return replace(DEFAULTS, **values)  # type: ignore[arg-type]


EARLY = changed(minor_file_count=1)
"""Fewer files than a partition has at rest: then one more than those is the least."""
DAILY = changed(full_interval_ms=24 * HOUR, minor_interval_ms=None)
DUE = [
    Due(id="file count, below", health=health(fragments=11), expected="11 fragments < 12"),
    Due(id="file count, at", health=health(fragments=12), expected="12 fragments >= 12"),
    Due(id="file count, above", health=health(fragments=13), expected="13 fragments >= 12"),
    Due(
        id="file count of all kinds together",
        health=health(fragments=3, inserts=3, change_deletes=3, surplus=3),
        expected="6 fragments + 3 change delete files + 3 surplus position delete files >= 12",
    ),
    Due(
        id="the first position delete of each file does not count",
        health=health(position_deletes=50),
        expected="no fragments, no unmerged changes",
    ),
    Due(
        id="floor of a keyed table, at rest",
        health=health(fragments=4),
        settings=EARLY,
        expected="4 fragments < 5",
    ),
    Due(
        id="floor of a keyed table, one more",
        health=health(fragments=5),
        settings=EARLY,
        expected="5 fragments >= 5",
    ),
    Due(
        id="floor of an unkeyed table, at rest",
        health=health(fragments=1),
        settings=EARLY,
        is_keyed=False,
        expected="1 fragment < 2",
    ),
    Due(
        id="floor of an unkeyed table, one more",
        health=health(fragments=2),
        settings=EARLY,
        is_keyed=False,
        expected="2 fragments >= 2",
    ),
    Due(
        id="floor below the file count",
        health=health(fragments=5),
        settings=changed(minor_file_count=6),
        expected="5 fragments < 6",
    ),
    Due(
        id="floor of many nodes",
        health=health(fragments=16, least_nodes=16),
        expected="16 fragments < 17",
    ),
    Due(
        id="right after a run, below",
        health=health(inserts=12),
        since=59_999,
        expected="optimized 59 s ago",
    ),
    Due(
        id="right after a run, at",
        health=health(inserts=12),
        since=60_000,
        expected="12 fragments >= 12",
    ),
    Due(
        id="at the time of the run",
        health=health(inserts=12),
        since=0,
        expected="optimized 0 ms ago",
    ),
    *(
        Due(
            id=f"the largest unit of {age}",
            health=health(inserts=12),
            since=milliseconds,
            settings=changed(min_plan_interval_ms=99 * HOUR),
            expected=f"optimized {age} ago",
        )
        for milliseconds, age in (
            (999, "999 ms"),
            (1_000, "1 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (HOUR - 1, "59 min"),
            (HOUR, "1 h"),
            (24 * HOUR - 1, "23 h"),
            (24 * HOUR, "1 d"),
        )
    ),
    Due(
        id="right after a run, but no wait is set",
        health=health(inserts=12),
        since=0,
        settings=changed(min_plan_interval_ms=None),
        expected="12 fragments >= 12",
    ),
    Due(
        id="right after the beginning of the table there was no run",
        health=health(inserts=12),
        since=None,
        since_first=0,
        expected="12 fragments >= 12",
    ),
    Due(
        id="minor interval, at",
        health=health(inserts=1),
        since=HOUR,
        expected="1 fragment < 12",
    ),
    Due(
        id="minor interval, above",
        health=health(inserts=1),
        since=HOUR + 1,
        expected="1 fragment, 1 h since the last run > 1 h",
    ),
    Due(
        id="minor interval, switched off",
        health=health(inserts=1),
        since=99 * HOUR,
        settings=changed(minor_interval_ms=None),
        expected="1 fragment < 12",
    ),
    Due(
        id="minor interval and only deletes",
        health=health(change_deletes=1),
        since=2 * HOUR,
        expected="0 fragments + 1 change delete file, 2 h since the last run > 1 h",
    ),
    Due(
        id="minor interval, keyed and at rest",
        health=health(fragments=4),
        since=2 * HOUR,
        expected="4 fragments < 12",
    ),
    Due(
        id="minor interval, keyed and one more",
        health=health(fragments=5),
        since=2 * HOUR,
        expected="5 fragments, 2 h since the last run > 1 h",
    ),
    Due(
        id="minor interval, unkeyed and at rest",
        health=health(fragments=1),
        since=2 * HOUR,
        is_keyed=False,
        expected="1 fragment < 12",
    ),
    Due(
        id="minor interval, unkeyed and one more",
        health=health(fragments=2),
        since=2 * HOUR,
        is_keyed=False,
        expected="2 fragments, 2 h since the last run > 1 h",
    ),
    Due(
        id="minor interval since the beginning of the table",
        health=health(inserts=1),
        since=None,
        since_first=HOUR + 1,
        expected="1 fragment, 1 h since the last run > 1 h",
    ),
    Due(
        id="full interval, at",
        health=health(inserts=1),
        since_full=24 * HOUR,
        settings=DAILY,
        expected="1 fragment < 12",
    ),
    Due(
        id="full interval, above",
        health=health(inserts=1),
        since_full=24 * HOUR + 1,
        settings=DAILY,
        expected="full: 1 d since the last full > 1 d",
    ),
    Due(
        id="full interval since the beginning of the table",
        health=health(inserts=1),
        since_full=None,
        since_first=24 * HOUR + 1,
        settings=DAILY,
        expected="full: 1 d since the last full > 1 d",
    ),
    Due(
        id="full and only position deletes",
        health=health(position_deletes=1),
        since_full=25 * HOUR,
        settings=DAILY,
        expected="full: 1 d since the last full > 1 d",
    ),
    Due(
        id="full and only change deletes",
        health=health(change_deletes=1),
        since_full=25 * HOUR,
        settings=DAILY,
        expected="full: 1 d since the last full > 1 d",
    ),
    Due(
        id="full, keyed and at rest",
        health=health(fragments=4),
        since_full=25 * HOUR,
        settings=DAILY,
        expected="4 fragments < 12",
    ),
    Due(
        id="full, keyed and one more",
        health=health(fragments=5),
        since_full=25 * HOUR,
        settings=DAILY,
        expected="full: 1 d since the last full > 1 d",
    ),
    Due(
        id="full, unkeyed and at rest",
        health=health(fragments=1),
        since_full=25 * HOUR,
        settings=DAILY,
        is_keyed=False,
        expected="1 fragment < 12",
    ),
    Due(
        id="full, unkeyed and one more",
        health=health(fragments=2),
        since_full=25 * HOUR,
        settings=DAILY,
        is_keyed=False,
        expected="full: 1 d since the last full > 1 d",
    ),
    Due(
        id="worn before joinable",
        health=replace(HEALTHY, worn_segments=2, joinable_nodes=1),
        expected="major: 2 segments with more than 10% of the rows deleted",
    ),
    Due(
        id="joinable before fragments",
        health=replace(health(fragments=20), joinable_nodes=2, undersized=number_of(5)),
        expected="major: 5 undersized segments that fill files of the target size in 2 nodes",
    ),
]


def verdict(case: Due) -> Verdict:
    """Evaluate a case."""
    return evaluate(
        case.health,
        times=LastTimes(
            any_ms=None if case.since is None else NOW - case.since,
            full_ms=None if case.since_full is None else NOW - case.since_full,
            first_ms=NOW - case.since_first,
        ),
        settings=case.settings,
        is_keyed=case.is_keyed,
        now_ms=NOW,
    )


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in DUE])
def test_each_bound_decides_what_is_due(case: Due) -> None:
    """The type is told by the text: a comparison that fires is a minor unless it says more."""
    found = verdict(case)
    fires = ">" in case.expected
    prefix = "" if ": " in case.expected else "minor: " if fires else "nothing due: "

    assert str(found) == prefix + case.expected


def test_the_strongest_type_is_the_one_that_does_most() -> None:
    """Whatever the order, and where nothing is due in some partition."""
    idle, minor = Verdict(type=None, reason=""), Verdict(type=MINOR, reason="")
    major, full = Verdict(type=MAJOR, reason=""), Verdict(type=FULL, reason="")

    assert strongest([minor, idle, full, major]) is FULL
    assert strongest([major, minor]) is MAJOR
    assert strongest([idle, minor]) is MINOR
    assert strongest([idle]) is None


file = partial(table_file, node=NODE, sequence=1)
"""A file without bounds."""


def partition(
    *data: FileTask, inserts: tuple[FileTask, ...] = (), deletes: tuple[TableFile, ...] = ()
) -> PartitionFiles:
    """Return the files of a partition."""
    return PartitionFiles(
        partition=("eu",),
        base=data,
        inserts=inserts,
        change_deletes=deletes,
        store_paths=frozenset(),
        merged_up_to=0,
        horizon=1,
        tree=NodeTree.uniform(3),
    )


def test_a_partition_is_counted_file_by_file() -> None:
    """Sizes decide what a base file is, each bound inclusive; each file costs its opening."""
    worn = file("p", FileKind.POS_DELETE, size=5, rows=11)
    shared = file("q", FileKind.POS_DELETE, size=20, rows=10)
    files = partition(
        FileTask(file=file("a", FileKind.BASE, size=50), position_deletes=(worn,)),
        FileTask(file=file("b", FileKind.BASE, size=51), position_deletes=(worn, shared)),
        FileTask(file=file("c", FileKind.BASE, size=300, node=UPPER), position_deletes=(shared,)),
        FileTask(file=file("d", FileKind.BASE, size=301, rows=109), position_deletes=(worn,)),
        inserts=(FileTask(file=file("i", FileKind.INSERT, size=9, rows=3)),),
        deletes=(file("k", FileKind.CHANGE_DELETE, size=7, rows=2),),
    )
    found = measure(files, settings_of())

    assert found == PartitionHealth(
        partition=("eu",),
        fragments=FileCounts(files=1, rows=100, bytes=50),
        segments=FileCounts(files=3, rows=309, bytes=652),
        undersized=FileCounts(files=2, rows=200, bytes=351),
        inserts=FileCounts(files=1, rows=3, bytes=9),
        change_deletes=FileCounts(files=1, rows=2, bytes=7),
        position_deletes=FileCounts(files=2, rows=21, bytes=25),
        surplus_position_deletes=1,
        fragment_nodes=1,
        least_nodes=4,
        joinable_nodes=0,
        overlapping=0,
        worn_segments=2,
        # 702 of base, 10 each for the insert, the change delete and the smaller position delete.
        read_cost_bytes=702 + 10 + 10 + 10 + 20,
        # 389 of 412 rows are alive; 411 bytes in one node, 300 in its parent.
        ideal_cost_bytes=411 * 389 // 412 + 300 * 389 // 412,
    )
    assert found.base == FileCounts(files=4, rows=409, bytes=702)
    assert (found.unmerged_files, found.delete_files) == (2, 3)
    assert found.duplicate_ratio == 21 / 409
    assert found.score == 100 * (388 + 283) // 752


def test_the_best_that_can_be_costs_a_file_for_each_node() -> None:
    """Of the least size, also where every row is deleted, or more than there are."""
    gone = file("p", FileKind.POS_DELETE, rows=500)
    files = partition(
        FileTask(file=file("a", FileKind.BASE, size=100_000), position_deletes=(gone,)),
        FileTask(file=file("b", FileKind.BASE, node=OTHER)),
        FileTask(file=file("c", FileKind.BASE, node=TreeNode(7, 4))),
    )

    assert measure(files, settings_of()).ideal_cost_bytes == 20
    assert measure(partition(), settings_of()).ideal_cost_bytes == 0
    assert measure(partition(), settings_of()).duplicate_ratio == 0.0


@pytest.mark.parametrize(
    ("costs", "score"),
    [
        ([(200, 100)], 50),
        ([(200, 101)], 50),
        ([(200, 102)], 51),
        ([(100, 101)], 100),
        ([(0, 0)], 100),
        ([(1, 0)], 0),
        ([(100, 100), (300, 100)], 50),
    ],
)
def test_a_score_is_rounded_down_and_weighs_by_cost(
    costs: list[tuple[int, int]], score: int
) -> None:
    """A partition that costs more counts for more, and none makes up for another."""
    found = [replace(HEALTHY, read_cost_bytes=now, ideal_cost_bytes=best) for now, best in costs]

    assert health_score(found) == score


EU, US = ("eu",), ("us",)


def inserts(*of: tuple[int, int], partition: Partition = EU) -> list[TableFile]:
    """Return insert files by sequence number and transaction."""
    return [
        file(
            f"{partition}-{place}-{sequence}-{transaction}",
            FileKind.INSERT,
            sequence=sequence,
            transaction=transaction,
            partition=partition,
        )
        for place, (sequence, transaction) in enumerate(of)
    ]


def pinned(newest: int, **merged: int) -> TableSnapshot:
    """Return a state of the table."""
    return TableSnapshot(
        base_snapshot_id=1,
        change_snapshot_id=2,
        change_sequence_number=newest,
        optimized_sequence={(name,): number for name, number in merged.items()},
    )


UNMERGED = pinned(9)
PAIRS = inserts(*((sequence, sequence) for sequence in (1, 2, 3, 4, 5) for _ in range(2)))
"""Five commits of two files each."""
BACKWARDS = inserts((1, 5), (2, 4), (3, 3), (4, 2), (5, 1))
"""Later commits of older transactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """Change files, how many a run may take, and up to which number it takes them."""

    id: str
    change: list[TableFile]
    most: int
    expected: int
    base: tuple[TableFile, ...] = ()
    snapshot: TableSnapshot = UNMERGED


HORIZONS = [
    Horizon(id="no changes", change=[], most=1, expected=9),
    Horizon(id="as many as allowed", change=PAIRS, most=10, expected=9),
    Horizon(id="fewer than allowed", change=PAIRS, most=11, expected=9),
    Horizon(id="one too many", change=PAIRS, most=9, expected=4),
    Horizon(id="exactly two commits", change=PAIRS, most=4, expected=2),
    Horizon(id="two commits and a half", change=PAIRS, most=5, expected=2),
    Horizon(id="one less than two commits", change=PAIRS, most=3, expected=1),
    Horizon(id="less than one commit", change=PAIRS, most=1, expected=1),
    Horizon(
        id="merged ones do not count, up to their number",
        change=PAIRS,
        most=4,
        snapshot=pinned(9, eu=3),
        expected=9,
    ),
    Horizon(
        id="merged ones are passed over",
        change=PAIRS,
        most=5,
        snapshot=pinned(9, eu=2),
        expected=4,
    ),
    Horizon(
        id="merged in another partition",
        change=PAIRS,
        most=4,
        snapshot=pinned(9, us=3),
        expected=2,
    ),
    Horizon(id="transactions the wrong way around", change=BACKWARDS, most=1, expected=9),
    Horizon(
        id="a tie ends where everything older is taken",
        change=inserts((1, 2), (2, 1), (3, 3), (4, 4)),
        most=1,
        expected=2,
    ),
    Horizon(
        id="a tie beyond what is allowed is not begun",
        change=inserts((1, 1), (2, 3), (3, 2), (4, 4)),
        most=2,
        expected=1,
    ),
    Horizon(
        id="one transaction in two commits",
        change=inserts((1, 1), (2, 1), (3, 2)),
        most=1,
        expected=2,
    ),
    Horizon(
        id="base holds the transaction that follows",
        change=inserts((1, 1), (2, 2), (3, 3), (4, 4)),
        base=(file("b", FileKind.BASE, transaction=2, partition=EU),),
        most=1,
        expected=2,
    ),
    Horizon(
        id="base holds none that follow",
        change=inserts((1, 1), (2, 2), (3, 3), (4, 4)),
        base=(
            file("b", FileKind.BASE, transaction=1, partition=EU),
            file("c", FileKind.BASE, transaction=0, partition=EU),
        ),
        most=1,
        expected=1,
    ),
    Horizon(
        id="base of another partition",
        change=inserts((1, 1), (2, 2), (3, 3), (4, 4)),
        base=(file("b", FileKind.BASE, transaction=3, partition=US),),
        most=1,
        expected=1,
    ),
    Horizon(
        id="the greatest of base, in any order",
        change=inserts((1, 1), (2, 2), (3, 3), (4, 4)),
        base=(
            file("b", FileKind.BASE, transaction=3, partition=EU),
            file("c", FileKind.BASE, transaction=1, partition=EU),
        ),
        most=1,
        expected=3,
    ),
    Horizon(
        id="the ties of two partitions together",
        change=[
            *inserts((1, 2), (2, 1), (5, 5)),
            *inserts((2, 4), (3, 3), (4, 5), (6, 6), partition=US),
        ],
        most=1,
        expected=3,
    ),
    Horizon(
        id="ties of two partitions one after the other",
        change=[
            *inserts((1, 2), (2, 1), (5, 5)),
            *inserts((3, 4), (4, 3), (6, 6), partition=US),
        ],
        most=1,
        expected=2,
    ),
    Horizon(
        id="the last number is everything",
        change=inserts((1, 1), (2, 4), (3, 3), (4, 2)),
        base=(file("b", FileKind.BASE, transaction=4, partition=EU),),
        most=3,
        expected=9,
    ),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in HORIZONS])
def test_a_run_merges_up_to_this_number(case: Horizon) -> None:
    """As many files as are allowed, and no transaction before one that stays; in any order."""
    for change, base in ((case.change, case.base), (case.change[::-1], case.base[::-1])):
        found = merge_horizon(change, base, case.snapshot, max_change_files=case.most)

        assert found == case.expected


def test_files_are_sorted_into_partitions_up_to_the_horizon() -> None:
    """What lies behind it waits, also deletes; what is merged is nobody's; paths are all known."""
    base = (
        file("a", FileKind.BASE, partition=EU),
        file("b", FileKind.BASE, partition=US),
    )
    marks = (
        file("p", FileKind.POS_DELETE, partition=EU, sequence=2),
        file("dangling", FileKind.POS_DELETE, partition=US, node=OTHER, sequence=2),
    )
    kill = FileKind.CHANGE_DELETE
    change = [
        *inserts((3, 3), (4, 4)),
        *inserts((2, 2), (3, 3), partition=US),
        file("k", kill, partition=("de",), sequence=3, transaction=3),
        file("l", kill, partition=EU, sequence=4, transaction=4),
    ]
    de, eu, us = files_by_partition(
        base=base,
        position_deletes=marks,
        change=change,
        snapshot=pinned(4, us=3, eu=1),
        max_change_files=2,
        tree_of=lambda _: NodeTree.uniform(3),
    )

    assert [each.partition for each in (de, eu, us)] == [("de",), EU, US]
    assert [len(each.inserts) for each in (de, eu, us)] == [0, 1, 0]
    assert [[d.path for d in each.change_deletes] for each in (de, eu, us)] == [["k"], [], []]
    assert [[t.file.path for t in each.base] for each in (de, eu, us)] == [[], ["a"], ["b"]]
    assert [[d.path for d in each.position_deletes] for each in (de, eu, us)] == [[], ["p"], []]
    assert [set(each.store_paths) for each in (de, eu, us)] == [
        set(),
        {"a", "p"},
        {"b", "dangling"},
    ]
    assert [each.merged_up_to for each in (de, eu, us)] == [0, 1, 3]
    assert [each.horizon for each in (de, eu, us)] == [3, 3, 3]
    assert [each.waiting for each in (de, eu, us)] == [2, 2, 2]


def test_a_partition_that_is_merged_beyond_the_horizon_stays_so() -> None:
    """Its own optimized sequence never goes back."""
    change = [*inserts((1, 1), (2, 2), partition=US), *inserts((2, 2), partition=EU)]
    eu, us = files_by_partition(
        base=(file("a", FileKind.BASE, partition=EU),),
        position_deletes=(),
        change=change,
        snapshot=pinned(2, eu=2),
        max_change_files=1,
        tree_of=lambda _: NodeTree.uniform(3),
    )

    assert (eu.horizon, us.horizon) == (2, 1)
    assert (eu.waiting, us.waiting) == (1, 1)


def test_a_position_delete_of_two_files_is_one() -> None:
    """However many it applies to."""
    shared = file("p", FileKind.POS_DELETE)
    files = partition(
        FileTask(file=file("a", FileKind.BASE), position_deletes=(shared,)),
        FileTask(file=file("b", FileKind.BASE), position_deletes=(shared,)),
    )

    assert files.position_deletes == (shared,)

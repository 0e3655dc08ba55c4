"""What is due, when, and that it says why; settings; the health score."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.optimizing.planning.evaluate import LastTimes, Verdict, evaluate, strongest
from arctic.optimizing.planning.health import health_score, measure
from arctic.optimizing.planning.partition_files import PartitionFiles, files_by_partition
from arctic.optimizing.planning.plan_run import PartitionPlan, plan_optimize
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.table.files import FileKind, TableFile
from arctic.table.snapshot import TableSnapshot
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import NodeTree
from tests.factories.files import name_of, named_file
from tests.optimizing.lake import TABLE, settings_of

HOUR = 3_600_000
NOW = 1_000 * HOUR
DEFAULTS = OptimizeSettings.of({}, {})
_numbers = itertools.count(1_000)
MIB = 2**20


def base(
    size: int, *, number: int = 1, node: int = 4, rows: int = 1_000, key: int = 0, sequence: int = 1
) -> TableFile:
    """Return a base file of a node, one of 4 to 7, with ten keys from ``key`` on."""
    name = name_of(FileKind.BASE, node_id=node, number=number)
    return named_file(
        FileKind.BASE,
        name,
        sequence_number=sequence,
        size_bytes=size,
        record_count=rows,
        keys=(key, key + 9),
    )


def change(kind: FileKind, *, number: int, sequence: int = 2, size: int = 100) -> TableFile:
    """Return a change file with the keys 0 to 1000."""
    name = name_of(kind, node_id=4 + number % 4, number=number)
    return named_file(
        kind, name, sequence_number=sequence, size_bytes=size, record_count=10, keys=(0, 1_000)
    )


def deletes_of(data: TableFile, *, rows: int, number: int = 1) -> TableFile:
    """Return position deletes of one base file."""
    name = name_of(FileKind.POS_DELETE, node_id=data.node.node_id, number=number)
    return named_file(
        FileKind.POS_DELETE,
        name,
        sequence_number=2,
        record_count=rows,
        referenced_path=data.path,
    )


def partition(
    *base: TableFile, deletes: Sequence[TableFile] = (), change: Sequence[TableFile] = ()
) -> PartitionFiles:
    """Return the only partition of a table."""
    (found,) = files_by_partition(
        base=base,
        position_deletes=deletes,
        change=change,
        snapshot=TableSnapshot(
            base_snapshot_id=1,
            change_snapshot_id=2,
            change_sequence_number=9,
            optimized_sequence={},
        ),
        max_change_files=10_000,
        tree_of=lambda _: NodeTree.uniform(3),
    )
    return found


def verdict(
    files: PartitionFiles,
    settings: OptimizeSettings = DEFAULTS,
    *,
    since: int | None = HOUR // 2,
    since_full: int | None = None,
    is_keyed: bool = True,
) -> Verdict:
    """Evaluate a partition that was optimized some milliseconds ago."""
    times = LastTimes(
        any_ms=None if since is None else NOW - since,
        full_ms=None if since_full is None else NOW - since_full,
        first_ms=NOW - HOUR // 2,
    )
    return evaluate(
        measure(files, settings), times=times, settings=settings, is_keyed=is_keyed, now_ms=NOW
    )


def fragments(count: int) -> list[TableFile]:
    """Return small base files, spread over the nodes."""
    return [
        base(MIB, number=number, node=4 + number % 4, key=10 * number) for number in range(count)
    ]


def inserts(count: int) -> list[TableFile]:
    """Return insert files."""
    return [change(FileKind.INSERT, number=number) for number in range(count)]


def change_deletes(count: int) -> list[TableFile]:
    """Return change-delete files."""
    return [change(FileKind.CHANGE_DELETE, number=number) for number in range(count)]


def test_the_defaults_are_those_of_amoro() -> None:
    """Who comes from there finds the same table properties with the same meaning."""
    assert (
        OptimizeSettings(
            is_enabled=True,
            target_bytes=128 * MIB,
            fragment_bytes=16 * MIB,
            min_target_bytes=96 * MIB,
            minor_file_count=12,
            minor_interval_ms=3_600_000,
            duplicate_ratio=0.1,
            most_overlapping=4,
            full_interval_ms=None,
            rewrites_all=True,
            max_change_files=10_000,
            max_task_bytes=128 * MIB,
            min_plan_interval_ms=60_000,
            base_buckets=4,
            open_file_cost_bytes=4 * MIB,
        )
        == DEFAULTS
    )


def test_what_a_call_gives_wins_over_the_table() -> None:
    """And what the table says over the default."""
    given_here = {"self-optimizing.target-size": "1000"}
    of_table = {"self-optimizing.target-size": "2000", "self-optimizing.fragment-ratio": "10"}
    settings = OptimizeSettings.of(given_here, of_table)

    assert (settings.target_bytes, settings.fragment_bytes) == (1_000, 100)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            partition(*fragments(10), change=[*inserts(4), *change_deletes(3)]),
            "minor: 14 fragments + 3 change delete files >= 12",
        ),
        (partition(*fragments(12)), "minor: 12 fragments >= 12"),
        (partition(*fragments(11)), "nothing due: 11 fragments < 12"),
        (partition(base(100 * MIB)), "nothing due: no fragments, no unmerged changes"),
        (
            partition(
                big := base(100 * MIB),
                deletes=[deletes_of(big, rows=1, number=number) for number in range(13)],
            ),
            "minor: 0 fragments + 12 surplus position delete files >= 12",
        ),
        (
            partition(big, deletes=[deletes_of(big, rows=101)]),
            "major: 1 segment with more than 10% of the rows deleted",
        ),
        (
            partition(big, deletes=[deletes_of(big, rows=100)]),
            "nothing due: no fragments, no unmerged changes",
        ),
        (
            partition(base(64 * MIB), base(64 * MIB, number=2, key=10)),
            "major: 2 undersized segments that fill files of the target size in 1 node",
        ),
        (
            partition(base(64 * MIB), base(64 * MIB, number=2, key=10, node=5)),
            "nothing due: no fragments, no unmerged changes",
        ),
        (
            partition(base(60 * MIB), base(60 * MIB, number=2, key=10)),
            "nothing due: no fragments, no unmerged changes",
        ),
    ],
)
def test_each_trigger_fires_alone_and_says_why(files: PartitionFiles, expected: str) -> None:
    """By number, deleted rows and size; one less does not."""
    assert str(verdict(files)) == expected


@pytest.mark.parametrize(
    ("files", "since", "expected"),
    [
        (
            partition(change=inserts(1)),
            HOUR + 1,
            "minor: 1 fragment, 1 h since the last run > 1 h",
        ),
        (
            partition(change=change_deletes(1)),
            2 * HOUR,
            "minor: 0 fragments + 1 change delete file, 2 h since the last run > 1 h",
        ),
        (partition(change=inserts(1)), HOUR, "nothing due: 1 fragment < 12"),
        (partition(*fragments(5)), 2 * HOUR, "minor: 5 fragments, 2 h since the last run > 1 h"),
        (partition(*fragments(4)), 2 * HOUR, "nothing due: 4 fragments < 12"),
        (partition(change=inserts(20)), 59_999, "nothing due: optimized 59 s ago"),
    ],
)
def test_time_makes_a_minor_due(files: PartitionFiles, since: int, expected: str) -> None:
    """Where there are changes, or more fragments than one for each node; not right after a run."""
    assert str(verdict(files, since=since)) == expected


def test_without_any_run_time_counts_from_the_first_snapshot() -> None:
    """Half an hour ago: too early; unless the interval is shorter."""
    files = partition(change=inserts(1))
    soon = replace(DEFAULTS, minor_interval_ms=60_000)

    assert verdict(files, since=None).type is None
    assert verdict(files, soon, since=None).type is OptimizeType.MINOR


@pytest.mark.parametrize("ahead", [1, HOUR // 2, HOUR, 400 * 24 * HOUR])
@pytest.mark.parametrize("of", ["last run", "first snapshot"])
@pytest.mark.parametrize("is_keyed", [True, False])
def test_a_time_beyond_now_starves_nothing(ahead: int, of: str, is_keyed: bool) -> None:
    """Whatever a wrong clock left behind, each interval fires within twice its length."""
    health = measure(partition(*fragments(6)), DEFAULTS)
    for kind, hourly in (
        (OptimizeType.MINOR, replace(DEFAULTS, minor_interval_ms=HOUR)),
        (OptimizeType.FULL, replace(DEFAULTS, minor_interval_ms=None, full_interval_ms=HOUR)),
    ):
        never = LastTimes(any_ms=None, full_ms=None, first_ms=0)
        if of == "first snapshot":
            times = replace(never, first_ms=NOW + ahead)
        else:
            times = LastTimes(any_ms=NOW + ahead, full_ms=NOW + ahead, first_ms=0)
        waits = [0, HOUR // 2, HOUR, 2 * HOUR + 1]
        found = [
            evaluate(
                health, times=times, settings=hourly, is_keyed=is_keyed, now_ms=NOW + wait
            ).type
            for wait in waits
        ]
        assert kind in found
        # A clock that is nearly right does not make a run of every call.
        assert ahead > 1 or found[0] is None


def test_what_a_wrong_clock_did_is_said() -> None:
    """The reason names the distance, and does not call it an age."""
    files = partition(change=inserts(1))

    assert "2 h ahead of this clock > 1 h" in str(verdict(files, since=-2 * HOUR))
    assert str(verdict(files, since=-1)) == "nothing due: optimized 1 ms ahead of this clock"


def test_a_full_is_due_only_where_it_would_change_something() -> None:
    """After its interval, in a partition with deletes, changes or many fragments."""
    daily = replace(DEFAULTS, full_interval_ms=24 * HOUR)
    due = partition(base(100 * MIB), change=inserts(1))

    late = verdict(due, daily, since_full=25 * HOUR)
    assert str(late) == "full: 1 d since the last full > 1 d"
    assert verdict(due, daily, since_full=23 * HOUR).type is None
    assert verdict(partition(base(100 * MIB)), daily, since_full=25 * HOUR).type is None
    assert verdict(due, since_full=10_000 * HOUR).type is None


def test_the_strongest_type_wins() -> None:
    """Full, major, minor: a stronger one does all that a weaker one does."""
    files = partition(
        base(64 * MIB), base(64 * MIB, number=2, key=10), change=[*inserts(6), *change_deletes(6)]
    )
    daily = replace(DEFAULTS, full_interval_ms=24 * HOUR)
    types = [
        verdict(files, daily, since_full=25 * HOUR),
        verdict(files),
        verdict(partition(change=inserts(12))),
    ]

    assert [each.type for each in types] == [
        OptimizeType.FULL,
        OptimizeType.MAJOR,
        OptimizeType.MINOR,
    ]
    assert strongest(types[1:]) is OptimizeType.MAJOR
    assert strongest([]) is None


def test_nothing_is_due_where_it_is_switched_off() -> None:
    """Whatever there is to do."""
    off = replace(DEFAULTS, is_enabled=False)

    assert str(verdict(partition(change=inserts(50)), off)) == (
        "nothing due: self-optimizing.enabled is false"
    )


def _left(plan: PartitionPlan) -> list[TableFile]:
    return [t.file for t in plan.files.base if t.file.path not in plan.removed_paths]


def _written(plan: PartitionPlan) -> list[TableFile]:
    """Return what tasks write if no row dies and rows take as much room as before."""
    files: list[TableFile] = []
    for task in plan.tasks:
        left = sum(each.file.size_bytes for each in task.rewrite)
        while left > 0:
            number = next(_numbers)
            size = min(left, task.target_bytes)
            files.append(
                base(size, number=number, node=task.node.node_id, key=10 * number, sequence=9)
            )
            left -= size
    return files


SIZES = st.lists(
    st.tuples(st.sampled_from([40, 40, 160, 160, 280, 280, 350]), st.sampled_from([4, 4, 4, 7])),
    min_size=3,
    max_size=30,
)


@given(SIZES, st.sampled_from([1, 400, 600]), st.booleans())
def test_nothing_is_due_for_ever(
    sizes: list[tuple[int, int]], max_task: int, is_keyed: bool
) -> None:
    """What fires is satisfied after a few runs at most, whatever sizes lie beside one another."""
    settings = settings_of(max_task_size_bytes=str(max_task))
    files = partition(
        base(1_000, number=999, key=-100),
        *(
            base(size, number=number, node=node if is_keyed else 1, key=10 * number)
            for number, (size, node) in enumerate(sizes)
        ),
    )
    table = TABLE if is_keyed else replace(TABLE, primary_key=(), change_location=None)
    for _ in range(6):
        due = verdict(files, settings, since=2 * HOUR, is_keyed=is_keyed)
        if due.type is None:
            return
        plan = plan_optimize([(files, due.type)], table=table, settings=settings, parallelism=2)
        assert plan.partitions, due
        (done,) = plan.partitions
        files = partition(*_left(done), *_written(done))

    raise AssertionError(f"still due: {due}")


def test_undersized_segments_between_others_are_joined() -> None:
    """Each alone fits into a task, but tasks of one file each would leave what there was."""
    settings = settings_of(max_task_size_bytes="400")
    files = partition(base(160, number=1), base(280, number=2, key=10), base(160, number=3, key=20))
    plan = plan_optimize(
        [(files, OptimizeType.MAJOR)], table=TABLE, settings=settings, parallelism=1
    )
    (done,) = plan.partitions

    assert verdict(files, settings).type is OptimizeType.MAJOR
    assert len(_written(done)) == 2


def test_a_table_of_one_small_file_in_each_node_is_healthy() -> None:
    """It cannot be fewer: being small is no illness."""
    nodes = [base(1_000, number=node, node=node) for node in range(4, 8)]

    assert measure(partition(*nodes), DEFAULTS).score == 100
    assert measure(partition(nodes[0]), DEFAULTS).score == 100


def test_small_files_of_one_node_count_against_health() -> None:
    """Four that a full makes one of: a quarter, whatever the number of nodes."""
    files = [base(1_000, number=number, key=10 * number) for number in range(4)]

    assert measure(partition(*files), DEFAULTS).score == 25


def test_health_falls_with_everything_that_makes_reads_slow() -> None:
    """Changes, fragments and deletes, each on top of the others."""
    big = base(100 * MIB)
    steps = [
        partition(big),
        partition(big, deletes=[deletes_of(big, rows=10)]),
        partition(big, deletes=[deletes_of(big, rows=10)], change=inserts(2)),
        partition(
            big, deletes=[deletes_of(big, rows=10)], change=[*inserts(2), *change_deletes(3)]
        ),
    ]
    scores = [measure(files, DEFAULTS).score for files in steps]

    assert scores[0] == 100
    assert scores == sorted(set(scores), reverse=True)
    assert health_score([measure(files, DEFAULTS) for files in steps]) < 100


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(4, 7)), min_size=1, max_size=9))
def test_a_score_is_between_0_and_100(sizes: list[tuple[int, int]]) -> None:
    """For any files; and a node of its own for each is 100."""
    files = [
        base(size, number=number, node=node, key=10 * number)
        for number, (size, node) in enumerate(sizes)
    ]
    score = measure(partition(*files), DEFAULTS).score
    one_each = {node: file for file, (_, node) in zip(files, sizes, strict=True)}

    assert 0 <= score <= 100
    assert measure(partition(*one_each.values()), DEFAULTS).score == 100


def test_nodes_deeper_than_base_count_as_their_ancestor() -> None:
    """A full writes to the nodes of base."""
    deep = [
        base(1_000, number=1, node=TreeNode(7, 1).node_id),
        base(1_000, number=2, node=TreeNode(7, 5).node_id),
    ]

    assert measure(partition(*deep), DEFAULTS).score == 50

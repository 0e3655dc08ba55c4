"""What every plan of a run keeps: no row is lost, doubled or brought back to life."""

from __future__ import annotations

import pickle
from collections import Counter
from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from arctic.optimizing.planning.partition_files import merge_horizon
from arctic.optimizing.planning.plan_run import plan_optimize
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.table.files import FileKind
from arctic.table.filters.predicate import Predicate
from arctic.table.snapshot import TableSnapshot
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import NodeTree
from tests.factories.files import name_of, named_file
from tests.factories.trees import trees
from tests.optimizing.lake import (
    TABLE,
    all_settings,
    matches,
    partitions_of,
    plan_of,
    rows_after,
    settings_of,
)
from tests.scan.lake import KEYS, Lake, lakes

KINDS = st.lists(st.sampled_from(OptimizeType), min_size=1, max_size=3)


@given(lakes(), all_settings(), KINDS, trees())
def test_the_merged_view_is_the_same_after_a_run(
    lake: Lake, settings: OptimizeSettings, kinds: list[OptimizeType], tree: NodeTree
) -> None:
    """For any files, sizes, horizon, tree, and types in any partition; row against row."""
    assert rows_after(lake, plan_of(lake, settings, kinds, tree)) == lake.truth()


@given(lakes(), all_settings(), KINDS, trees())
def test_new_files_are_of_nodes_that_share_out_the_keys_of_their_task(
    lake: Lake, settings: OptimizeSettings, kinds: list[OptimizeType], tree: NodeTree
) -> None:
    """No key has two of them, none has none, and none is deeper than a leaf of the tree."""
    for plan in plan_of(lake, settings, kinds, tree).partitions:
        for task in plan.tasks:
            nodes = [TreeNode.from_id(number) for number in task.base_nodes]
            share = sum(Fraction(1, node.mask + 1) for node in nodes)

            assert all(node.is_within(task.node) for node in nodes)
            assert share == Fraction(1, task.node.mask + 1)
            assert not any(a.overlaps(b) for a, b in combinations(nodes, 2))
            assert all(tree.capped(node) == node for node in nodes)


@given(lakes(), all_settings(), KINDS)
def test_a_file_is_rewritten_or_marked_or_left_alone(
    lake: Lake, settings: OptimizeSettings, kinds: list[OptimizeType]
) -> None:
    """Never two of them, and only base files are marked."""
    for plan in plan_of(lake, settings, kinds).partitions:
        rewrite = [task.file.path for task in plan.selection.rewrite]
        mark = [task.file.path for task in plan.selection.mark]

        assert len({*rewrite, *mark}) == len(rewrite) + len(mark)
        assert all(task.file.kind is FileKind.BASE for task in plan.selection.mark)
        assert {*rewrite, *mark} <= {t.file.path for t in (*plan.files.base, *plan.files.inserts)}


@given(lakes(), all_settings(), KINDS)
def test_what_changes_touch_up_to_the_horizon_is_worked_on(
    lake: Lake, settings: OptimizeSettings, kinds: list[OptimizeType]
) -> None:
    """Every insert, and every base file with a row that a change delete kills."""
    for plan in plan_of(lake, settings, kinds).partitions:
        touched = {task.file.path for task in plan.files.inserts}
        touched |= {
            task.file.path
            for task in plan.files.base
            for row in lake.rows[task.file.path]
            for killer in lake.killers(task.file, row)
            if killer.sequence_number <= plan.files.horizon
        }
        selected = (*plan.selection.rewrite, *plan.selection.mark)

        assert touched <= {task.file.path for task in selected}


@given(lakes(), all_settings(), KINDS)
def test_a_change_delete_reaches_every_task_with_a_row_to_kill(
    lake: Lake, settings: OptimizeSettings, kinds: list[OptimizeType]
) -> None:
    """Tasks may get more deletes than they need, never fewer."""
    for plan in plan_of(lake, settings, kinds).partitions:
        for task in plan.tasks:
            given_paths = {delete.path for delete in task.change_deletes}
            needed = {
                killer.path
                for each in (*task.rewrite, *task.mark)
                for row in lake.rows[each.file.path]
                for killer in lake.killers(each.file, row)
                if killer.sequence_number <= plan.files.horizon
            }

            assert needed <= given_paths


@given(lakes(), all_settings(), KINDS)
def test_a_position_delete_goes_only_with_all_its_data_files(
    lake: Lake, settings: OptimizeSettings, kinds: list[OptimizeType]
) -> None:
    """What is removed applies to no file that is left alone, and nothing else of them stays."""
    for plan in plan_of(lake, settings, kinds).partitions:
        worked_on = {t.file.path for t in (*plan.selection.rewrite, *plan.selection.mark)}
        users: dict[str, set[str]] = {}
        for task in plan.files.base:
            for delete in task.position_deletes:
                users.setdefault(delete.path, set()).add(task.file.path)

        for path, data in users.items():
            assert (path in plan.removed_paths) == (data <= worked_on)


@given(lakes(), all_settings(), KINDS, trees())
def test_tasks_of_a_partition_share_no_key(
    lake: Lake, settings: OptimizeSettings, kinds: list[OptimizeType], tree: NodeTree
) -> None:
    """Nodes of rewriting tasks overlap only where key ranges take each key exactly once."""
    for plan in plan_of(lake, settings, kinds, tree).partitions:
        by_node: dict[TreeNode, list[Predicate | None]] = {}
        for task in plan.tasks:
            if task.rewrite:
                by_node.setdefault(task.node, []).append(task.row_range)
        for node in by_node:
            assert not any(node.overlaps(other) for other in by_node if other != node)
        for ranges in by_node.values():
            if len(ranges) > 1:
                for key in KEYS:
                    if key[0] is not None:
                        assert sum(matches(each, key[0]) for each in ranges) == 1


@given(lakes(), all_settings(), st.integers(1, 8))
def test_groups_hold_every_task_once_and_are_balanced(
    lake: Lake, settings: OptimizeSettings, parallelism: int
) -> None:
    """No group weighs more than an even share and the heaviest task together."""
    partitions = [(files, OptimizeType.FULL) for files in partitions_of(lake, settings)]
    plan = plan_optimize(partitions, table=TABLE, settings=settings, parallelism=parallelism)
    tasks = [task for each in plan.partitions for task in each.tasks]
    grouped = [task for group in plan.groups for task in group.tasks]

    assert Counter(map(id, tasks)) == Counter(map(id, grouped))
    assert [group.number for group in plan.groups] == list(range(len(plan.groups)))
    costs = [group.cost_bytes for group in plan.groups]
    assert costs == sorted(costs, reverse=True)
    if tasks:
        heaviest = max(task.cost_bytes for task in tasks)
        assert costs[0] <= sum(costs) / len(costs) + heaviest


@given(lakes(), all_settings(), KINDS)
def test_a_plan_is_a_value(
    lake: Lake, settings: OptimizeSettings, kinds: list[OptimizeType]
) -> None:
    """Twice the same, and a task survives the way to an executor."""
    plan = plan_of(lake, settings, kinds)

    assert plan == plan_of(lake, settings, kinds)
    assert pickle.loads(pickle.dumps(plan.groups)) == plan.groups


@given(lakes(), st.integers(1, 12))
def test_the_horizon_never_splits_what_transactions_tie_together(
    lake: Lake, max_files: int
) -> None:
    """In a partition, what it takes is older than what it leaves; few files are all taken."""
    horizon = merge_horizon(lake.change, lake.base, lake.snapshot, max_change_files=max_files)
    newest = lake.snapshot.change_sequence_number
    for partition in {file.partition for file in lake.unmerged}:
        unmerged = [file for file in lake.unmerged if file.partition == partition]
        taken = [file.transaction_id for file in unmerged if file.sequence_number <= horizon]
        taken += [file.transaction_id for file in lake.base if file.partition == partition]
        left = [file.transaction_id for file in unmerged if file.sequence_number > horizon]

        assert not taken or not left or max(taken) < min(left)

    assert not lake.unmerged or any(file.sequence_number <= horizon for file in lake.unmerged)
    assert horizon == newest or len(lake.unmerged) > max_files


@given(lakes())
def test_repeated_runs_merge_everything(lake: Lake) -> None:
    """However few files a run may take, each takes some, and their order is kept."""
    settings = settings_of(max_file_count="1")
    plan = plan_of(lake, settings, [OptimizeType.MINOR])

    advanced = [each for each in plan.partitions if each.advances]
    assert bool(advanced) == bool(lake.unmerged)
    assert all(each.files.horizon > each.files.merged_up_to for each in advanced)


def test_many_small_transactions_are_taken_as_far_as_allowed() -> None:
    """Two files for each of five commits, at most five: the first two commits."""
    files = [
        named_file(
            FileKind.INSERT,
            name_of(FileKind.INSERT, number=10 * sequence + number),
            sequence_number=sequence,
            keys=(1, 2),
        )
        for sequence in range(1, 6)
        for number in range(2)
    ]
    lake = Lake(
        base=(),
        position_deletes=(),
        change=tuple(files),
        snapshot=TableSnapshot(
            base_snapshot_id=None,
            change_snapshot_id=1,
            change_sequence_number=5,
            optimized_sequence={},
        ),
        rows={},
        positions={},
    )
    (found,) = partitions_of(lake, settings_of(max_file_count="5"))

    assert found.horizon == 2
    assert len(found.inserts) == 4

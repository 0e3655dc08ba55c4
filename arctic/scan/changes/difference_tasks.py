"""Files of two states become tasks, in which all rows of a key stand side by side.

Rules:
    - Files whose nodes overlap go to one task, as for ranges of commits.
    - A file that is in both states with the same deletes and rivals has the same rows in both: it
      is left out.
    - The same files make the same tasks, in whatever order they arrive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from arctic.scan.assemble import assemble
from arctic.scan.changes.change_tasks import Kin, packed
from arctic.scan.choose.plan_files import FilesToRead
from arctic.scan.file_order import node_order
from arctic.scan.reach import FileRanges
from arctic.scan.task import FileTask, NodeTask, ScanOptions
from arctic.table.files import Partition, TableFile
from arctic.table.merge_engine import MergeEngine
from arctic.tree.node import TreeNode

_Place = tuple[Partition, TreeNode, bool]
"""With whether its inserts are folded: they are a task of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceTask:
    """Nodes of two states that may hold the same keys."""

    before: tuple[NodeTask, ...]
    after: tuple[NodeTask, ...]
    cost_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceGroup:
    """What one Spark task reads: its tasks, one after the other."""

    tasks: tuple[DifferenceTask, ...]
    version: int
    """Of the commit that the difference is told as."""
    time_ms: int
    """When that was."""


def plan_difference(
    before: FilesToRead,
    after: FilesToRead,
    *,
    key_ids: tuple[int, ...],
    ordering_ids: tuple[int, ...],
    engine: MergeEngine,
    keys_move: bool,
    options: ScanOptions,
) -> list[tuple[DifferenceTask, ...]]:
    """Arrange the files of two states.

    Args:
        before: files of the merged view of the first.
        after: of the second.
        key_ids: field ids of the primary key.
        ordering_ids: field ids of the table's ordering columns; empty: it has none.
        engine: what becomes of the rows of a key.
        keys_move: whether a key can change its partition.
        options: how the read is divided.

    Returns:
        Tasks of each group, the heaviest first; none where the states have the same files.
    """
    ranges, cost_bytes = FileRanges(key_ids, ordering_ids, engine), options.open_file_cost_bytes
    old, new = (
        {
            (task.partition, task.node, task.folds): task
            for task in assemble(files, ranges=ranges, open_file_cost_bytes=cost_bytes)[0]
        }
        for files in (before, after)
    )
    sides = _without_common(old, new), _without_common(new, old)
    kin = Kin([place[:2] for side in sides for place in side], keys_move=keys_move)
    found: dict[Hashable, tuple[list[NodeTask], list[NodeTask]]] = defaultdict(lambda: ([], []))
    for number, side in enumerate(sides):
        for place in sorted(side, key=lambda place: (node_order(*place[:2]), place[2])):
            found[kin.of(*place[:2])][number].append(side[place])
    tasks = [
        DifferenceTask(
            before=tuple(olds),
            after=tuple(news),
            cost_bytes=sum(task.cost_bytes for task in (*olds, *news)),
        )
        for olds, news in found.values()
    ]
    return packed(tasks, options.max_groups)


def _without_common(
    side: dict[_Place, NodeTask], other: dict[_Place, NodeTask]
) -> dict[_Place, NodeTask]:
    """Return the nodes of a state without the files whose rows are the same in the other."""
    left = {}
    for place, task in side.items():
        there = other.get(place)
        data = task.data
        if there is not None and _looked_up(there) == _looked_up(task):
            same = {_said(each) for each in there.data}
            others = tuple(each for each in data if _said(each) not in same)
            # Of what is folded a row can differ by one of its files alone.
            data = data if task.folds and (others or len(same) > len(data)) else others
        if data:
            left[place] = replace(task, data=data)
    return left


def _looked_up(task: NodeTask) -> tuple[frozenset[str], frozenset[tuple[str, frozenset[str]]]]:
    return _paths(task.change_deletes), frozenset(_said(rival) for rival in task.rivals)


def _said(task: FileTask) -> tuple[str, frozenset[str]]:
    return task.file.path, _paths(task.position_deletes)


def _paths(files: Sequence[TableFile]) -> frozenset[str]:
    return frozenset(file.path for file in files)

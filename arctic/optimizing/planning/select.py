"""Which files of a partition a run rewrites, and which it only writes position deletes for.

Rules:
    - Every data file that a change delete up to the horizon can reach is rewritten or marked, and
      every insert up to the horizon is rewritten: the changes count as merged afterwards.
    - A position-delete file goes with all its data files or with none, so that it can be removed.
    - A file that would come out unchanged is left alone, except by a full.

Source: amoro AbstractPartitionPlan, MixedIcebergPartitionPlan @96a4d781a. Differs: a change
delete concerns a file only if its key range and transaction can reach it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from arctic.optimizing.planning.health import is_worn, joinable_segments
from arctic.optimizing.planning.overlap import overlapping_segments
from arctic.optimizing.planning.partition_files import PartitionFiles
from arctic.optimizing.planning.subtrees import subtree_roots
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.scan.assemble import ChangeDeleteIndex
from arctic.scan.reach import FileRanges, Reach, ReachIndex
from arctic.scan.task import FileTask
from arctic.table.files import FileKind
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import NodeTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The files of one partition that a run works on; no file is in both lists."""

    rewrite: tuple[FileTask, ...]
    """Their surviving rows go to new base files."""
    mark: tuple[FileTask, ...]
    """Base files that stay, with one new position-delete file each."""


def select(
    files: PartitionFiles,
    kind: OptimizeType,
    *,
    settings: OptimizeSettings,
    ranges: FileRanges,
) -> Selection:
    """Choose what a run of some type works on.

    Args:
        files: of one partition.
        kind: the type of the run.
        settings: of the table.
        ranges: of the primary key; of no columns for an unkeyed table.
    """
    reached = _reached(files, ranges)
    joinable = frozenset[str]()
    if kind is OptimizeType.MAJOR:
        nodes = joinable_segments((task.file for task in files.base), files.tree, settings)
        nodes += overlapping_segments(files.base, files.tree, files.sort_column, settings)
        joinable = frozenset(file.path for found in nodes for file in found)
    rewrite = [
        task
        for task in files.base
        if task.file.path in joinable
        or _is_rewritten(task, kind, settings, is_reached=task.file.path in reached)
    ]
    rewrite += files.inserts
    if kind is not OptimizeType.FULL:
        rewrite = _without_pointless(rewrite, reached, files.tree)
    rewritten = {task.file.path for task in rewrite}
    kept = [task for task in files.base if task.file.path not in rewritten]
    due = [task for task in kept if task.file.path in reached or len(task.position_deletes) > 1]
    # A file with several is due itself, so one that shares a position delete brings no other along.
    shared = {delete.path for task in (*rewrite, *due) for delete in task.position_deletes}
    mark = tuple(
        task
        for task in kept
        if task.file.path in reached or any(d.path in shared for d in task.position_deletes)
    )
    return Selection(rewrite=tuple(rewrite), mark=mark)


def _reached(files: PartitionFiles, ranges: FileRanges) -> frozenset[str]:
    """Return the paths of base files that some change delete can touch."""
    index = ChangeDeleteIndex(files.change_deletes, ranges)
    found = set()
    for task in files.base:
        rows = ReachIndex.of([task.file], ranges)
        candidates = index.overlapping(files.partition, task.file.node)
        if any(rows.judge(delete, keys) is Reach.POSSIBLE for delete, keys in candidates):
            found.add(task.file.path)
    return frozenset(found)


def _is_rewritten(
    task: FileTask, kind: OptimizeType, settings: OptimizeSettings, *, is_reached: bool
) -> bool:
    size = task.file.size_bytes
    if size <= settings.fragment_bytes:
        return True
    if kind is OptimizeType.MINOR:
        return False
    if kind is OptimizeType.MAJOR:
        return is_worn(task, settings)
    has_deletes = is_reached or bool(task.position_deletes)
    return settings.rewrites_all or has_deletes or size <= settings.min_target_bytes


def _without_pointless(
    rewrite: Sequence[FileTask], reached: Collection[str], tree: NodeTree
) -> list[FileTask]:
    """Leave out a file that alone would become one file again."""
    roots = subtree_roots([task.file.node for task in rewrite], tree)
    by_root: dict[TreeNode, list[FileTask]] = defaultdict(list)
    for task in rewrite:
        by_root[roots[task.file.node]].append(task)
    return [
        task
        for tasks in by_root.values()
        for task in tasks
        if len(tasks) > 1 or task.position_deletes or task.file.path in reached or _is_insert(task)
    ]


def _is_insert(task: FileTask) -> bool:
    return task.file.kind is FileKind.INSERT

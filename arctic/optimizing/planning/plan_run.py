"""The steps of planning a run, in order: select, divide into tasks, balance.

A plan is a value: the same files, settings and types give the same plan. It says everything that
the commit needs to know of what was planned on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from arctic.optimizing.optimize_task import OptimizeTask, OptimizeTaskGroup
from arctic.optimizing.planning.balance import balance
from arctic.optimizing.planning.divide import RangePart, divide_by_range
from arctic.optimizing.planning.grow_tree import output_nodes
from arctic.optimizing.planning.partition_files import PartitionFiles
from arctic.optimizing.planning.select import Selection, select
from arctic.optimizing.planning.subtrees import subtree_roots
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.scan.assemble import ChangeDeleteIndex
from arctic.scan.reach import FileRanges, Reach, ReachIndex
from arctic.scan.rivals import RivalIndex
from arctic.scan.task import FileTask, packing_weight_bytes
from arctic.table.files import FileKind, TableFile
from arctic.table.table_description import Column, TableDescription
from arctic.tree.node import MAX_MASK, TreeNode
from arctic.tree.node_tree import NodeTree

_MARK_SHARE = 10
"""Reading the keys of a file costs about a tenth of rewriting it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlan:
    """What a run does with one partition."""

    files: PartitionFiles
    """What was planned on."""
    type: OptimizeType
    selection: Selection
    tasks: tuple[OptimizeTask, ...]

    @property
    def removed_paths(self) -> frozenset[str]:
        """Base and position-delete files that the commit removes."""
        rewrite, mark = self.selection.rewrite, self.selection.mark
        replaced = {task.file.path for task in rewrite if task.file.kind is FileKind.BASE}
        return frozenset(
            replaced.union(d.path for task in (*rewrite, *mark) for d in task.position_deletes)
        )

    @property
    def merged_up_to(self) -> int:
        """The optimized sequence of the partition after the run.

        It stays where there is no change to merge: a higher one would refuse an overwrite that
        began before, for the sake of changes that do not exist.
        """
        return self.files.horizon if self.advances else self.files.merged_up_to

    @property
    def advances(self) -> bool:
        """Whether the run merges changes, even if they are only deletes that remove no row."""
        return bool(self.files.inserts or self.files.change_deletes)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizePlan:
    """Everything that is decided about a run before the first row."""

    partitions: tuple[PartitionPlan, ...]
    """Those with something to do, in planning order."""
    groups: tuple[OptimizeTaskGroup, ...]
    """The heaviest first."""


def plan_optimize(
    partitions: Sequence[tuple[PartitionFiles, OptimizeType]],
    *,
    table: TableDescription,
    settings: OptimizeSettings,
    parallelism: int,
    sort_column: Column | None = None,
) -> OptimizePlan:
    """Plan a run.

    Args:
        partitions: files and type of each partition that is worked on.
        table: the table.
        settings: of the table.
        parallelism: tasks that run at a time.
        sort_column: the first one that rows are sorted by; None: they are not.
    """
    ranges = FileRanges(
        tuple(column.field_id for column in table.key_columns),
        tuple(column.field_id for column in table.order_columns),
        table.merge_engine,
    )
    column = sort_column or next(iter(table.key_columns), None)
    if table.fold is not None:
        # Only by its key a row can be told from others before it is folded.
        column = table.key_columns[0]
    plans = [_plan_partition(files, kind, column, settings, ranges) for files, kind in partitions]
    useful = tuple(plan for plan in plans if plan.tasks or plan.advances)
    tasks = [task for plan in useful for task in plan.tasks]
    return OptimizePlan(
        partitions=useful, groups=balance(tasks, settings=settings, parallelism=parallelism)
    )


def _plan_partition(
    files: PartitionFiles,
    kind: OptimizeType,
    column: Column | None,
    settings: OptimizeSettings,
    ranges: FileRanges,
) -> PartitionPlan:
    selection = select(files, kind, settings=settings, ranges=ranges)
    index = ChangeDeleteIndex(files.change_deletes, ranges)
    rivals = RivalIndex(files.rivals, ranges)
    maker = _TaskMaker(files, column, settings, ranges, index, rivals)
    rewrites = _by_root(selection.rewrite, files.tree)
    marks = _by_root(selection.mark, files.tree, _mark_mask(selection.mark, settings))
    tasks: list[OptimizeTask] = []
    for root in sorted({*rewrites, *marks}, key=lambda root: root.node_id):
        tasks += maker.tasks(root, rewrites.get(root, []), marks.get(root, []))
    return PartitionPlan(files=files, type=kind, selection=selection, tasks=tuple(tasks))


class _TaskMaker:
    """Makes the tasks of one partition's subtrees."""

    def __init__(
        self,
        files: PartitionFiles,
        column: Column | None,
        settings: OptimizeSettings,
        ranges: FileRanges,
        index: ChangeDeleteIndex,
        rivals: RivalIndex,
    ) -> None:
        self._partition = files.partition
        self._tree = files.tree
        self._column = column
        self._settings = settings
        self._ranges = ranges
        self._index = index
        self._rivals = rivals

    def tasks(
        self, root: TreeNode, rewrite: Sequence[FileTask], mark: Sequence[FileTask]
    ) -> list[OptimizeTask]:
        """Make the tasks of one subtree."""
        limit = self._settings.max_task_bytes
        heavy = _bytes(rewrite) + _bytes(mark) // _MARK_SHARE > limit
        if not heavy:
            whole = RangePart(row_range=None, files=tuple(rewrite), bytes=_bytes(rewrite))
            return [self._task(root, whole, mark)]
        parts = self._parts(rewrite) if rewrite else ()
        chunks = _chunks(self._in_key_order(mark), max_bytes=limit * _MARK_SHARE)
        nothing = RangePart(row_range=None, files=(), bytes=0)
        return [
            *(self._task(root, part, ()) for part in parts),
            *(self._task(root, nothing, chunk) for chunk in chunks),
        ]

    def _parts(self, rewrite: Sequence[FileTask]) -> Sequence[RangePart]:
        """Divide the rewriting of a heavy subtree.

        Where small files are all there is, the parts must leave fewer of them: else the next run
        would find the same files, and do the same again.
        """
        # Below the target, what a part writes would be too small for ever.
        limit = max(self._settings.max_task_bytes, self._settings.target_bytes)
        parts = self._divided(rewrite, max_bytes=limit)
        if any(not self._is_small_base(task.file) for task in rewrite):
            return parts
        while len(parts) > 1 and self._files_after(parts) >= len(rewrite):
            limit *= 2
            parts = self._divided(rewrite, max_bytes=limit)
        return parts

    def _divided(self, rewrite: Sequence[FileTask], *, max_bytes: int) -> Sequence[RangePart]:
        if self._column is None:
            return [
                RangePart(row_range=None, files=tuple(chunk), bytes=_bytes(chunk))
                for chunk in _chunks(rewrite, max_bytes=max_bytes)
            ]
        return divide_by_range(rewrite, column=self._column, max_bytes=max_bytes)

    def _is_small_base(self, file: TableFile) -> bool:
        return file.kind is FileKind.BASE and file.size_bytes <= self._settings.min_target_bytes

    def _files_after(self, parts: Sequence[RangePart]) -> int:
        return sum(max(1, -(-part.bytes // self._settings.target_bytes)) for part in parts)

    def _task(self, root: TreeNode, part: RangePart, mark: Sequence[FileTask]) -> OptimizeTask:
        data = [task.file for task in (*part.files, *mark)]
        deletes = self._deletes(root, data)
        # Files of like size, so that none is left over as a fragment; and one that is a quarter
        # too large is better than two halves.
        size = self._settings.target_bytes
        count = max(1, -(-(4 * part.bytes - size) // (4 * size)))
        return OptimizeTask(
            partition=self._partition,
            node=root,
            rewrite=tuple(part.files),
            mark=tuple(mark),
            change_deletes=tuple(deletes),
            rivals=self._rivals.of(self._partition, root, data),
            row_range=part.row_range,
            target_bytes=-(-part.bytes // count) or size,
            base_nodes=output_nodes(self._tree, root, part.bytes, self._settings),
            cost_bytes=2 * part.bytes
            + _bytes(mark) // _MARK_SHARE
            + packing_weight_bytes(
                deletes, open_file_cost_bytes=self._settings.open_file_cost_bytes
            )
            + len(data) * self._settings.open_file_cost_bytes,
        )

    def _deletes(self, root: TreeNode, data: Sequence[TableFile]) -> list[TableFile]:
        rows = ReachIndex.of(data, self._ranges)
        return [
            delete
            for delete, keys in self._index.overlapping(self._partition, root)
            if rows.judge(delete, keys) is Reach.POSSIBLE
        ]

    def _in_key_order(self, files: Sequence[FileTask]) -> list[FileTask]:
        def order(task: FileTask) -> tuple[bool, object, str]:
            columns = self._ranges.of(task.file).columns
            lower = columns[0].lower if columns else None
            return (lower is None, 0 if lower is None else lower, task.file.path)

        return sorted(files, key=order)


def _mark_mask(files: Sequence[FileTask], settings: OptimizeSettings) -> int:
    """Return how deep files are told apart to be marked.

    Each task loads the deletes of its node and of those above it, so nodes are marked together as
    far as one task can do it.
    """
    tasks = _bytes(files) // (settings.max_task_bytes * _MARK_SHARE)
    return max(settings.base_buckets - 1, (1 << tasks.bit_length()) - 1)


def _by_root(
    files: Sequence[FileTask], tree: NodeTree, mask: int = MAX_MASK
) -> Mapping[TreeNode, list[FileTask]]:
    roots = subtree_roots([task.file.node for task in files], tree, mask=mask)
    found: dict[TreeNode, list[FileTask]] = defaultdict(list)
    for task in files:
        found[roots[task.file.node]].append(task)
    return found


def _chunks(files: Sequence[FileTask], *, max_bytes: int) -> list[list[FileTask]]:
    """Divide files into runs of neighbours, each up to a size or of a single file."""
    chunks: list[list[FileTask]] = []
    size = 0
    for task in files:
        if not chunks or size + task.file.size_bytes > max_bytes:
            chunks.append([])
            size = 0
        chunks[-1].append(task)
        size += task.file.size_bytes
    return chunks


def _bytes(files: Iterable[FileTask]) -> int:
    return sum(task.file.size_bytes for task in files)

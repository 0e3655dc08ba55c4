"""One task for each node that holds data, with every change delete that can touch it.

Rules:
    - Data never moves: a base or insert file is read as part of its own node. Only where all rows
      of a key become one, inserts are tasks of their own, each of all nodes that overlap.
    - Deletes do: one of an ancestor sinks to the node, one of a descendant floats up to it.
    - A delete acts inside its partition only.
    - A node that holds nothing but deletes makes no task.
    - A delete is left off a task only where its key range or its transaction shows that no row
      of the task can die by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from arctic.scan.choose.plan_files import FilesToRead
from arctic.scan.file_order import age_order
from arctic.scan.reach import FileRanges, Reach, ReachIndex
from arctic.scan.rivals import RivalIndex
from arctic.scan.task import FileTask, NodeTask, PruneCounts, packing_weight_bytes
from arctic.table.files import FileKind, Partition, TableFile
from arctic.tree.key_range import KeyRange
from arctic.tree.node import TreeNode


def assemble(
    files: FilesToRead, *, ranges: FileRanges, open_file_cost_bytes: int
) -> tuple[tuple[NodeTask, ...], PruneCounts]:
    """Group data files by partition and node, and attach the change deletes.

    Args:
        files: in planning order.
        ranges: of the primary key.
        open_file_cost_bytes: the least that a file weighs.

    Returns:
        Tasks in planning order, and the deletes that were left off.
    """
    index = ChangeDeleteIndex(files.change_deletes, ranges)
    rivals = RivalIndex(files.rivals, ranges) if files.rivals else None
    nodes: dict[tuple[Partition, TreeNode, bool], list[FileTask]] = defaultdict(list)
    tops = _top_nodes(files.data) if ranges.engine.folds else {}
    for task in files.data:
        place = task.file.partition, task.file.node
        folds = bool(tops) and task.file.kind is FileKind.INSERT
        nodes[(task.file.partition, tops[place], True) if folds else (*place, False)].append(task)
    tasks = []
    verdicts: dict[Reach, int] = dict.fromkeys(Reach, 0)
    used: set[str] = set()
    for (partition, node, folds), data in nodes.items():
        candidates = index.overlapping(partition, node)
        rows = [task.file for task in data]
        deletes = _judged(rows, candidates, ranges, verdicts)
        used.update(delete.path for delete in deletes)
        weighed = chain(rows, deletes)
        tasks.append(
            NodeTask(
                partition=partition,
                node=node,
                data=tuple(data),
                change_deletes=tuple(deletes),
                rivals=() if rivals is None else rivals.of(partition, node, rows),
                folds=folds,
                cost_bytes=packing_weight_bytes(weighed, open_file_cost_bytes=open_file_cost_bytes),
            )
        )
    return tuple(tasks), PruneCounts(
        idle_change_deletes=len(files.change_deletes) - len(used),
        pairs_by_lsn=verdicts[Reach.TOO_OLD],
        pairs_by_key_range=verdicts[Reach.OTHER_KEYS],
    )


def _top_nodes(
    data: Sequence[FileTask],
) -> dict[tuple[Partition, TreeNode], TreeNode]:
    """Return for each node with inserts the topmost one that may have inserts of the same keys."""
    places = {
        (task.file.partition, task.file.node) for task in data if task.file.kind is FileKind.INSERT
    }
    by_id = {(partition, node.node_id): node for partition, node in places}
    tops = {}
    for partition, node in places:
        above = [(partition, each) for each in node.lineage_ids()]
        tops[partition, node] = by_id[[each for each in above if each in by_id][-1]]
    return tops


def _judged(
    data: Sequence[TableFile],
    candidates: Sequence[tuple[TableFile, KeyRange]],
    ranges: FileRanges,
    verdicts: dict[Reach, int],
) -> list[TableFile]:
    """Return the deletes that can touch the data, oldest first, and count all verdicts."""
    if not candidates:
        return []
    rows = ReachIndex.of(data, ranges)
    deletes = []
    for delete, keys in candidates:
        verdict = rows.judge(delete, keys)
        verdicts[verdict] += 1
        if verdict is Reach.POSSIBLE:
            deletes.append(delete)
    return sorted(deletes, key=age_order)


class ChangeDeleteIndex:
    """Finds the change deletes of a node, its ancestors and its descendants."""

    __slots__ = ("_at", "_below")

    def __init__(self, deletes: Sequence[TableFile], ranges: FileRanges) -> None:
        self._at: dict[tuple[Partition, int], list[tuple[TableFile, KeyRange]]] = {}
        self._below: dict[tuple[Partition, int], list[tuple[TableFile, KeyRange]]] = {}
        for delete in deletes:
            entry = (delete, ranges.of(delete))
            own_id, *ancestor_ids = delete.node.lineage_ids()
            self._at.setdefault((delete.partition, own_id), []).append(entry)
            for node_id in ancestor_ids:
                self._below.setdefault((delete.partition, node_id), []).append(entry)

    def overlapping(
        self, partition: Partition, node: TreeNode
    ) -> Sequence[tuple[TableFile, KeyRange]]:
        """Return each delete of an overlapping node once, with its key range."""
        return list(self._overlapping(partition, node))

    def _overlapping(
        self, partition: Partition, node: TreeNode
    ) -> Iterator[tuple[TableFile, KeyRange]]:
        for node_id in node.lineage_ids():
            yield from self._at.get((partition, node_id), ())
        yield from self._below.get((partition, node.node_id), ())

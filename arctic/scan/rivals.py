"""Which merged files can hold what outdoes an insert, where rows are held against one another.

Rules:
    - A merged row or delete outdoes an insert of the same key iff its values in the ordering
      columns are greater: at equal ones the later commit wins, and that is the insert.
    - Where the first row of a key stays, any merged row of the key outdoes an insert.
    - A rival is left off only where its keys, or the bounds of the first ordering column, show that
      it outdoes none of the inserts.
"""

from __future__ import annotations

from collections.abc import Sequence

from arctic.scan.file_order import in_file_order
from arctic.scan.reach import FileRanges
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, Partition, TableFile, Value
from arctic.tree.key_range import KeyRangeIndex
from arctic.tree.node import TreeNode


class RivalIndex:
    """Finds the rivals of the inserts of a node."""

    __slots__ = ("_by_partition", "_ranges")

    def __init__(self, rivals: Sequence[FileTask], ranges: FileRanges) -> None:
        self._ranges = ranges
        self._by_partition: dict[Partition, list[FileTask]] = {}
        for rival in rivals:
            self._by_partition.setdefault(rival.file.partition, []).append(rival)

    def of(
        self, partition: Partition, node: TreeNode, data: Sequence[TableFile]
    ) -> tuple[FileTask, ...]:
        """Return the rivals of the inserts among some data files of a node, in file order."""
        near = [
            rival
            for rival in self._by_partition.get(partition, ())
            if rival.file.node.overlaps(node)
        ]
        return rivals_of(data, near, self._ranges)


def rivals_of(
    data: Sequence[TableFile], rivals: Sequence[FileTask], ranges: FileRanges
) -> tuple[FileTask, ...]:
    """Return those of some rivals that can outdo an insert among some data files."""
    inserts = [file for file in data if file.kind is FileKind.INSERT]
    if not inserts or not rivals:
        return ()
    keys = KeyRangeIndex([ranges.of(file) for file in inserts])
    ordering_ids = ranges.ordering_ids
    least = _least(inserts, ordering_ids[0]) if ordering_ids else None
    found = {
        rival.file.path: rival
        for rival in rivals
        if any(True for _ in keys.overlapping(ranges.of(rival.file)))
        and (not ordering_ids or _may_outdo(rival.file, least, ordering_ids))
    }
    return tuple(found[file.path] for file in in_file_order(each.file for each in found.values()))


def _least(inserts: Sequence[TableFile], field_id: int) -> Value:
    """Return a value that no insert is below; None: unknown."""
    values: list[int] = []
    for file in inserts:
        bounds = file.bounds.get(field_id)
        if bounds is None or bounds.null_count != 0 or not isinstance(bounds.lower, int):
            return None
        values.append(bounds.lower)
    return min(values)


def _may_outdo(rival: TableFile, least: Value, ordering_ids: Sequence[int]) -> bool:
    bounds = rival.bounds.get(ordering_ids[0])
    if bounds is None or not isinstance(bounds.upper, int) or not isinstance(least, int):
        return True
    # With further columns, one that is equal here can be greater there.
    return bounds.upper > least or (bounds.upper == least and len(ordering_ids) > 1)

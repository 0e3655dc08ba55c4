"""Files of a node that lie over one another by the first sort column: the worst place of each node.

Where one value can be in many files, a filter opens them all. Sorted together, the files over the
worst place follow one another: no place has more files over it then than before, and that one has a
single file. So improving the worst place first comes to an end, and what is in order is never
touched.

Rules:
    - Only segments count: fragments are joined anyway.
    - Files that only meet at a value do not lie over one another there.
    - A file whose bounds are not known exactly counts as in order: texts are cut after some
      characters, and files that differ behind them would never come apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from arctic.optimizing.settings import OptimizeSettings
from arctic.scan.task import FileTask
from arctic.table.files import TableFile
from arctic.table.table_description import Column
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import NodeTree

CUT_CHARACTERS = 16
"""Of bounds of texts and bytes, unless a table asks for whole ones."""


def overlapping_segments(
    base: Iterable[FileTask], tree: NodeTree, column: Column | None, settings: OptimizeSettings
) -> list[list[TableFile]]:
    """Return the segments over the worst place of each node that has too many of them there.

    Args:
        base: base files of one partition, with the bounds of the column.
        tree: of the partition.
        column: the first that rows are sorted by, alone; None: rows are not sorted so.
        settings: of the table.
    """
    if column is None:
        return []
    by_node: dict[TreeNode, list[TableFile]] = defaultdict(list)
    for task in base:
        if task.file.size_bytes > settings.fragment_bytes:
            by_node[tree.capped(task.file.node)].append(task.file)
    worst = [deepest(files, column.field_id) for files in by_node.values()]
    return [files for files in worst if len(files) > settings.most_overlapping]


def deepest(files: Sequence[TableFile], field_id: int) -> list[TableFile]:
    """Return the files over the place where most lie over one another, in the given order.

    Args:
        files: with bounds of the column.
        field_id: of the column.
    """
    ends: list[tuple[Any, bool, int]] = []
    for number, file in enumerate(files):
        bounds = _exact_bounds(file, field_id)
        if bounds is not None:
            # At one value a file ends before another begins.
            ends += [(bounds[0], True, number), (bounds[1], False, number)]
    ends.sort()
    over: set[int] = set()
    found: set[int] = set()
    for _, begins, number in ends:
        if begins:
            over.add(number)
            found = set(over) if len(over) > len(found) else found
        else:
            over.remove(number)
    return [file for number, file in enumerate(files) if number in found]


def _exact_bounds(file: TableFile, field_id: int) -> tuple[Any, Any] | None:
    bounds = file.bounds.get(field_id)
    lower: Any = None if bounds is None else bounds.lower
    upper: Any = None if bounds is None else bounds.upper
    if lower is None or upper is None:
        return None
    if any(
        isinstance(each, str | bytes) and len(each) >= CUT_CHARACTERS for each in (lower, upper)
    ):
        return None
    return (lower, upper) if lower < upper else None

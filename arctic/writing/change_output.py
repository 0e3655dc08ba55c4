"""The insert and delete files of one task: to which nodes its changes go, and each to its file.

Rules:
    - All chunks go to the same nodes, so that each has one file, until these are too full: from the
      chunk on that would be more than one task merges, changes of the partition go one level
      deeper, and again when that is too much. What is written stays: readers take nodes of any
      depth.
    - Where most of a chunk's changes of a node are of one key, it stays: no depth divides these.
    - A table that states how many nodes it has keeps to it, and so does one whose keys may change
      their partition: their deletes know the least nodes only.

Memory: a number for each node that a task writes to, and what ``NodeFiles`` holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from arctic.errors import InternalError
from arctic.mor.request import FILE_OFFSET_FIELD
from arctic.table.files import FileKind, WrittenFile
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import MAX_TREE_DEPTH
from arctic.writing.files.node_files import Destination, NodeFiles
from arctic.writing.route import (
    Group,
    Partitions,
    Places,
    change_places,
    deepened,
    few_joined,
    find_partitions,
    group_rows,
)
from arctic.writing.rows.delete_rows import (
    ChangeDeletes,
    change_delete_schema,
    delete_table,
    insert_schema,
)
from arctic.writing.rows.gather import take_rows
from arctic.writing.target import TaskId, WriteTarget


class ChangeOutput:
    """What one task writes, and what its nodes have got so far."""

    def __init__(self, target: WriteTarget, task: TaskId) -> None:
        self.target = target
        """The table, with the nodes that it has come to."""
        self.inserts = 0
        self.deletes = 0
        self._rows: Counter[tuple[str, int]] = Counter()
        self._files = NodeFiles(
            target,
            task,
            schemas={
                FileKind.INSERT: insert_schema(target),
                FileKind.CHANGE_DELETE: change_delete_schema(target),
            },
            transaction_id=0,
        )

    def join_few(self, rows: pa.Table) -> None:
        """Take fewer nodes where all rows of the task are few; see ``route.few_joined``."""
        self.target = few_joined(self.target, rows)

    def go_deeper(self, row_count: int, *, is_all: bool) -> None:
        """Take the nodes that the rows of the first chunk call for; see ``route.deepened``."""
        self.target = deepened(self.target, row_count, is_all=is_all)

    def places(self, rows: pa.Table, hashes: np.ndarray) -> Places:
        """Return where the changes of a chunk go, which has the partition source columns."""
        return self.places_in(find_partitions(rows, self.target), hashes)

    def places_in(self, partitions: Partitions, hashes: np.ndarray) -> Places:
        """Return the same by the partition of each row."""
        paths = [self.target.partition_path(value) for value in partitions.values]
        while True:
            options = self.target.options
            places = change_places(partitions, hashes, self.target)
            if not options.grows or self.target.keys_move:
                return places
            counts = _counts(places)
            full = {
                code
                for (code, node), rows in counts.items()
                if self._rows[paths[code], node] + rows > options.node_rows
                and TreeNode.from_id(node).depth < MAX_TREE_DEPTH
                and _can_be_divided(places, hashes, code, node)
            }
            if not full:
                self._rows.update({(paths[code], node): n for (code, node), n in counts.items()})
                return places
            masks = {paths[code]: 2 * _mask(code, counts) + 1 for code in full}
            deep = {**options.deep_masks, **masks}
            self.target = replace(self.target, options=replace(options, deep_masks=deep))

    def write_deletes(
        self, rows: pa.Table, deletes: ChangeDeletes, located: pa.Table | None
    ) -> None:
        """Write what deletes stored rows.

        Args:
            rows: the chunk.
            deletes: of its rows, or of those that were located.
            located: rows that lie elsewhere than the chunk says; None: none do.
        """
        groups = group_rows(deletes.places)
        make = partial(delete_table, deletes, chunk=rows, located=located, target=self.target)
        self._files.add_made(
            [_destination(group, FileKind.CHANGE_DELETE) for group in groups],
            [partial(make, group.rows) for group in groups],
            rows=len(deletes.offsets),
        )
        self.deletes += len(deletes.offsets)

    def write_inserts(
        self, rows: pa.Table, numbers: np.ndarray, offsets: np.ndarray, places: Places | None
    ) -> None:
        """Write rows of a chunk.

        Args:
            rows: the chunk.
            numbers: of its rows that are written.
            offsets: of each of them.
            places: of all rows of the chunk; None: it lacks partition source columns.
        """
        if not len(numbers):
            return
        if places is None:
            raise InternalError("rows to insert without their partition source columns")
        payload = rows.select(self.target.schema.names)
        groups = group_rows(places.take(numbers))
        self._files.add_made(
            [_destination(group, FileKind.INSERT) for group in groups],
            [
                partial(_insert_table, payload, numbers[group.rows], offsets[group.rows])
                for group in groups
            ],
            rows=len(numbers),
        )
        self.inserts += len(numbers)

    def close(self) -> tuple[WrittenFile, ...]:
        """Complete the files; raises StorageError where one could not be written."""
        return self._files.close()

    def abort(self) -> None:
        """Give up, and remove what was written."""
        self._files.abort()


def _counts(places: Places) -> dict[tuple[int, int], int]:
    """Return how many rows each node of each partition, by its number, gets."""
    partitions, width = places.partitions, int(places.node_ids.max(initial=0)) + 1
    found, counts = np.unique(partitions.codes * width + places.node_ids, return_counts=True)
    return {
        divmod(place, width): count
        for place, count in zip(found.tolist(), counts.tolist(), strict=True)
    }


def _can_be_divided(places: Places, hashes: np.ndarray, code: int, node: int) -> bool:
    """Say whether no key has more than half of what a node gets."""
    rows = np.flatnonzero((places.partitions.codes == code) & (places.node_ids == node))
    return bool(2 * np.unique(hashes[rows], return_counts=True)[1].max() <= len(rows))


def _mask(code: int, counts: Mapping[tuple[int, int], int]) -> int:
    """Return the mask of the deepest node that a partition has rows for."""
    return max(TreeNode.from_id(node).mask for where, node in counts if where == code)


def _insert_table(payload: pa.Table, numbers: np.ndarray, offsets: np.ndarray) -> pa.Table:
    return take_rows(payload, numbers).append_column(FILE_OFFSET_FIELD.name, pa.array(offsets))


def _destination(group: Group, kind: FileKind) -> Destination:
    return Destination(partition=group.partition, node=group.node, kind=kind)

"""What planning hands to a reader: data files with the deletes that can touch them.

Everything here goes to executors, so it pickles small: paths and numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from arctic.errors import InternalError
from arctic.table.files import KeyedFile, Partition
from arctic.tree.node import TreeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """One data file, read whole, with its position deletes."""

    file: KeyedFile
    """A base or insert file; in a look at the change store alone, also a change delete."""
    position_deletes: tuple[KeyedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTask:
    """Data files of one node and every change delete that can kill a row of theirs."""

    partition: Partition
    node: TreeNode
    data: tuple[FileTask, ...]
    change_deletes: tuple[KeyedFile, ...] = ()
    cost_bytes: int
    """Sum over data and change-delete files of max(size, open-file cost)."""

    def __post_init__(self) -> None:
        """Refuse a task without rows."""
        if not self.data:
            raise InternalError(f"node task {self.node} of partition {self.partition} has no data")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTaskGroup:
    """What one Spark task reads: its node tasks, one after the other."""

    tasks: tuple[NodeTask, ...]
    cost_bytes: int
    """Sum of the tasks' costs, with change-delete files that they share counted once."""

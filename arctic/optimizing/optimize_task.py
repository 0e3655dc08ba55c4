"""What one task of a run does, and what it hands back; both pickle small."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.errors import InternalError
from arctic.scan.task import FileTask
from arctic.table.files import Partition, TableFile, WrittenFile
from arctic.table.filters.predicate import Predicate
from arctic.tree.node import TreeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeTask:
    """Files of one subtree, and which of their rows are worked on; no other task has those rows."""

    partition: Partition
    node: TreeNode
    """The subtree's root."""
    rewrite: tuple[FileTask, ...]
    """Their surviving rows within ``row_range`` go to new base files."""
    mark: tuple[FileTask, ...]
    """Each gets one position-delete file with all its deleted rows."""
    change_deletes: tuple[TableFile, ...]
    rivals: tuple[FileTask, ...] = ()
    """Merged files that can outdo an insert among the files; see ``NodeTask``."""
    row_range: Predicate | None
    """None: every row. Else other tasks of the subtree take the other rows."""
    target_bytes: int
    """Size at which a new base file is closed."""
    base_nodes: tuple[int, ...]
    """Ids of the nodes of new base files: all of the subtree's keys between them, none twice."""
    cost_bytes: int
    """What the task reads and writes."""

    def __post_init__(self) -> None:
        """Refuse a task without work, and one that would miss deleted rows."""
        if not self.rewrite and not self.mark:
            raise InternalError(f"optimize task of node {self.node} has no files")
        if self.mark and self.row_range is not None:
            raise InternalError(f"optimize task of node {self.node} marks rows of a key range only")

    @property
    def record_count(self) -> int:
        """Rows of its files; a task of one range counts all rows of each file that it shares."""
        return sum(task.file.record_count for task in (*self.rewrite, *self.mark))


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeTaskGroup:
    """Tasks that are run one after the other, by one worker."""

    number: int
    """Unique in the run."""
    tasks: tuple[OptimizeTask, ...]
    cost_bytes: int

    @property
    def record_count(self) -> int:
        """Rows of all its tasks."""
        return sum(task.record_count for task in self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeResult:
    """The files of one finished group; nobody refers to them yet."""

    number: int
    files: tuple[WrittenFile, ...]
    rows_written: int
    """Rows in new base files."""
    rows_marked: int
    """Positions in new position-delete files."""
    seconds: float

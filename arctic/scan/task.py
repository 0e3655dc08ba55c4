"""What planning hands on: the data files that a task reads, with the deletes that can touch them.

Files weigh by two formulas, for two questions.

``FileTask``, ``NodeTask`` and ``NodeTaskGroup`` go to executors, so they pickle small: paths and
numbers. ``ScanOptions`` and ``PruneCounts`` stay where the plan was made.

Source: amoro BasicKeyedTableScan @96a4d781a, of the weights. Differs: the packing weight of a task
counts its change deletes too, because a task that must read many deletes is not a light one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from arctic.errors import InternalError, InvalidInputError
from arctic.table.files import Partition, TableFile
from arctic.tree.node import TreeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """One data file, read whole, with its position deletes."""

    file: TableFile
    """A base or insert file; in a look at the change store alone, also a change delete."""
    position_deletes: tuple[TableFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTask:
    """Data files of one node and every change delete that can kill a row of theirs."""

    partition: Partition
    node: TreeNode
    data: tuple[FileTask, ...]
    change_deletes: tuple[TableFile, ...] = ()
    rivals: tuple[FileTask, ...] = ()
    """Where rows of a key are held against one another: merged files that can hold a row or a
    delete which outdoes an insert of the data. They are files of base and change deletes; no row of
    theirs is read."""
    cost_bytes: int
    """Sum over data and change-delete files of max(size, open-file cost)."""
    folds: bool = False
    """Whether its inserts become one row of each key, with what the rivals have of it: then all
    inserts that can have a key of theirs are here, and no row of a rival leaves with another."""
    part_number: int = 1
    """Which of the tasks that read this node, from 1 to ``part_count``, inclusive."""
    part_count: int = 1
    """How many tasks read this node together; 1 when it was not split."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """The options that decide how a read is divided."""

    weight_ratio: float
    """A node is split only while its data weighs more than this many times its deletes."""
    parallel_multiple: int
    """Task groups for each core of the parallelism."""
    parallelism: int
    """Cores that the read plans for."""
    target_bytes: int
    """Upper bound for the cost of one task, unless a single file is larger."""
    open_file_cost_bytes: int
    """The least that a file weighs, however small it is."""
    vector_min_rows: int | None
    """Fewer rows in files with deletes are merged, even where deletion vectors could be made;
    None: all, the small ones or none, as costs least."""

    def __post_init__(self) -> None:
        """Refuse values that would divide by zero or never end."""
        for field in fields(self):
            number = getattr(self, field.name)
            if number is not None and not number > 0:
                raise InvalidInputError(f"{field.name} = {number!r}: expected a number above 0")

    @property
    def max_groups(self) -> int:
        """How many groups a plan makes at most."""
        return self.parallelism * self.parallel_multiple


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneCounts:
    """What planning looked at, and what it left out for which reason.

    Each file that is left out is counted under one reason only.
    """

    manifests: int = 0
    """Manifests never opened: no partition of theirs can match the filter, or all is merged."""
    by_partition: int = 0
    """Files of either store whose partition cannot match the filter."""
    by_filter: int = 0
    """Data files whose column bounds cannot match the filter."""
    by_key: int = 0
    """Files of either store that can hold none of the keys that the filter asks for."""
    merged: int = 0
    """Change files that the base store already contains."""
    listed_again: int = 0
    """Files that a store lists more than once; they are read once."""
    idle_position_deletes: int = 0
    """Position-delete files that apply to no data file that is read."""
    idle_change_deletes: int = 0
    """Change-delete files that can touch no row that is read."""
    pairs_by_lsn: int = 0
    """Pairs of a task and an overlapping change delete that is older than every row in it."""
    pairs_by_key_range: int = 0
    """Pairs of a task and an overlapping change delete that holds other keys."""

    @property
    def files(self) -> int:
        """Files that were looked at one by one and left out."""
        return (
            self.by_partition
            + self.by_filter
            + self.by_key
            + self.merged
            + self.listed_again
            + self.idle_position_deletes
            + self.idle_change_deletes
        )

    def __add__(self, other: PruneCounts) -> PruneCounts:
        """Return the sums of two stages of planning."""
        return PruneCounts(
            **{
                field.name: getattr(self, field.name) + getattr(other, field.name)
                for field in fields(self)
            }
        )


def packing_weight_bytes(files: Iterable[TableFile], *, open_file_cost_bytes: int) -> int:
    """Return what reading the files costs: the sum of max(size, open-file cost).

    Answers how tasks are balanced. A tiny file is as dear as opening it.
    """
    sizes = [file.size_bytes for file in files]
    # Spelt out because planning weighs each delete for each task that it can touch.
    return sum([size if size > open_file_cost_bytes else open_file_cost_bytes for size in sizes])


def ratio_weight_bytes(files: Iterable[TableFile], *, open_file_cost_bytes: int) -> int:
    """Return what the files weigh against each other: the sum of (size + open-file cost).

    Answers whether the data of a node outweighs its deletes, which every part of it reads again.
    """
    return sum(file.size_bytes + open_file_cost_bytes for file in files)

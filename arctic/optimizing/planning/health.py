"""How far a partition is from what it would be after a full: counts, and one score.

Rules:
    - Fragments, segments and undersized segments are told apart by size alone; every insert file
      of the change store is a fragment as well.
    - The score compares what a read of the partition opens now with what it would open then.

Source: amoro CommonPartitionEvaluator @96a4d781a for the classes of files; the score is our own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arctic.optimizing.planning.overlap import overlapping_segments
from arctic.optimizing.planning.partition_files import PartitionFiles
from arctic.optimizing.settings import OptimizeSettings
from arctic.scan.task import FileTask, packing_weight_bytes
from arctic.table.files import Partition, TableFile
from arctic.tree.node import TreeNode
from arctic.tree.node_tree import NodeTree

COUNTED_FILES = (
    "fragments",
    "segments",
    "undersized",
    "inserts",
    "change_deletes",
    "position_deletes",
)
"""The classes of files of a partition, as ``status`` lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCounts:
    """Some files of one kind."""

    files: int
    rows: int
    bytes: int

    @classmethod
    def of(cls, files: Iterable[TableFile]) -> FileCounts:
        """Count files."""
        found = list(files)
        return cls(
            files=len(found),
            rows=sum(file.record_count for file in found),
            bytes=sum(file.size_bytes for file in found),
        )

    def __add__(self, other: FileCounts) -> FileCounts:
        """Return the sums."""
        return FileCounts(
            files=self.files + other.files,
            rows=self.rows + other.rows,
            bytes=self.bytes + other.bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionHealth:
    """What one partition consists of."""

    partition: Partition
    fragments: FileCounts
    """Base files up to target-size / fragment-ratio."""
    segments: FileCounts
    """The other base files."""
    undersized: FileCounts
    """Segments that are smaller than they should be."""
    inserts: FileCounts
    """Unmerged."""
    change_deletes: FileCounts
    """Unmerged."""
    position_deletes: FileCounts
    surplus_position_deletes: int
    """Position-delete files beyond the first of each data file."""
    fragment_nodes: int
    """Nodes with fragments: what a run leaves of them is one of each."""
    least_nodes: int
    """Of the partition: each may have one fragment that waits for others."""
    joinable_nodes: int
    """Nodes whose undersized segments would fill a file of the target size."""
    overlapping: int
    """The most segments of a node that can hold one value of the first sort column, where they are
    too many; else 0."""
    worn_segments: int
    """Segments with a larger share of deleted rows than ``duplicate-ratio``."""
    read_cost_bytes: int
    """What a read opens now, each file at least at its open-file cost."""
    ideal_cost_bytes: int
    """What it would open after a full."""

    @property
    def file_counts(self) -> dict[str, int]:
        """How many files there are of each of ``COUNTED_FILES``."""
        counted = {name: getattr(self, name) for name in COUNTED_FILES}
        return {name: counts.files for name, counts in counted.items()}

    @property
    def base(self) -> FileCounts:
        """Fragments and segments."""
        return self.fragments + self.segments

    @property
    def unmerged_files(self) -> int:
        """Change files that a read merges."""
        return self.inserts.files + self.change_deletes.files

    @property
    def unmerged_bytes(self) -> int:
        """Of them."""
        return self.inserts.bytes + self.change_deletes.bytes

    @property
    def stored_bytes(self) -> int:
        """Of all files that a read opens."""
        return self.base.bytes + self.position_deletes.bytes + self.unmerged_bytes

    @property
    def delete_files(self) -> int:
        """Delete files of both stores."""
        return self.change_deletes.files + self.position_deletes.files

    @property
    def duplicate_ratio(self) -> float:
        """Rows of base that position deletes remove, as a share of all."""
        return self.position_deletes.rows / self.base.rows if self.base.rows else 0.0

    @property
    def score(self) -> int:
        """100: a full would gain nothing; 50: a read opens twice what it would after one."""
        return health_score([self])


def health_score(partitions: Iterable[PartitionHealth]) -> int:
    """Return the score of several partitions together, 0 to 100; 100 without any.

    >>> health_score([])
    100
    """
    found = list(partitions)
    cost = sum(each.read_cost_bytes for each in found)
    if not cost:
        return 100
    return min(100, 100 * sum(each.ideal_cost_bytes for each in found) // cost)


def measure(files: PartitionFiles, settings: OptimizeSettings) -> PartitionHealth:
    """Count what a partition consists of."""
    data = [task.file for task in files.base]
    segments = [file for file in data if file.size_bytes > settings.fragment_bytes]
    undersized = [file for file in segments if file.size_bytes <= settings.min_target_bytes]
    inserts = FileCounts.of(task.file for task in files.inserts)
    change_deletes = FileCounts.of(files.change_deletes)
    positions = FileCounts.of(files.position_deletes)
    everything = [*data, *(t.file for t in files.inserts), *files.change_deletes]
    cost = settings.open_file_cost_bytes
    return PartitionHealth(
        partition=files.partition,
        fragments=FileCounts.of(
            file for file in data if file.size_bytes <= settings.fragment_bytes
        ),
        segments=FileCounts.of(segments),
        undersized=FileCounts.of(undersized),
        inserts=inserts,
        change_deletes=change_deletes,
        position_deletes=positions,
        surplus_position_deletes=sum(max(0, len(t.position_deletes) - 1) for t in files.base),
        fragment_nodes=len(
            {
                files.tree.capped(file.node)
                for file in data
                if file.size_bytes <= settings.fragment_bytes
            }
        ),
        least_nodes=min(settings.base_buckets, len(files.tree.leaves)),
        joinable_nodes=len(joinable_segments(data, files.tree, settings)),
        overlapping=max(
            map(
                len,
                overlapping_segments(files.base, files.tree, files.sort_column, settings),
            ),
            default=0,
        ),
        worn_segments=sum(
            1
            for task in files.base
            if task.file.size_bytes > settings.fragment_bytes and is_worn(task, settings)
        ),
        read_cost_bytes=packing_weight_bytes(
            [*everything, *files.position_deletes], open_file_cost_bytes=cost
        ),
        ideal_cost_bytes=_ideal_cost_bytes(
            [*data, *(task.file for task in files.inserts)],
            positions.rows + change_deletes.rows,
            files.tree,
            settings,
        ),
    )


def is_worn(task: FileTask, settings: OptimizeSettings) -> bool:
    """Say whether so many rows of a base file are deleted that rewriting it pays."""
    deleted = sum(delete.record_count for delete in task.position_deletes)
    return deleted > task.file.record_count * settings.duplicate_ratio


def joinable_segments(
    files: Iterable[TableFile], tree: NodeTree, settings: OptimizeSettings
) -> list[list[TableFile]]:
    """Return the undersized segments of each node where joining them gives fewer, larger files."""
    by_node: dict[TreeNode, list[TableFile]] = defaultdict(list)
    for file in files:
        if settings.fragment_bytes < file.size_bytes <= settings.min_target_bytes:
            by_node[tree.capped(file.node)].append(file)
    return [found for found in by_node.values() if _can_join(found, settings)]


def _can_join(files: Iterable[TableFile], settings: OptimizeSettings) -> bool:
    ordered = sorted(file.size_bytes for file in files)
    return (
        len(ordered) > 1
        and sum(ordered) >= settings.target_bytes
        and ordered[0] + ordered[1] <= settings.target_bytes
    )


def _ideal_cost_bytes(
    files: Sequence[TableFile], deleted_rows: int, tree: NodeTree, settings: OptimizeSettings
) -> int:
    rows = sum(file.record_count for file in files)
    if not rows:
        return 0
    by_node: dict[TreeNode, int] = defaultdict(int)
    for file in files:
        by_node[tree.capped(file.node)] += file.size_bytes
    live_rows = max(0, rows - deleted_rows)
    # One file for each node at least: a table of a few rows is not ill for being small.
    return sum(
        max(size * live_rows // rows, settings.open_file_cost_bytes) for size in by_node.values()
    )

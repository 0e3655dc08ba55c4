"""What each partition of a table consists of now, as far as one run of optimizing merges it.

Rules:
    - Change files are taken up to one sequence number for the whole table, the *horizon*, and
      every one of them: what is at or below it counts as merged afterwards.
    - A partition counts even if it holds nothing but change deletes.

Source: amoro KeyedTableFileScanHelper @96a4d781a. Differs: the first unmerged snapshot is taken
even where it alone has more files than one run should merge, because nothing would ever be
merged otherwise, and transactions are compared in each partition, with those in base.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from arctic.scan.choose.key_filter import ANY_KEY
from arctic.scan.choose.plan_files import plan_files
from arctic.scan.file_order import partition_order
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.merge_engine import MergeEngine
from arctic.table.snapshot import TableSnapshot
from arctic.table.table_description import Column
from arctic.tree.node_tree import NodeTree


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFiles:
    """The files that a read of one partition opens, up to the horizon."""

    partition: Partition
    base: tuple[FileTask, ...]
    """With the position deletes that apply to each."""
    inserts: tuple[FileTask, ...]
    change_deletes: tuple[TableFile, ...]
    rivals: tuple[FileTask, ...] = ()
    """Where rows of a key are held against one another: what is merged and can outdo an insert."""
    store_paths: frozenset[str]
    """Every data and delete file of the base store in the partition, dangling ones too."""
    merged_up_to: int
    """The optimized sequence now."""
    horizon: int
    """The optimized sequence once all these files are merged."""
    waiting: int = 0
    """Change files of the whole table that lie behind the horizon, for later runs."""
    tree: NodeTree
    """Which nodes its base files are to be of."""
    sort_column: Column | None = None
    """The first that rows are sorted by, alone; None: rows are not sorted so."""

    @property
    def position_deletes(self) -> tuple[TableFile, ...]:
        """The position deletes of all base files, each once."""
        found = {delete.path: delete for task in self.base for delete in task.position_deletes}
        return tuple(found.values())


@dataclass(slots=True)
class _Gathered:
    base: list[FileTask] = field(default_factory=list)
    inserts: list[FileTask] = field(default_factory=list)
    change_deletes: list[TableFile] = field(default_factory=list)
    rivals: list[FileTask] = field(default_factory=list)
    store_paths: set[str] = field(default_factory=set)


def files_by_partition(
    *,
    base: Sequence[TableFile],
    position_deletes: Sequence[TableFile],
    change: Sequence[TableFile],
    snapshot: TableSnapshot,
    max_change_files: int,
    tree_of: Callable[[Partition], NodeTree],
    is_ordered: bool = False,
    engine: MergeEngine = MergeEngine.LAST_ROW,
) -> tuple[PartitionFiles, ...]:
    """Sort the files of a table into its partitions.

    Args:
        base: data files of the base snapshot, with bounds of the key columns.
        position_deletes: position-delete files of the base snapshot.
        change: inserts and change deletes of the change snapshot, merged ones too where there are
            ordering columns.
        snapshot: the pinned state that the files are of.
        max_change_files: what one run merges at most.
        tree_of: the tree of a partition as it is.
        is_ordered: whether the table has ordering columns.
        engine: what becomes of the rows of a key.

    Returns:
        Partitions in planning order.
    """
    horizon = merge_horizon(change, base, snapshot, max_change_files=max_change_files)
    within = [file for file in change if file.sequence_number <= horizon]
    waiting = sum(
        file.sequence_number > max(horizon, snapshot.merged_up_to(file.partition))
        for file in change
    )
    files, _ = plan_files(
        base=base,
        position_deletes=position_deletes,
        change=within,
        snapshot=snapshot,
        row_filter=None,
        key_filter=ANY_KEY,
        is_ordered=is_ordered,
        engine=engine,
    )
    gathered: dict[Partition, _Gathered] = defaultdict(_Gathered)
    for task in files.data:
        place = gathered[task.file.partition]
        (place.base if task.file.kind is FileKind.BASE else place.inserts).append(task)
    for delete in files.change_deletes:
        gathered[delete.partition].change_deletes.append(delete)
    for rival in files.rivals:
        # A partition that holds nothing else has no insert to outdo.
        if rival.file.partition in gathered:
            gathered[rival.file.partition].rivals.append(rival)
    for file in (*base, *position_deletes):
        gathered[file.partition].store_paths.add(file.path)
    return tuple(
        PartitionFiles(
            partition=partition,
            base=tuple(found.base),
            inserts=tuple(found.inserts),
            change_deletes=tuple(found.change_deletes),
            rivals=tuple(found.rivals),
            store_paths=frozenset(found.store_paths),
            merged_up_to=snapshot.merged_up_to(partition),
            horizon=max(horizon, snapshot.merged_up_to(partition)),
            waiting=waiting,
            tree=tree_of(partition),
        )
        for partition, found in sorted(gathered.items(), key=lambda item: partition_order(item[0]))
    )


def merge_horizon(
    change: Iterable[TableFile],
    base: Iterable[TableFile],
    snapshot: TableSnapshot,
    *,
    max_change_files: int,
) -> int:
    """Return the sequence number up to which one run merges changes, inclusive.

    With at most ``max_change_files`` unmerged files it is the newest number of the pinned state.
    Otherwise it is a lower one, such that in each partition all transactions in base and up to the
    horizon are older than all transactions after it. New base files carry the greatest transaction
    of their rows, and changes after the horizon must still be able to delete those rows.
    """
    newest = snapshot.change_sequence_number
    unmerged = [
        file for file in change if file.sequence_number > snapshot.merged_up_to(file.partition)
    ]
    if len(unmerged) <= max_change_files:
        return newest
    counts = Counter(file.sequence_number for file in unmerged)
    numbers = sorted(counts)
    tied = _tied(numbers, unmerged, base)
    best: int | None = None
    files = 0
    for place, number in enumerate(numbers):
        files += counts[number]
        if not tied[place]:
            if best is not None and files > max_change_files:
                break
            best = number
    # Nothing comes after the last number, so there is one.
    return newest if best is None or best == numbers[-1] else best


def _tied(
    numbers: Sequence[int], unmerged: Iterable[TableFile], base: Iterable[TableFile]
) -> list[bool]:
    """Say for each number whether some partition has older transactions after it than before."""
    greatest_in_base: dict[Partition, int] = defaultdict(int)
    for file in base:
        found = greatest_in_base[file.partition]
        greatest_in_base[file.partition] = max(found, file.transaction_id)
    by_partition: dict[Partition, list[TableFile]] = defaultdict(list)
    for file in unmerged:
        by_partition[file.partition].append(file)
    # How many partitions forbid a number, as differences between neighbours.
    changes = [0] * (len(numbers) + 1)
    for partition, files in by_partition.items():
        files.sort(key=lambda file: file.sequence_number)
        least_after = list(accumulate(reversed([f.transaction_id for f in files]), min))[::-1]
        greatest, since = greatest_in_base[partition], 0
        for place, file in enumerate(files):
            until = bisect_left(numbers, file.sequence_number)
            if greatest >= least_after[place]:
                changes[since] += 1
                changes[until] -= 1
            greatest, since = max(greatest, file.transaction_id), until
    return [count > 0 for count in accumulate(changes[:-1])]

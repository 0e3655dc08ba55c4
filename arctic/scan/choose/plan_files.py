"""The files that a read needs: what is merged, or cannot match the filter, is left out.

Rules:
    - A change file is unmerged iff its sequence number is above the optimized sequence of its
      partition, strictly. The transaction id in its name plays no part.
    - Data files (base, inserts) may be left out by any filter on their column bounds.
    - A change delete is left out only by what the filter says of the key; see ``key_filter``. If
      another column left it out, the row that it kills would come back.
    - So is a rival of inserts. With ordering columns merged change deletes are rivals too, for as
      long as the change store holds them.
    - A position delete applies to a base file iff it is of the same partition, its sequence number
      is not lower than the file's, the file's node lies within its own, and it names that file or
      no single one.

Source: the Iceberg specification on scan planning, and amoro BasicMixedFileScanTask @96a4d781a
for the node of position deletes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arctic.errors import InternalError
from arctic.scan.choose.key_filter import KeyFilter
from arctic.scan.file_order import age_order, in_file_order
from arctic.scan.task import FileTask, PruneCounts
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.filters.predicate import Predicate, may_match
from arctic.table.merge_engine import MergeEngine
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesToRead:
    """What is left of both stores, in planning order."""

    data: tuple[FileTask, ...]
    change_deletes: tuple[TableFile, ...]
    rivals: tuple[FileTask, ...] = ()
    """Where rows of a key are held against one another: merged files that can outdo an insert, of
    base and among the change deletes."""


def plan_files(
    *,
    base: Sequence[TableFile],
    position_deletes: Sequence[TableFile],
    change: Sequence[TableFile],
    snapshot: TableSnapshot,
    row_filter: Predicate | None,
    key_filter: KeyFilter,
    is_ordered: bool = False,
    engine: MergeEngine = MergeEngine.LAST_ROW,
) -> tuple[FilesToRead, PruneCounts]:
    """Choose the files of the merged view.

    Args:
        base: data files of the base snapshot.
        position_deletes: position-delete files of the base snapshot.
        change: inserts and change deletes of the change snapshot.
        snapshot: says what is merged.
        row_filter: rows that do not match it are not wanted; None wants them all.
        key_filter: what that says of the key.
        is_ordered: whether the table has ordering columns.
        engine: what becomes of the rows of a key.

    Returns:
        The files, and what was left out. Change deletes that turn out to touch nothing are still
        there: only ``assemble`` can tell.
    """
    unmerged = [
        file for file in change if file.sequence_number > snapshot.merged_up_to(file.partition)
    ]
    inserts = [file for file in unmerged if _kind_in_change(file) is FileKind.INSERT]
    deletes = [file for file in unmerged if file.kind is FileKind.CHANGE_DELETE]
    shown, folded = [*base, *inserts], list[TableFile]()
    if engine.folds:
        # Whether a filter drops a row is known once all that came to its key are one.
        shown, folded = list(base), [file for file in inserts if key_filter.may_hold(file)]
    files, pruned = _plan_data(
        files=shown,
        position_deletes=position_deletes,
        row_filter=row_filter,
        key_filter=key_filter,
    )
    files += tuple(FileTask(file=file) for file in _once(folded))
    deletes_once = _once(deletes)
    wanted = tuple(file for file in deletes_once if key_filter.may_hold(file))
    rivals: tuple[FileTask, ...] = ()
    weighs = engine.weighs_rows(is_ordered=is_ordered)
    if weighs and any(task.file.kind is FileKind.INSERT for task in files):
        # A row that the filter drops can outdo one that it keeps, unless it drops its key.
        merged = [
            file
            for file in change
            if is_ordered
            and file.kind is FileKind.CHANGE_DELETE
            and file.sequence_number <= snapshot.merged_up_to(file.partition)
        ]
        rivals, _ = _plan_data(
            files=[file for file in (*base, *merged) if key_filter.may_hold(file)],
            position_deletes=position_deletes,
            row_filter=None,
            key_filter=key_filter,
        )
    chosen = FilesToRead(data=files, change_deletes=wanted, rivals=rivals)
    return chosen, pruned + PruneCounts(
        merged=len(change) - len(unmerged),
        listed_again=len(deletes) - len(deletes_once),
        by_key=len(deletes_once) - len(wanted),
    )


def _plan_data(
    *,
    files: Sequence[TableFile],
    position_deletes: Sequence[TableFile],
    row_filter: Predicate | None,
    key_filter: KeyFilter,
) -> tuple[tuple[FileTask, ...], PruneCounts]:
    """Choose data files by the filter and give the base files their position deletes."""
    once = _once(files)
    of_nodes = once
    if not key_filter.asks_for_any:
        of_nodes = tuple([file for file in once if key_filter.may_hold(file)])
    matching = of_nodes
    if row_filter is not None:
        matching = tuple(
            [file for file in of_nodes if may_match(row_filter, file.bounds, file.record_count)]
        )
    deletes_once = _once(position_deletes)
    index = PositionDeleteIndex(deletes_once)
    tasks = tuple(
        FileTask(
            file=file,
            position_deletes=index.applying_to(file) if file.kind is FileKind.BASE else (),
        )
        for file in matching
    )
    used = {delete.path for task in tasks for delete in task.position_deletes}
    return tasks, PruneCounts(
        by_key=len(once) - len(of_nodes),
        by_filter=len(of_nodes) - len(matching),
        listed_again=len(files) - len(once) + len(position_deletes) - len(deletes_once),
        idle_position_deletes=len(deletes_once) - len(used),
    )


def _once(files: Iterable[TableFile]) -> tuple[TableFile, ...]:
    """Sort files and keep the first of each path: a file that is listed twice has its rows once."""
    by_path: dict[str, TableFile] = {}
    for file in in_file_order(files):
        by_path.setdefault(file.path, file)
    return tuple(by_path.values())


def _kind_in_change(file: TableFile) -> FileKind:
    if file.kind not in (FileKind.INSERT, FileKind.CHANGE_DELETE):
        raise InternalError(f"change file {file.path!r}: kind {file.kind}; expected I or ED")
    return file.kind


class PositionDeleteIndex:
    """Finds the position deletes of a data file without trying them all."""

    __slots__ = ("_by_node", "_by_path", "_sequences")

    def __init__(self, deletes: Sequence[TableFile]) -> None:
        self._by_path: dict[str, list[TableFile]] = defaultdict(list)
        self._by_node: dict[tuple[Partition, int], list[TableFile]] = defaultdict(list)
        for delete in sorted(deletes, key=lambda delete: delete.sequence_number):
            if delete.referenced_path is not None:
                self._by_path[delete.referenced_path].append(delete)
            else:
                self._by_node[delete.partition, delete.node.node_id].append(delete)
        self._sequences = {
            place: [delete.sequence_number for delete in found]
            for place, found in self._by_node.items()
        }

    def applying_to(self, data: TableFile) -> tuple[TableFile, ...]:
        """Return the position deletes of a base file, the oldest first."""
        if not self._by_path and not self._by_node:
            return ()
        found = [
            delete
            for delete in self._by_path.get(data.path, ())
            if delete.partition == data.partition
            and delete.sequence_number >= data.sequence_number
            and data.node.is_within(delete.node)
        ]
        if self._by_node:
            for node_id in data.node.lineage_ids():
                place = (data.partition, node_id)
                if place in self._sequences:
                    start = bisect_left(self._sequences[place], data.sequence_number)
                    found += self._by_node[place][start:]
        return tuple(sorted(found, key=age_order))

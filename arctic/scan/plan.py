"""The steps of planning, in order: plan_files, assemble, split_tasks, pack_tasks.

A plan is a value: the same files, snapshot, filter and options give the same plan, in whatever
order the files arrive, and nothing is read to make it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arctic.scan.assemble import assemble
from arctic.scan.clean_files import set_clean_apart
from arctic.scan.collector import collector_paused
from arctic.scan.dirty_files import set_dirty_apart
from arctic.scan.explain import explain_plan
from arctic.scan.key_filter import ANY_KEY, KeyFilter
from arctic.scan.pack import pack_tasks
from arctic.scan.plan_files import FilesToRead, plan_data, plan_files
from arctic.scan.reach import FileRanges
from arctic.scan.split import split_tasks
from arctic.scan.task import NodeTask, NodeTaskGroup, PruneCounts, ScanOptions
from arctic.table.files import FileKind, KeyedFile
from arctic.table.predicate import Predicate
from arctic.table.snapshot import TableSnapshot

__all__ = ["NodeTaskGroup", "PruneCounts", "ScanOptions", "ScanPlan", "plan_scan", "plan_store"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """Everything that is decided about a read before the first row."""

    table_name: str
    is_merged_view: bool
    """False: a look at one store alone."""
    snapshot: TableSnapshot
    row_filter: Predicate | None
    options: ScanOptions
    groups: tuple[NodeTaskGroup, ...]
    """One for each Spark task, the heaviest first; empty when there is nothing to read."""
    considered_files: int
    """Files that planning looked at one by one, in both stores."""
    pruned: PruneCounts
    clean_groups: tuple[NodeTaskGroup, ...] = ()
    """Files set apart because no delete can touch them; in none of ``groups``."""
    dirty_groups: tuple[NodeTaskGroup, ...] = ()
    """Files set apart for a reader who knows which of their rows are dead; in none of ``groups``.
    A merge of them gives the same rows."""
    dirty_tasks: tuple[NodeTask, ...] = ()
    """The same files, each with exactly the deletes that can touch it."""

    def explain(self, *, verbose: bool = False) -> str:
        """Return the plan as stable text.

        Args:
            verbose: lists every file, however long that gets.
        """
        return explain_plan(self, verbose=verbose)


@collector_paused()
def plan_scan(
    *,
    table_name: str,
    base: Sequence[KeyedFile],
    position_deletes: Sequence[KeyedFile],
    change: Sequence[KeyedFile],
    snapshot: TableSnapshot,
    key_ids: tuple[int, ...],
    key_types: tuple[str, ...],
    row_filter: Predicate | None,
    options: ScanOptions,
    already_pruned: PruneCounts,
    sets_apart: Callable[[KeyedFile], bool] | None = None,
    sets_dirty_apart: bool = False,
) -> ScanPlan:
    """Plan a read of the merged view.

    Args:
        table_name: for ``explain``.
        base: data files of the base snapshot, with bounds of the key and filter columns.
        position_deletes: position-delete files of the base snapshot.
        change: inserts and change deletes of the change snapshot; empty for an unkeyed table.
        snapshot: the pinned state that the files are of.
        key_ids: field ids of the primary key; empty for an unkeyed table.
        key_types: Iceberg's texts of their types.
        row_filter: rows that do not match it are not wanted.
        options: how the read is divided.
        already_pruned: what was left out while the files were listed.
        sets_apart: which files the caller can read in another way, if no delete can touch them;
            None: none.
        sets_dirty_apart: whether the caller can also read such files by row numbers, and the read
            is one of most of the table; see ``dirty_files``.
    """
    files, out_of_files = plan_files(
        base=base,
        position_deletes=position_deletes,
        change=change,
        snapshot=snapshot,
        row_filter=row_filter,
        key_filter=KeyFilter.of(row_filter, key_ids=key_ids, key_types=key_types),
    )
    ranges = FileRanges(key_ids)
    nodes, out_of_tasks = assemble(
        files, ranges=ranges, open_file_cost_bytes=options.open_file_cost_bytes
    )
    clean: tuple[NodeTask, ...] = ()
    dirty: tuple[NodeTask, ...] = ()
    if sets_apart is not None:
        nodes, clean = set_clean_apart(
            nodes,
            is_wanted=sets_apart,
            ranges=ranges,
            open_file_cost_bytes=options.open_file_cost_bytes,
        )
    if sets_apart is not None and sets_dirty_apart and _is_of_most_rows(files, (*base, *change)):
        nodes, dirty = set_dirty_apart(
            nodes,
            is_wanted=sets_apart,
            least_rows=options.vector_min_rows,
            ranges=ranges,
            open_file_cost_bytes=options.open_file_cost_bytes,
        )
    return ScanPlan(
        table_name=table_name,
        is_merged_view=True,
        snapshot=snapshot,
        row_filter=row_filter,
        options=options,
        groups=_group(nodes, ranges=ranges, options=options),
        considered_files=already_pruned.files + len(base) + len(position_deletes) + len(change),
        pruned=already_pruned + out_of_files + out_of_tasks,
        clean_groups=_group(clean, ranges=ranges, options=options),
        dirty_groups=_group(dirty, ranges=ranges, options=options),
        dirty_tasks=dirty,
    )


@collector_paused()
def plan_store(
    *,
    table_name: str,
    files: Sequence[KeyedFile],
    position_deletes: Sequence[KeyedFile],
    snapshot: TableSnapshot,
    row_filter: Predicate | None,
    options: ScanOptions,
    already_pruned: PruneCounts,
) -> ScanPlan:
    """Plan a look at one store alone: its own rows, merged or not.

    Args:
        table_name: for ``explain``.
        files: every live data file: of base; or of change, where deletes are rows as well.
        position_deletes: of the base store; empty for the change store.
        snapshot: the pinned state that the files are of.
        row_filter: rows that do not match it are not wanted.
        options: how the read is divided.
        already_pruned: what was left out while the files were listed.
    """
    data, out_of_files = plan_data(
        files=files,
        position_deletes=position_deletes,
        row_filter=row_filter,
        key_filter=ANY_KEY,
    )
    ranges = FileRanges(())
    nodes, _ = assemble(
        FilesToRead(data=data, change_deletes=()),
        ranges=ranges,
        open_file_cost_bytes=options.open_file_cost_bytes,
    )
    return ScanPlan(
        table_name=table_name,
        is_merged_view=False,
        snapshot=snapshot,
        row_filter=row_filter,
        options=options,
        groups=_group(nodes, ranges=ranges, options=options),
        considered_files=already_pruned.files + len(files) + len(position_deletes),
        pruned=already_pruned + out_of_files,
    )


def _is_of_most_rows(files: FilesToRead, listed: Sequence[KeyedFile]) -> bool:
    """Say whether a filter leaves at least half of the rows.

    If not, a merge has little to do: it looks at bounds of row groups before it looks up a key.
    """
    left = sum(part.file.record_count for part in files.data)
    rows = sum(file.record_count for file in listed if file.kind is not FileKind.CHANGE_DELETE)
    return 2 * left >= rows


def _group(
    nodes: Sequence[NodeTask], *, ranges: FileRanges, options: ScanOptions
) -> tuple[NodeTaskGroup, ...]:
    return pack_tasks(split_tasks(nodes, options=options, ranges=ranges), options=options)

"""The steps of planning: one input record goes through all of them, in order, and is a plan.

A plan is a value: the same input gives the same plan, in whatever order the files arrive, and
nothing is read to make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from arctic.scan.assemble import assemble
from arctic.scan.choose.key_filter import KeyFilter
from arctic.scan.choose.plan_files import FilesToRead, plan_files
from arctic.scan.divide.pack import pack_tasks
from arctic.scan.divide.split import split_tasks
from arctic.scan.reach import FileRanges
from arctic.scan.scan_input import ScanInput, SetApart
from arctic.scan.set_apart.clean_files import set_clean_apart
from arctic.scan.set_apart.dirty_files import set_dirty_apart
from arctic.scan.task import NodeTask, NodeTaskGroup, PruneCounts, ScanOptions
from arctic.table.files import FileKind
from arctic.table.filters.predicate import Predicate
from arctic.table.snapshot import TableSnapshot


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A plan in the making: each step returns another one."""

    asked: ScanInput
    ranges: FileRanges
    """Key ranges, each worked out once in all steps."""
    pruned: PruneCounts
    """What was left out so far."""
    files: FilesToRead
    """What is read."""
    few_keys: bool = False
    """Whether the filter asks for a few keys alone."""
    merged: tuple[NodeTask, ...] = ()
    """Tasks whose rows are looked up among deletes."""
    clean: tuple[NodeTask, ...] = ()
    """Tasks set apart without deletes."""
    dirty: tuple[NodeTask, ...] = ()
    """Tasks set apart with the deletes that can touch them."""
    groups: tuple[NodeTaskGroup, ...] = ()
    """``merged`` divided, as the next two are ``clean`` and ``dirty``."""
    clean_groups: tuple[NodeTaskGroup, ...] = ()
    dirty_groups: tuple[NodeTaskGroup, ...] = ()


class Step(Protocol):
    """One decision about a read: takes what the steps before it decided, and adds its own."""

    def __call__(self, draft: Draft, /) -> Draft:
        """Return the draft with this step's decision in it; every row stays in it once."""
        ...


def choose_files(draft: Draft) -> Draft:
    """Leave out files that are merged, or cannot match the filter."""
    asked = draft.asked
    key_filter = KeyFilter.of(
        asked.row_filter,
        key_ids=[column.field_id for column in asked.key],
        key_types=[column.type for column in asked.key],
        nodes=asked.nodes,
    )
    files, pruned = plan_files(
        base=asked.files.base,
        position_deletes=asked.files.position_deletes,
        change=asked.files.change,
        snapshot=asked.snapshot,
        row_filter=asked.row_filter,
        key_filter=key_filter,
        is_ordered=bool(asked.ordering),
        engine=asked.engine,
    )
    return replace(
        draft, files=files, few_keys=key_filter.asks_for_few, pruned=draft.pruned + pruned
    )


def assemble_tasks(draft: Draft) -> Draft:
    """Make one task of each node with data, and give it the deletes that can touch it."""
    tasks, pruned = assemble(
        draft.files,
        ranges=draft.ranges,
        open_file_cost_bytes=draft.asked.options.open_file_cost_bytes,
    )
    return replace(draft, merged=tasks, pruned=draft.pruned + pruned)


def take_clean_files_out(draft: Draft) -> Draft:
    """Set files apart that no delete can touch, if the caller reads them by itself."""
    asked = draft.asked
    if asked.set_apart is SetApart.NOTHING:
        return draft
    merged, clean = set_clean_apart(
        draft.merged,
        takes_others=asked.takes_others,
        ranges=draft.ranges,
        open_file_cost_bytes=asked.options.open_file_cost_bytes,
    )
    return replace(draft, merged=merged, clean=clean)


def take_dirty_files_out(draft: Draft) -> Draft:
    """Set files apart whose dead rows can be left out by number, if that is worth its price."""
    asked = draft.asked
    if asked.set_apart is not SetApart.CLEAN_AND_DIRTY or not _reads_most_rows(draft):
        return draft
    merged, dirty = set_dirty_apart(
        draft.merged,
        least_rows=asked.options.vector_min_rows,
        takes_others=asked.takes_others,
        ranges=draft.ranges,
        open_file_cost_bytes=asked.options.open_file_cost_bytes,
    )
    return replace(draft, merged=merged, dirty=dirty)


def divide_into_groups(draft: Draft) -> Draft:
    """Split heavy tasks, then spread all of them over groups of like cost."""
    return replace(
        draft,
        groups=_divide(draft, draft.merged),
        clean_groups=_divide(draft, draft.clean),
        dirty_groups=_divide(draft, draft.dirty),
    )


STEPS: tuple[Step, ...] = (
    choose_files,
    assemble_tasks,
    take_clean_files_out,
    take_dirty_files_out,
    divide_into_groups,
)
"""All of planning, in order."""


def plan_scan(asked: ScanInput) -> ScanPlan:
    """Plan a read of the merged view, or a look at one store alone.

    A store alone is a table without a key and without changes: all its rows, merged or not, and
    of the change store the deletes as rows too.
    """
    files = asked.files
    draft = Draft(
        asked=asked,
        ranges=FileRanges(
            tuple(column.field_id for column in asked.key),
            tuple(column.field_id for column in asked.ordering),
            asked.engine,
        ),
        pruned=files.pruned,
        files=FilesToRead(data=(), change_deletes=()),
    )
    for step in STEPS:
        draft = step(draft)
    listed = len(files.base) + len(files.position_deletes) + len(files.change)
    return ScanPlan(
        table_name=asked.table_name,
        is_merged_view=asked.is_merged_view,
        snapshot=asked.snapshot,
        row_filter=asked.row_filter,
        options=asked.options,
        groups=draft.groups,
        considered_files=files.pruned.files + listed,
        pruned=draft.pruned,
        clean_groups=draft.clean_groups,
        dirty_groups=draft.dirty_groups,
        dirty_tasks=draft.dirty,
    )


def _divide(draft: Draft, tasks: Sequence[NodeTask]) -> tuple[NodeTaskGroup, ...]:
    options = draft.asked.options
    whole: list[NodeTask] = []
    others: list[NodeTask] = []
    for task in tasks:
        is_whole = draft.few_keys and _opens_deletes_most(task, options)
        (whole if is_whole else others).append(task)
    parts = split_tasks(others, options=options, ranges=draft.ranges)
    return pack_tasks([*whole, *parts], options=options)


def _opens_deletes_most(task: NodeTask, options: ScanOptions) -> bool:
    """Say whether deletes outweigh data where a file costs what opening it does, as of few keys.

    Each part of the task would open all of them again.
    """
    return len(task.data) <= options.weight_ratio * len(task.change_deletes)


def _reads_most_rows(draft: Draft) -> bool:
    """Say whether a filter leaves at least half of the rows.

    If not, a merge has little to do: it looks at bounds of row groups before it looks up a key.
    """
    left = sum(part.file.record_count for part in draft.files.data)
    listed = (*draft.asked.files.base, *draft.asked.files.change)
    rows = sum(file.record_count for file in listed if file.kind is not FileKind.CHANGE_DELETE)
    return 2 * left >= rows

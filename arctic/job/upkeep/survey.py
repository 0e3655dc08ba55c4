"""A look at a table before it is optimized: what it consists of, and what is due.

Rules:
    - Everything is of one pinned state, and described with every column that rows of it can have.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from arctic import options as opt
from arctic.columns.curves import is_ranked
from arctic.columns.field_ids import child_fields
from arctic.errors import ConflictError, InvalidInputError
from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.optimized_times import OptimizedTimes, optimized_times
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable, reopen
from arctic.job.newest_state import on_newest_state
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.optimizing.planning.evaluate import LastTimes, evaluate
from arctic.optimizing.planning.grow_tree import Growth, grow
from arctic.optimizing.planning.health import measure
from arctic.optimizing.planning.partition_files import PartitionFiles, files_by_partition
from arctic.optimizing.report import PartitionStatus, TableStatus
from arctic.optimizing.settings import OptimizeSettings
from arctic.optimizing.sizing_choices import sizing_choices
from arctic.options.sort_terms import SortTerm
from arctic.retry import AT_ONCE
from arctic.scan.explain import counted
from arctic.table.files import Partition
from arctic.table.node_trees import NodeTrees
from arctic.table.snapshot import TableSnapshot
from arctic.table.table_description import Column
from arctic.tree.node_tree import NodeTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """A pinned table, and what its partitions consist of."""

    opened: OpenTable
    snapshot: TableSnapshot
    settings: OptimizeSettings
    partitions: tuple[PartitionFiles, ...]
    times: OptimizedTimes
    sort_columns: tuple[SortTerm, ...]
    """Most significant first; empty: rows are not sorted."""
    growth: Mapping[Partition, Growth]
    """How many nodes each partition is worth; empty where their number is fixed."""

    def tree_of(self, files: PartitionFiles) -> NodeTree:
        """Return the tree that the table is to remember for a partition: what rows grow into."""
        growth = self.growth.get(files.partition)
        return files.tree if growth is None else growth.after

    @property
    def sort_column(self) -> Column | None:
        """The first sort column; None: rows are not sorted."""
        table = self.opened.table
        return next((table.column(name) for term in self.sort_columns for name in term), None)


def table_status(asked: AskedOptimize, *, where: Any = None) -> TableStatus:
    """Look at a table: what it consists of, and what is due.

    Args:
        asked: what the options say.
        where: only the partitions that can hold such rows.

    Raises:
        NotFoundError: an unknown table.
        InvalidInputError: an option or a filter that cannot be understood.
    """
    survey = survey_table(asked, where, for_writing=False)
    return TableStatus(
        table=survey.opened.table.name,
        partitions=tuple(partition_status(files, survey) for files in survey.partitions),
        sizing=sizing_choices(survey.opened.table.properties),
    )


def survey_table(asked: AskedOptimize, where: Any, *, for_writing: bool) -> Survey:
    """Open and pin a table, and sort its files into partitions.

    Args:
        asked: what the options say.
        where: only the partitions that can hold such rows; None: all.
        for_writing: complete a schema change that reached only the base store.
    """
    opened = asked.reference.open(for_writing=for_writing)

    def survey(opened: OpenTable) -> Survey:
        opened, snapshot = _pinned(opened, for_writing=for_writing)
        return survey_state(opened, asked, snapshot, asked.settings(opened), where=where)

    return on_newest_state(opened, survey)


def survey_state(
    opened: OpenTable,
    asked: AskedOptimize,
    snapshot: TableSnapshot,
    settings: OptimizeSettings,
    *,
    where: Any = None,
) -> Survey:
    """Sort the files of a pinned state into partitions.

    Args:
        opened: the table, with every column that rows of the state can have.
        asked: what the options say.
        snapshot: the state.
        settings: of the table.
        where: only the partitions that can hold such rows; None: all.
    """
    terms = sort_columns(opened, asked)
    table = opened.table
    first = [table.column(name) for term in terms[:1] for name in term]
    bounded = [*table.key_columns, *table.order_columns, *first]
    files = list_files(
        opened,
        snapshot,
        field_ids=tuple(dict.fromkeys(column.field_id for column in bounded)),
        row_filter=None if where is None else parse_filter(where, opened),
        # With ordering columns, rows that are merged can outdo others still.
        with_merged=bool(table.order_columns),
    )
    trees = NodeTrees.of(table.properties, is_keyed=table.is_keyed)
    partitions = files_by_partition(
        base=files.base,
        position_deletes=files.position_deletes,
        change=files.change,
        snapshot=snapshot,
        max_change_files=settings.max_change_files,
        tree_of=lambda partition: trees.tree(opened.partitioner.path(partition)),
        is_ordered=bool(table.ordering_columns),
        engine=table.merge_engine,
    )
    growth = {
        each.partition: grow(
            each.tree,
            each.base,
            settings,
            inserts=each.inserts,
            change_deletes=each.change_deletes,
        )
        for each in partitions
        if trees.grow
    }
    return Survey(
        opened=opened,
        snapshot=snapshot,
        settings=settings,
        partitions=tuple(
            replace(
                each,
                tree=growth[each.partition].nodes if trees.grow else each.tree,
                sort_column=first[0] if terms and not terms[0].curve else None,
            )
            for each in partitions
        ),
        growth=growth,
        times=optimized_times(opened, snapshot, [each.partition for each in partitions]),
        sort_columns=terms,
    )


def _pinned(opened: OpenTable, *, for_writing: bool) -> tuple[OpenTable, TableSnapshot]:
    """Pin the state of a table, opened with every column that rows of that state can have."""
    for _ in AT_ONCE.tries():
        snapshot = pin(opened)
        if opened.is_described:
            return opened, snapshot
        opened = reopen(opened, for_writing=for_writing)
    raise ConflictError(
        f"table {opened.table.name!r}: its columns changed {AT_ONCE.most_tries} times while it was "
        "opened; try again"
    )


def partition_status(files: PartitionFiles, survey: Survey) -> PartitionStatus:
    """Say how one partition of a survey is, and what is due in it now."""
    health = measure(files, survey.settings)
    times = _times(survey.times, files.partition)
    verdict = evaluate(
        health,
        times=times,
        settings=survey.settings,
        is_keyed=survey.opened.table.is_keyed,
        now_ms=time.time_ns() // 1_000_000,
    )
    return PartitionStatus(
        partition=survey.opened.partitioner.path(files.partition),
        health=health,
        verdict=verdict,
        merged_up_to=files.merged_up_to,
        times=times,
        nodes=_nodes(files, survey),
    )


def _nodes(files: PartitionFiles, survey: Survey) -> str:
    growth = survey.growth.get(files.partition)
    return counted(len(files.tree.leaves), "node") if growth is None else growth.reason


def _times(times: OptimizedTimes, partition: Partition) -> LastTimes:
    return LastTimes(
        any_ms=times.any_ms.get(partition),
        full_ms=times.full_ms.get(partition),
        first_ms=times.first_ms,
    )


def sort_columns(opened: OpenTable, asked: AskedOptimize) -> tuple[SortTerm, ...]:
    """Return the sort columns of a table, most significant first; empty if it has none.

    Raises:
        InvalidInputError: a name that is no column, or one that has no order.
    """
    schema = opened.arrow_schema
    terms = asked.sort_columns(opened)
    for name, is_alone in ((name, not term.curve) for term in terms for name in term):
        unsorted = name not in schema.names or child_fields(schema.field(name).type)
        if unsorted or not (is_alone or is_ranked(schema.field(name).type)):
            raise InvalidInputError(
                f"{opt.SORT_COLUMNS.name} of table {opened.table.name!r}: {name!r} is no column "
                f"that can be sorted by; it has {', '.join(schema.names)}"
            )
    return terms

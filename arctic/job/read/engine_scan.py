"""One read for an engine that may read some of the files by itself.

Must not know: engines by name, how they say their filters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.plain_columns import ever_had, odd_columns, odd_for_others
from arctic.job.nudge import tell_read
from arctic.job.read.asked_read import AskedRead, ReadSettings
from arctic.job.read.engine_share import (
    Engine,
    FilesAsFound,
    Share,
    SharedPlan,
    share_of,
    shared_plan,
)
from arctic.job.read.read_task import FirstRows, GroupReader
from arctic.job.read.scan_job import ScanJob, scan_opened
from arctic.scan.key_groups import PossibleGroups, group_numbers, in_groups, possible_groups
from arctic.scan.scan_input import SetApart
from arctic.table.filters.predicate import Predicate
from arctic.table.table_description import TableDescription
from arctic.tree.touched_nodes import TouchedNodes

_NO_SHARE = Share(set_apart=SetApart.NOTHING, hindrance=None, hindrance_of_others=None)
_FACT = "no file has it, as it says where a row is stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineScan:
    """A planned read, and what the engine may read of it."""

    schema: pa.Schema
    """The exact schema of every batch."""
    reader: GroupReader
    groups: tuple[Any, ...]
    """One value for each task; those that must be merged come first."""
    shared: SharedPlan | None
    """None for a metadata table."""
    settings: ReadSettings | None
    """In force whoever reads the files; None for a metadata table."""
    opened: OpenTable
    possible_groups: tuple[PossibleGroups, ...] = ()
    """In which the rows could be read; nothing for an engine that takes none."""
    file_groups: tuple[int, ...] = ()
    """Of each file that the engine may read, where groups were wanted: those that must be merged
    are a task for each group then, in order, or none."""


def begin_engine_scan(
    asked: AskedRead,
    *,
    columns: Sequence[str],
    engine: Engine | None,
    filter_for: Callable[[TableDescription], Predicate | None],
    unreached: Callable[[TableIO], str | None],
    nodes: TouchedNodes | None = None,
) -> EngineScan:
    """Pin the table's state and plan the read of it.

    Args:
        asked: what the options say.
        columns: what the query wants, in this order.
        engine: what the engine knows and can do; None: it says nothing, and gets all rows.
        filter_for: says in the columns of the table which rows the engine may be spared. It
            filters what it gets all the same.
        unreached: says why the engine does not reach the table's files by itself; None: it does.
        nodes: rows whose keys lie in none of these are not needed; None: all are.

    Raises:
        ArcticError: as ``begin_scan``.
    """
    opened = asked.opened()
    row_filter, share = None, _NO_SHARE
    if engine is not None and asked.reference.metadata_table is None:
        row_filter = filter_for(opened.table)
        if engine.reads_files:  # else nobody needs to know what it would find
            found = _found(opened, asked, columns, engine, unreached=unreached(opened.io))
            share = share_of(engine, columns, found)
    job = scan_opened(
        opened,
        asked,
        columns=columns,
        row_filter=row_filter,
        snapshot=None if engine is None else engine.snapshot,
        parallelism=None if engine is None else engine.parallelism,
        set_apart=share.set_apart,
        takes_others=share.hindrance_of_others is None,
        nodes=nodes,
    )
    if job.plan is None:
        return EngineScan(
            schema=job.schema,
            reader=_reader(job, engine),
            groups=job.groups,
            shared=None,
            settings=None,
            opened=opened,
        )
    plan, table = job.plan, opened.table
    wanted = None if engine is None else engine.groups
    takes_groups = engine is not None and engine.takes_groups
    if wanted is None:
        tell_read(plan)  # a scan is planned in groups after it was planned without
    else:
        plan = replace(plan, groups=in_groups(plan, table, wanted))
    shared = shared_plan(plan, share)
    return EngineScan(
        schema=job.schema,
        reader=_reader(job, engine),
        groups=(*plan.groups, *plan.dirty_groups, *plan.clean_groups),
        shared=shared,
        settings=job.settings,
        opened=opened,
        possible_groups=possible_groups(table, plan) if takes_groups else (),
        file_groups=() if wanted is None else group_numbers(shared.files, table, wanted),
    )


def _found(
    opened: OpenTable,
    asked: AskedRead,
    columns: Sequence[str],
    engine: Engine,
    *,
    unreached: str | None,
) -> FilesAsFound:
    own = opened.arrow_schema.names
    facts = [name for name in columns if name not in own]
    return FilesAsFound(
        is_merged_view=asked.store == "merged",
        unreached=unreached,
        odd_columns={**odd_columns(opened), **dict.fromkeys(facts, _FACT)},
        odd_for_others=odd_for_others(opened),
        hides_columns=any(ever_had(opened, name) for name in engine.own_columns),
    )


def _reader(job: ScanJob, engine: Engine | None) -> GroupReader:
    limit = None if engine is None else engine.counted_limit
    return job.reader if limit is None else FirstRows(reader=job.reader, rows=limit)

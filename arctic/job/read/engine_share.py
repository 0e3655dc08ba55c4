"""Which files of a read the engine that asks for it may read by itself, and what it is told.

An engine such as Spark has a Parquet reader of its own, which is faster than handing rows over. It
may have the files whose rows it would read as Arctic does:

- those that no delete can touch, where it finds the columns by their names;
- those with deletes too, where it can leave rows out by their number, and the query is worth it.

Files of other Iceberg writers, as an adopted table has them, are among those where they have the
columns of the query for certain.

Rules:
    - Records in, records out; what is not certain is merged here.

Must not know: engines by name, files, catalogs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from arctic.scan.key_groups import KeyGroups
from arctic.scan.plan_scan import ScanPlan
from arctic.scan.scan_input import SetApart
from arctic.scan.task import NodeTask
from arctic.table.filename import has_format_name
from arctic.table.files import TableFile
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What an engine knows of its query, and what it can do."""

    parallelism: int
    """Cores that it has for the query."""
    snapshot: TableSnapshot | None
    """What another scan of the same query has pinned; None: this one is the first."""
    reads_files: bool
    """Whether it reads files that no delete can touch by itself."""
    skips_rows: bool
    """Whether it can also leave rows out of files by their number."""
    takes_groups: bool
    """Whether it wants to know in which groups the rows could be read."""
    is_filtered: bool
    """Whether it filters rows that the scan yields."""
    limit: int | None
    """Rows of the scan that the query wants at most, whichever they are; None: all of them."""
    own_columns: frozenset[str]
    """Columns that it adds to files by which it leaves rows out: it would not read a file's."""
    groups: KeyGroups | None
    """In which it wants the rows, each read by one task; None: in any."""

    @property
    def counted_limit(self) -> int | None:
        """Rows after which each task may end; None: it reads all.

        Rows that the engine's filter drops later must not take the place of others.
        """
        return None if self.is_filtered else self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAsFound:
    """What an engine would meet in the data files of a read."""

    is_merged_view: bool
    """Whether rows are read, of both stores: not a metadata table, nor one store."""
    unreached: str | None
    """Why the engine does not reach the files; None: it does."""
    odd_columns: Mapping[str, str]
    """Columns that not any Parquet reader finds in every file as the table has them now, each with
    why."""
    odd_for_others: Mapping[str, str]
    """The same of files of other writers."""
    hides_columns: bool
    """Whether files can have columns with the names of the engine's own ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What an engine reads by itself."""

    set_apart: SetApart
    hindrance: str | None
    """Why it reads none of the files, though it would; None: nothing hinders."""
    hindrance_of_others: str | None
    """Why it reads none of those that other writers wrote."""


def share_of(engine: Engine, columns: Collection[str], found: FilesAsFound) -> Share:
    """Return what an engine reads by itself, where its query wants these columns."""
    if not engine.reads_files or not found.is_merged_view:
        return Share(set_apart=SetApart.NOTHING, hindrance=None, hindrance_of_others=None)
    hindrance = found.unreached or _oddness(columns, found.odd_columns)
    if hindrance is not None:
        return Share(set_apart=SetApart.NOTHING, hindrance=hindrance, hindrance_of_others=hindrance)
    # Whoever wants a few rows does not have all keys looked up for them.
    leaves_rows_out = engine.skips_rows and engine.limit is None and not found.hides_columns
    return Share(
        set_apart=SetApart.CLEAN_AND_DIRTY if leaves_rows_out else SetApart.CLEAN,
        hindrance=None,
        hindrance_of_others=_oddness(columns, found.odd_for_others),
    )


def _oddness(columns: Collection[str], odd: Mapping[str, str]) -> str | None:
    return next((f"column {name!r}: {odd[name]}" for name in columns if name in odd), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPlan:
    """What an engine is told of a plan."""

    snapshot: TableSnapshot
    size_bytes: int
    """Of all data files that are read, all their columns."""
    rows: int
    """In them, deleted ones too."""
    merged: int
    """How many of the groups must be merged. Those after them hold the files below: they are read
    unless the engine reads the files itself."""
    files: tuple[TableFile, ...]
    """What the engine may read; those with deletes come first."""
    dirty_tasks: tuple[NodeTask, ...]
    """The files with deletes, each with exactly the deletes that can touch it."""
    hindrance: str | None
    """Why it reads none of the files, or not all; None: nothing hinders."""

    @property
    def dirty_files(self) -> tuple[TableFile, ...]:
        """The files with deletes, in their order."""
        return _files(self.dirty_tasks)


def shared_plan(plan: ScanPlan, share: Share) -> SharedPlan:
    """Return what an engine is told of a plan in which its share was set apart."""
    groups = (*plan.groups, *plan.dirty_groups, *plan.clean_groups)
    # A file may be cut into parts, each with its rows.
    read = {file.path: file for file in _files([task for group in groups for task in group.tasks])}
    clean = _files([task for group in plan.clean_groups for task in group.tasks])
    return SharedPlan(
        snapshot=plan.snapshot,
        size_bytes=sum(file.size_bytes for file in read.values()),
        rows=sum(file.record_count for file in read.values()),
        merged=len(plan.groups),
        files=(*_files(plan.dirty_tasks), *clean),
        dirty_tasks=plan.dirty_tasks,
        hindrance=share.hindrance or _hindrance_of_others(plan, share),
    )


def _hindrance_of_others(plan: ScanPlan, share: Share) -> str | None:
    """Return why files are merged that other writers wrote; None: there is none of them."""
    if share.hindrance_of_others is None:
        return None
    merged = _files([task for group in plan.groups for task in group.tasks])
    others = {file.path for file in merged if not has_format_name(file.path)}
    return f"{len(others)} of other writers, {share.hindrance_of_others}" if others else None


def _files(tasks: Collection[NodeTask]) -> tuple[TableFile, ...]:
    return tuple(part.file for task in tasks for part in task.data)

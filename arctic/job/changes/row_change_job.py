"""What became of rows between two positions: planned here, read wherever the groups are sent.

Rules:
    - The rows of before come from the state at the start, the one and only: what a change deletes
      is never guessed from the change.
    - What the order of commits does not tell is refused: transactions that are older than their
      commit, and commits whose number nobody knows.
    - Whether a row of a range is the same as before is asked of all its columns, whatever is wanted
      of them, unless a caller needs no more: see ``RowsAsked.by_columns``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from arctic.columns.nullable import nullable_throughout
from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.changes.asked_changes import RowsAsked
from arctic.job.changes.change_files import files_between, plan_between
from arctic.job.changes.change_range import ChangePlace
from arctic.job.changes.change_reader import paths_of
from arctic.job.changes.row_stretches import (
    Commits,
    Stretch,
    as_differences,
    difference_groups,
    files_at,
    stretches,
)
from arctic.job.newest_state import expired_under, on_newest_state
from arctic.job.read.asked_read import ReadSettings, cached_access
from arctic.job.read.plan_rows import merge_request
from arctic.job.read.read_columns import changed_columns, project
from arctic.job.read.read_task import telling_of_expiry
from arctic.job.read.scan_job import ScanJob
from arctic.job.tasks.open_ahead import merged_paths, opened_in_order
from arctic.mor.changes.narrow import narrow
from arctic.mor.changes.row_changes import read_row_changes
from arctic.mor.changes.row_difference import read_row_difference
from arctic.mor.changes.told_rows import COMMIT_FIELDS, RowChangeShape
from arctic.mor.request import ReadRequest
from arctic.options import CHANGE_ROWS
from arctic.scan.changes.change_tasks import ChangeGroup
from arctic.scan.changes.difference_tasks import DifferenceGroup
from arctic.scan.choose.plan_files import FilesToRead
from arctic.scan.reach import FileRanges
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.streams.stream_position import StreamPosition
from arctic.tree.key_range import KeyRange
from arctic.tree.node import TreeNode

_TOLD = frozenset(field.name for field in COMMIT_FIELDS)
"""Columns that say what a commit did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChangeReader:
    """Reads groups of changes as what became of rows."""

    request: ReadRequest
    """With the types that columns have now."""
    shape: RowChangeShape
    schema: pa.Schema
    """What every batch has, with the types that the reader began with."""
    io: TableIO

    def read(self, group: ChangeGroup | DifferenceGroup) -> Iterator[pa.RecordBatch]:
        """Yield the changes of the group.

        Raises:
            UnsupportedError: a value that fits only into the type its column has now.
        """
        if isinstance(group, DifferenceGroup):
            nodes = [node for task in group.tasks for node in (*task.before, *task.after)]
            paths = tuple(merged_paths(nodes))
        else:
            paths = paths_of(group)
        with telling_of_expiry(), opened_in_order(self.io, paths) as open_file:
            if isinstance(group, DifferenceGroup):
                batches = read_row_difference(group, self.shape, self.request, open_file)
            else:
                batches = read_row_changes(group, self.shape, self.request, open_file)
            for batch in batches:
                yield narrow(batch, self.schema)


def row_change_schema(opened: OpenTable, columns: Sequence[str] | None) -> pa.Schema:
    """Return the schema of changed rows: the table's columns, and what a commit did to them.

    A stream keeps it while columns may come to take null, which only those of the key never do.

    Args:
        opened: the table.
        columns: some of them, in this order; all if None.

    Raises:
        InvalidInputError: a column is named twice, or as one that says what a commit did.
        NotFoundError: an unknown column.
    """
    own = changed_columns(opened)
    names = [field.name for field in own]
    taken = [field.name for field in COMMIT_FIELDS if field.name in names]
    if taken:
        raise InvalidInputError(
            f"table {opened.table.name!r} has a column {taken[0]!r}, as changes of rows have one; "
            f"rename it, or read the events ({CHANGE_ROWS.name} = events)"
        )
    whole = pa.schema([*own, *COMMIT_FIELDS])
    return project(whole, columns, table_name=opened.table.name, there="changes have")


def plan_row_changes(
    opened: OpenTable,
    asked: RowsAsked,
    settings: ReadSettings,
    start: StreamPosition,
    end: StreamPosition,
    *,
    is_replaced: Callable[[int, int], bool],
    columns: Sequence[str] | None,
    refresh: Callable[[], None],
    with_types_of_now: Callable[[pa.Schema], pa.Schema],
) -> ScanJob:
    """Plan what became of rows between two positions.

    Args:
        opened: the table.
        asked: how it is told.
        settings: of the read.
        start: exclusive.
        end: inclusive, not before ``start``.
        is_replaced: says whether base commits of a range replaced rows.
        columns: columns to read, in this order; all if None.
        refresh: loads the stores again.
        with_types_of_now: gives columns of the table the types that they have after that.

    Raises:
        InvalidInputError: a start before which rows are not told as changes.
        NotFoundError: an unknown column, or history that has expired.
        UnsupportedError: content that would be read wrongly.
    """
    if start.pin is not None:
        raise InvalidInputError(
            f"{CHANGE_ROWS.name} without a start: the rows that are there now are no change; "
            "expected start-version (0: from the first commit on), start-snapshot-id, "
            "start-timestamp or, for a stream, stream-from = latest"
        )
    schema = row_change_schema(opened, columns)

    def planned(_: OpenTable) -> tuple[ChangeGroup | DifferenceGroup, ...]:
        refresh()
        parts = [Stretch(start=_place(start), end=_place(end), difference=None)]
        ends = start.base_sequence_number, end.base_sequence_number
        if opened.table.is_keyed and is_replaced(*ends):
            parts = stretches(opened, parts[0].start, parts[0].end, asked)
        if opened.table.weighs_rows:
            parts = as_differences(opened, parts, is_net=asked.is_net)
        return _groups(opened, settings, start, parts)

    groups = on_newest_state(opened, planned) if start != end else ()
    wanted = _read_schema(opened, asked, groups, columns)
    now = with_types_of_now(
        pa.schema([nullable_throughout(field) for field in wanted if field.name not in _TOLD])
    )
    commits = Commits.between(opened, start.sequence_number, end.sequence_number)
    return ScanJob(
        schema=schema,
        groups=groups,
        reader=RowChangeReader(
            request=merge_request(opened, settings, schema=now, row_filter=None),
            shape=_shape(schema, now, asked, commits),
            schema=schema,
            io=cached_access(opened, settings.cache),
        ),
        plan=None,
        settings=settings,
        why_gone=partial(expired_under, opened, None),
    )


def _read_schema(
    opened: OpenTable,
    asked: RowsAsked,
    groups: Sequence[ChangeGroup | DifferenceGroup],
    columns: Sequence[str] | None,
) -> pa.Schema:
    """Return the columns that are read: where rows of two states are compared, by their keys."""
    compares = any(
        isinstance(group, DifferenceGroup)
        or (asked.is_net and any(task.beginning for task in group.tasks))
        for group in groups
    )
    if not compares or columns is None:
        return row_change_schema(opened, columns)
    by = list(dict.fromkeys((*columns, *opened.table.primary_key)))
    return row_change_schema(opened, by if asked.by_columns else None)


def _shape(schema: pa.Schema, now: pa.Schema, asked: RowsAsked, commits: Commits) -> RowChangeShape:
    """Return how changes are told, in columns of the types that they are read in."""
    return RowChangeShape(
        schema=pa.schema(
            [
                field if field.name in _TOLD else field.with_type(now.field(field.name).type)
                for field in schema
            ]
        ),
        is_net=asked.is_net,
        tells_updates=asked.tells_updates,
        commits=commits.sequences,
        versions=commits.versions,
        times_ms=commits.times_ms,
    )


def _groups(
    opened: OpenTable,
    settings: ReadSettings,
    start: StreamPosition,
    parts: Sequence[Stretch],
) -> tuple[ChangeGroup | DifferenceGroup, ...]:
    groups: list[ChangeGroup | DifferenceGroup] = []
    for part in parts:
        if part.difference is not None:
            groups += difference_groups(opened, settings, part, part.difference)
        elif part.start.sequence_number < part.end.sequence_number:
            groups += _change_groups(opened, settings, part, start)
    return tuple(groups)


def _place(position: StreamPosition) -> ChangePlace:
    return ChangePlace(
        sequence_number=position.sequence_number,
        base_sequence_number=position.base_sequence_number,
    )


def _change_groups(
    opened: OpenTable, settings: ReadSettings, part: Stretch, start: StreamPosition
) -> tuple[ChangeGroup, ...]:
    first, last = (
        replace(
            start,
            sequence_number=place.sequence_number,
            base_sequence_number=place.base_sequence_number,
        )
        for place in (part.start, part.end)
    )
    between = files_between(opened, first, last, skips_overwrites=False)
    if not opened.table.is_keyed:
        return plan_between(opened, settings, between.all_at_once())
    _check_order(opened, between.added)
    deletes = [file for file in between.added if file.kind is FileKind.CHANGE_DELETE]
    if deletes:
        # No base commit of the stretch replaced rows, so the newest one that holds none of its
        # changes has the same rows as the first, and fewer of them are still to be merged.
        bases = part.start.base_sequence_number, part.end.base_sequence_number
        place = replace(part.start, base_sequence_number=max(bases))
        between = replace(between, beginning=_before(opened, place, deletes))
    return plan_between(opened, settings, between)


def _before(opened: OpenTable, place: ChangePlace, deletes: Sequence[TableFile]) -> FilesToRead:
    """Return the files of the rows of before that these deletes may reach."""
    whole = files_at(opened, place)
    ranges = FileRanges([column.field_id for column in opened.table.key_columns])
    of_nodes: dict[tuple[Partition, TreeNode], list[KeyRange]] = defaultdict(list)
    for file in deletes:
        of_nodes[file.partition, file.node].append(ranges.of(file))
    near: dict[Partition, list[tuple[TreeNode, KeyRange]]] = defaultdict(list)
    for (partition, node), keys in of_nodes.items():
        near[partition].append((node, KeyRange.hull(keys)))

    def is_reached(task: FileTask) -> bool:
        own = ranges.of(task.file)
        return any(
            task.file.node.overlaps(node) and own.overlaps(keys)
            for node, keys in near.get(task.file.partition, ())
        )

    return replace(whole, data=tuple(task for task in whole.data if is_reached(task)))


def _check_order(opened: OpenTable, files: Sequence[TableFile]) -> None:
    for file in files:
        if file.transaction_id != file.sequence_number:
            raise UnsupportedError(
                f"table {opened.table.name!r}: change file {file.path!r} names transaction "
                f"{file.transaction_id}, but was committed as {file.sequence_number}; what a "
                "commit did to rows is told where both are the same, so read the events "
                f"({CHANGE_ROWS.name} = events)"
            )

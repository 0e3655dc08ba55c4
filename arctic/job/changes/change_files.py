"""The files between two positions of a reader of changes, and the plan of their read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arctic.errors import UnsupportedError
from arctic.iceberg.snapshots.change_log import added_between
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pinned_state import pinned_state
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.asked_read import ReadSettings
from arctic.scan.changes.change_tasks import ChangeGroup, plan_changes
from arctic.scan.choose.key_filter import ANY_KEY
from arctic.scan.choose.plan_files import FilesToRead, plan_files
from arctic.scan.file_order import in_file_order
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, TableFile
from arctic.table.streams.stream_position import StreamPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesBetween:
    """What lies between two positions."""

    beginning: FilesToRead
    """Of the pinned state: data files that are not done, in a lasting order."""
    added: tuple[TableFile, ...]
    """Files of commits: change files, or base files of an unkeyed table."""

    def all_at_once(self) -> FilesBetween:
        """Return the same with added files as part of the beginning: no key orders their rows."""
        added = tuple(FileTask(file=file) for file in in_file_order(self.added))
        beginning = replace(self.beginning, data=(*self.beginning.data, *added))
        return FilesBetween(beginning=beginning, added=())


def files_between(
    opened: OpenTable, start: StreamPosition, end: StreamPosition, *, skips_overwrites: bool
) -> FilesBetween:
    """List the files between two positions.

    Args:
        opened: the table, its stores refreshed.
        start: exclusive.
        end: inclusive, not before ``start``.
        skips_overwrites: goes on where an unkeyed table's rows were replaced or removed.

    Raises:
        NotFoundError: history of the range has expired.
        UnsupportedError: content that would be read wrongly.
        StorageError: a manifest cannot be read.
    """
    added: dict[str, TableFile] = {}
    if end.sequence_number > start.sequence_number:
        listed = added_between(
            opened,
            start.sequence_number,
            end.sequence_number,
            skips_overwrites=skips_overwrites,
        )
        added = {file.path: file for file in listed}
    beginning = FilesToRead(data=(), change_deletes=())
    if start.pin is not None:
        whole = merged_view(opened, start.pin.base_snapshot_id, start.pin.change_snapshot_id)
        if opened.table.fold and any(each.file.kind is FileKind.INSERT for each in whole.data):
            raise UnsupportedError(
                f"table {opened.table.name!r} has changes that are not merged, and its merge "
                f"engine {opened.table.merge_engine.value!r} makes rows that are in no file: a "
                f"stream cannot begin with its rows; call arctic.optimize({opened.table.name!r}, "
                "type='minor') first, or begin with start-version = '0'"
            )
        last = None if end.pin is None else end.pin.files_done
        beginning = replace(whole, data=whole.data[start.pin.files_done : last])
    return FilesBetween(beginning=beginning, added=tuple(added.values()))


def plan_between(
    opened: OpenTable, settings: ReadSettings, between: FilesBetween
) -> tuple[ChangeGroup, ...]:
    """Plan the read of what lies between two positions."""
    return plan_changes(
        between.beginning,
        between.added,
        key_ids=tuple(column.field_id for column in opened.table.key_columns),
        ordering_ids=tuple(column.field_id for column in opened.table.order_columns),
        engine=opened.table.merge_engine,
        keys_move=not opened.table.partition_follows_key,
        options=settings.division,
    )


def merged_view(
    opened: OpenTable, base_snapshot_id: int | None, change_snapshot_id: int | None
) -> FilesToRead:
    """List the files of all rows of a state, in a lasting order; raises as ``pinned_state``."""
    state = pinned_state(opened, base_snapshot_id, change_snapshot_id)
    table = opened.table
    field_ids = [column.field_id for column in (*table.key_columns, *table.order_columns)]
    listed = list_files(opened, state, field_ids=field_ids, row_filter=None)
    files, _ = plan_files(
        base=listed.base,
        position_deletes=listed.position_deletes,
        change=listed.change,
        snapshot=state,
        row_filter=None,
        key_filter=ANY_KEY,
        is_ordered=bool(table.order_columns),
        engine=table.merge_engine,
    )
    tasks = {task.file.path: task for task in files.data}
    ordered = in_file_order(task.file for task in tasks.values())
    return replace(files, data=tuple(tasks[file.path] for file in ordered))

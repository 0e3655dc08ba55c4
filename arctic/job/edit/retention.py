"""Rows that have become too old, taken out of a table by metadata alone.

Rules:
    - A partition goes if all rows of all its files are too old, those of changes too; with it every
      change that lies on it, so that none brings a row back.
    - Beside that, files of base go where the level says so. Changes are left to be merged first.
    - A row without a time never goes.
    - In a table with ordering columns the time is the first of them: what comes back because the
      row that it lost against is gone is too old itself. Where a row waits to be merged, single
      files of its partition stay: it would come back at once.

Source: amoro MixedTableMaintainer, IcebergTableMaintainer @96a4d781a. Differs: one commit of base,
which also hides the changes of a partition that goes; no change file is removed for it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from arctic import options as opt
from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.cleaning.last_write import last_write_ms
from arctic.iceberg.commits.commit_removal import commit_removal
from arctic.iceberg.metadata.history import DATA_EXPIRATION, PRODUCER
from arctic.iceberg.snapshots.list_files import list_files
from arctic.job.edit.commit_edit import EditedTable, edited
from arctic.job.edit.edit_report import EditReport
from arctic.job.edit.whole_files import FileJudge, unmerged_changes
from arctic.job.ordered_table import refuse_engine
from arctic.job.reference import TableReference
from arctic.table.commit_plan import RemoveRows
from arctic.table.expire_report import ExpiredItem, ExpiredKind
from arctic.table.expiry import duration_text
from arctic.table.files import FileKind, Partition, TableFile, Value
from arctic.table.filters.predicate import ColumnTest, Op
from arctic.table.table_description import Column, TableDescription

_UNITS = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
}
_PATTERN = re.compile(r"yyyy|MM|dd|HH|mm|ss|[-/: T_.]")
_DAY_MS = 86_400_000
_YEAR = 4
"""Digits; a cut bound that has no more says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """How long the rows of a table stay."""

    column: Column
    keep_ms: int
    by_file: bool
    """Single files go too, not only whole partitions."""
    from_last_commit: bool
    """Age is counted from the last write, not from now."""
    in_seconds: bool
    """What a number counts."""
    text_format: str
    """How a text says a time, for ``strftime``."""
    text_shape: str
    """The same with a 0 for each digit."""

    @classmethod
    def of(cls, options: Mapping[str, str], table: TableDescription) -> RetentionSettings | None:
        """Read what a call and a table say; None: rows stay for ever.

        Raises:
            InvalidInputError: a column that is missing or tells no time, or no retention time.
        """
        properties = table.properties
        if not opt.DATA_EXPIRE_ENABLED.value(options, properties):
            return None
        name = opt.DATA_EXPIRE_FIELD.value(options, properties)
        keep_ms = opt.DATA_EXPIRE_RETENTION.value(options, properties)
        column = next((each for each in table.columns if each.name == name), None)
        if column is None or keep_ms is None:
            raise InvalidInputError(
                f"table {table.name!r}: {opt.DATA_EXPIRE_ENABLED.name} = true with "
                f"{opt.DATA_EXPIRE_FIELD.name} = {name!r} and {opt.DATA_EXPIRE_RETENTION.name} = "
                f"{keep_ms}; expected a column of the table, and a time such as '30d'"
            )
        pattern = opt.DATA_EXPIRE_TEXTS.value(options, properties)
        settings = cls(
            column=column,
            keep_ms=keep_ms,
            by_file=opt.DATA_EXPIRE_LEVEL.value(options, properties) == "file",
            from_last_commit=opt.DATA_EXPIRE_RULE.value(options, properties) == "last_commit_time",
            in_seconds=opt.DATA_EXPIRE_NUMBERS.value(options, properties) == "timestamp_s",
            text_format=_format(pattern) if column.type == "string" else "",
            text_shape=re.sub("[A-Za-z](?<!T)", "0", pattern) if column.type == "string" else "",
        )
        settings.limit(0)
        return settings

    def limit(self, before_ms: int) -> Value:
        """Return the value below which a row is too old, as the column holds it.

        Raises:
            InvalidInputError: the column tells no time.
        """
        kind = self.column.type
        if kind in ("timestamp", "timestamptz"):
            return before_ms * 1000
        if kind == "date":
            return before_ms // _DAY_MS
        if kind == "long" or (kind == "int" and self.in_seconds):
            return before_ms // 1000 if self.in_seconds else before_ms
        if kind == "string":
            moment = datetime.fromtimestamp(before_ms / 1000, tz=timezone.utc)
            return moment.strftime(self.text_format)
        raise InvalidInputError(
            f"{opt.DATA_EXPIRE_FIELD.name} = {self.column.name!r}: column of type {kind}; expected "
            "timestamp, timestamptz, date, long, int in TIMESTAMP_S, or string"
        )

    def tells_time(self, file: TableFile) -> bool:
        """Say whether the least and the greatest value of a file are times, as far as is known."""
        bounds = file.bounds.get(self.column.field_id)
        return not self.text_shape or (
            bounds is not None
            and all(_has_shape(each, self.text_shape) for each in (bounds.lower, bounds.upper))
        )


def expire_rows(
    reference: TableReference, settings: RetentionSettings, *, now_ms: int, dry_run: bool
) -> tuple[ExpiredItem, ...]:
    """Remove the rows of a table that are too old, as far as whole files or partitions are.

    Args:
        reference: the table.
        settings: how long rows stay.
        now_ms: milliseconds since 1970-01-01 UTC.
        dry_run: only say which files; who may only read the table may ask this.

    Raises:
        UnsupportedError: a table with ordering columns, by another column than the first of them.
        ConflictError: others committed during every attempt; nothing was removed.
        CommitStateUnknownError: the rows may have been removed.
        StorageError: the catalog or a file cannot be reached; nothing was removed.
    """
    items: tuple[ExpiredItem, ...] = ()

    def attempt(table: EditedTable) -> EditReport:
        nonlocal items
        items = ()
        name = table.opened.table.name
        refuse_engine(table.opened.table, "expiry of rows")
        _check_order(table.opened.table, settings)
        last_ms = last_write_ms(table.opened) if settings.from_last_commit else now_ms
        if last_ms is None:
            return EditReport(table=name, snapshot_id=None)
        plan, files = _plan(table, settings, last_ms - settings.keep_ms)
        items = tuple(
            ExpiredItem(
                store="base",
                kind=ExpiredKind.EXPIRED_ROWS,
                name=file.path,
                size_bytes=file.size_bytes,
                reason=f"{settings.column.name} of all rows is older than "
                f"{duration_text(settings.keep_ms)}",
            )
            for file in sorted(files, key=lambda file: file.path)
        )
        if dry_run or not (plan.partitions or plan.removed_paths):
            return EditReport(table=name, snapshot_id=None)
        commit = commit_removal(table.opened, plan)
        return EditReport(table=name, snapshot_id=None if commit is None else commit.snapshot_id)

    edited(reference, attempt, commits=not dry_run)
    return items


def _plan(
    table: EditedTable, settings: RetentionSettings, before_ms: int
) -> tuple[RemoveRows, list[TableFile]]:
    column, state = settings.column, table.state
    test = ColumnTest(
        op=Op.LT,
        field_id=column.field_id,
        column=column.name,
        literal=settings.limit(before_ms),
    )
    listed = list_files(table.opened, state, field_ids={column.field_id}, row_filter=test)
    judge = FileJudge(table.opened, test)
    inserts = [file for file in unmerged_changes(listed, state) if file.kind is FileKind.INSERT]
    by_partition: dict[Partition, list[TableFile]] = defaultdict(list)
    for file in (*listed.base, *inserts):
        by_partition[file.partition].append(file)
    timed = {file.path for file in (*listed.base, *inserts) if settings.tells_time(file)}
    whole = {
        partition
        for partition, files in by_partition.items()
        if all(file.path in timed for file in files)
        and (judge.covers_partition(partition) or all(judge.covers(file) for file in files))
    }
    is_ordered = bool(table.opened.table.ordering_columns)
    waiting = {file.partition for file in inserts} if is_ordered else set()
    going = [file for file in listed.base if file.partition in whole]
    going += [
        file
        for file in listed.base
        if settings.by_file
        and file.partition not in whole
        and file.partition not in waiting
        and file.path in timed
        and judge.covers(file)
    ]
    plan = RemoveRows(
        partitions=frozenset(whole),
        known_paths=frozenset(file.path for file in going),
        removed_paths=frozenset(file.path for file in going if file.partition not in whole),
        change_sequence_number=(
            state.change_sequence_number if table.opened.table.is_keyed else None
        ),
        known_deletes=frozenset(file.path for file in listed.position_deletes),
        planned_at=state.base_snapshot_id,
        summary={PRODUCER: DATA_EXPIRATION},
    )
    return plan, [*going, *(file for file in inserts if file.partition in whole)]


def _check_order(table: TableDescription, settings: RetentionSettings) -> None:
    names = table.ordering_columns
    if names and names[0] != settings.column.name:
        raise UnsupportedError(
            f"table {table.name!r}: rows expire by {settings.column.name!r}, but are ordered by "
            f"{names[0]!r}, so an older row could come back that has not expired; expected "
            f"{opt.DATA_EXPIRE_FIELD.name} = {names[0]!r}"
        )


def _has_shape(text: Value, shape: str) -> bool:
    """Say whether a text is of a shape. A bound that was cut is a beginning, its last sign raised.

    >>> _has_shape("2024-02-29", "0000-00-00"), _has_shape("29/02/2024", "0000-00-00")
    (True, False)
    """
    if not isinstance(text, str):
        return False
    if _YEAR < len(text) < len(shape):
        text = text[:-1]
        shape = shape[: len(text)]
    return len(text) == len(shape) and all(
        given in "0123456789" if wanted == "0" else given == wanted
        for given, wanted in zip(text, shape, strict=True)
    )


def _format(pattern: str) -> str:
    """Return a pattern of Java's for ``strftime``.

    Raises:
        InvalidInputError: texts in it do not sort as the times that they say.

    >>> _format("yyyy-MM-dd HH:mm")
    '%Y-%m-%d %H:%M'
    """
    parts = _PATTERN.findall(pattern)
    units = [part for part in parts if part in _UNITS]
    if "".join(parts) != pattern or units != list(_UNITS)[: len(units)] or not units:
        raise InvalidInputError(
            f"{opt.DATA_EXPIRE_TEXTS.name} = {pattern!r}: expected yyyy, MM, dd, HH, mm, ss in "
            "this order, as many as there are, with marks such as '-' between them"
        )
    return "".join(_UNITS.get(part, part) for part in parts)

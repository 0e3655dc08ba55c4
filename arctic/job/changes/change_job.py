"""Reading changes: how far to go from a position, which files lie between two, and their events.

Rules:
    - ``plan`` is a function of two positions: the same pair gives the same rows, whatever was
      optimized in between; or it is refused, where history has expired.
    - The columns are those of the table as it was opened first. A stream that runs keeps them: a
      column that is renamed meanwhile keeps its old name; one that is widened is read with its new
      type, and values are cast back.
    - A reader and its groups pickle: they go to executors, which never see a catalog.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

import pyarrow as pa

from arctic.columns.field_ids import child_fields, field_id
from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.snapshots.change_log import (
    check_base,
    check_commits,
    head_sequence,
    replacing_commits,
    stream_store,
)
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.schema import arrow_schema
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_files import files_between, plan_between
from arctic.job.changes.change_range import ChangePlace, settled_heads, start_position
from arctic.job.changes.change_reader import ChangeReader
from arctic.job.changes.row_change_job import plan_row_changes
from arctic.job.newest_state import expired_under, on_newest_state
from arctic.job.read.asked_read import cached_access
from arctic.job.read.plan_rows import merge_request
from arctic.job.read.read_columns import change_columns, project
from arctic.job.read.scan_job import ScanJob
from arctic.scan.changes.change_limit import ChangeLimit, cut_changes
from arctic.scan.changes.change_tasks import ChangeGroup
from arctic.table.streams.stream_position import StreamPosition


class Changes:
    """The changes of one table, to be read from one position to another."""

    def __init__(self, asked: AskedChanges) -> None:
        self._asked = asked
        self.skips_overwrites = asked.skips_overwrites
        self._looked_at = (0, 0)
        """Base commits that are known to keep all rows: after the first one, up to the last."""

    @cached_property
    def opened(self) -> OpenTable:
        """The table; its columns stay what they were when it was asked for first."""
        return self._asked.reference.open()

    @property
    def head(self) -> int:
        """The last commit that was seen, by its sequence number."""
        return head_sequence(stream_store(self.opened))

    def newest(self) -> ChangePlace:
        """Look again; return how far both stores are at one moment."""
        return settled_heads(self.opened)

    def beginning(self) -> StreamPosition:
        """Return where the options say that a new stream begins."""
        return start_position(self.opened, self._asked)

    def advance(
        self, start: StreamPosition, *, limit: ChangeLimit, up_to: ChangePlace | None = None
    ) -> StreamPosition:
        """Return how far one micro-batch goes; ``start`` itself when there is nothing new.

        Args:
            start: what is done.
            limit: upper bounds of the micro-batch.
            up_to: no commit of either store after this place, inclusive; None: what is there now.

        Raises:
            NotFoundError: history after ``start`` has expired.
            UnsupportedError: rows were replaced since without a change that says so.
        """
        self._check_table(start)
        self._refresh()
        opened = self.opened
        last, base_sequence = self.head, head_sequence(opened.base)
        if up_to is not None:
            last = min(last, up_to.sequence_number)
            base_sequence = min(base_sequence, up_to.base_sequence_number)
        last = max(last, start.sequence_number)
        base_sequence = max(base_sequence, start.base_sequence_number)
        check_commits(opened, start.sequence_number, last, skips_overwrites=self.skips_overwrites)
        if opened.change is not None and not self.skips_overwrites:
            replaced = self.is_replaced(start.base_sequence_number, base_sequence)
            if replaced and self._asked.rows is not None:
                # Like a commit, it is not cut, nor is what lies before it.
                place = up_to or self.newest()
                return replace(
                    start,
                    sequence_number=max(place.sequence_number, start.sequence_number),
                    base_sequence_number=place.base_sequence_number,
                )
            if replaced:
                check_base(opened, start.base_sequence_number, base_sequence)
        if start.pin is None and last == start.sequence_number:
            return start
        end = replace(start, sequence_number=last, base_sequence_number=base_sequence, pin=None)
        if not limit.is_set:
            return end
        return on_newest_state(opened, lambda _: self._cut(start, end, limit))

    def beside(self, done: StreamPosition) -> StreamPosition:
        """Return a place with all of base done that is known, once ``advance`` found nothing new.

        No commit of base since then replaced rows, so no row lies between the two. Whoever keeps
        the later one needs none of the earlier base commits any more.
        """
        return replace(done, base_sequence_number=head_sequence(self.opened.base))

    def plan(
        self, start: StreamPosition, end: StreamPosition, *, columns: Sequence[str] | None
    ) -> ScanJob:
        """Plan the events between two positions, or what became of rows.

        Args:
            start: exclusive.
            end: inclusive.
            columns: columns to read, in this order; all if None.

        Raises:
            InvalidInputError: positions of another table, or the wrong way round.
            NotFoundError: an unknown column, or history that has expired.
            UnsupportedError: content that would be read wrongly.
        """
        self._check_table(start)
        self._check_table(end)
        if end.sequence_number < start.sequence_number:
            raise InvalidInputError(
                f"stream offset at commit {end.sequence_number} after one at commit "
                f"{start.sequence_number}; expected a later one"
            )
        opened = self.opened
        settings = self._asked.settings(opened)
        if self._asked.rows is not None:
            return plan_row_changes(
                opened,
                self._asked.rows,
                settings,
                start,
                end,
                is_replaced=self.is_replaced,
                columns=columns,
                refresh=self._refresh,
                with_types_of_now=partial(_with_types_of_now, opened),
            )
        schema = chosen_columns(opened, columns)

        def planned(_: OpenTable) -> tuple[ChangeGroup, ...]:
            self._refresh()
            between = files_between(opened, start, end, skips_overwrites=self.skips_overwrites)
            between = between if opened.table.is_keyed else between.all_at_once()
            return plan_between(opened, settings, between)

        groups = on_newest_state(opened, planned) if start != end else ()
        now = _with_types_of_now(opened, schema)
        request = merge_request(opened, settings, schema=now, row_filter=None)
        reader = ChangeReader(
            request=request, schema=schema, io=cached_access(opened, settings.cache)
        )
        return ScanJob(
            schema=schema,
            groups=groups,
            reader=reader,
            plan=None,
            settings=settings,
            why_gone=partial(expired_under, opened, None),
        )

    def _cut(
        self, start: StreamPosition, end: StreamPosition, limit: ChangeLimit
    ) -> StreamPosition:
        between = files_between(self.opened, start, end, skips_overwrites=self.skips_overwrites)
        first = [task.file for task in between.beginning.data]
        cut = cut_changes(first, between.added, limit=limit)
        if cut.last_sequence is None:
            return end
        if start.pin is not None and cut.first_files < len(first):
            done = start.pin.files_done + cut.first_files
            return replace(start, pin=replace(start.pin, files_done=done))
        return replace(end, sequence_number=max(start.sequence_number, cut.last_sequence))

    def is_replaced(self, after: int, up_to: int) -> bool:
        """Say whether base commits of a range replaced rows; raises as ``check_base`` does."""
        # A stream may wait for a change longer than base commits stay: each is looked at once.
        first, last = self._looked_at
        known = first <= after <= last
        begin = last if known else after
        rows = self._asked.rows
        with_expiry = rows is not None and rows.tells_expiry
        if replacing_commits(self.opened, begin, up_to, with_expiry=with_expiry):
            return True
        self._looked_at = (first if known else after, up_to)
        return False

    def _refresh(self) -> None:
        for store in (self.opened.change, self.opened.base):
            if store is not None:
                refresh(store)

    def _check_table(self, position: StreamPosition) -> None:
        uuid = str(self.opened.base.metadata.table_uuid)
        if position.table_uuid != uuid:
            raise NotFoundError(
                f"table {self.opened.table.name!r} is not the one that the stream began with: its "
                f"UUID is {uuid}, the stream offset says {position.table_uuid}; begin a new "
                "checkpoint"
            )


def chosen_columns(opened: OpenTable, columns: Sequence[str] | None) -> pa.Schema:
    """Return the schema of changes: the table's columns, and what tells when and how they changed.

    Args:
        opened: the table.
        columns: some of them, in this order; all if None.

    Raises:
        InvalidInputError: a column is named twice.
        NotFoundError: an unknown column.
    """
    return project(
        change_columns(opened), columns, table_name=opened.table.name, there="changes have"
    )


def _with_types_of_now(opened: OpenTable, schema: pa.Schema) -> pa.Schema:
    """Return columns of the table with the types they have since it was refreshed.

    Those of the key decide where rows are, and nested ones have no cast back: they stay.
    """
    if opened.is_described:
        return schema
    now = {field_id(field): field.type for field in arrow_schema(opened.base.schema())}
    key = opened.table.primary_key
    return pa.schema(
        [
            field
            if field.name in key or child_fields(field.type)
            else field.with_type(now.get(field_id(field), field.type))
            for field in schema
        ]
    )

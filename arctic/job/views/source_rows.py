"""A source of a view: its changes since a position, and its rows at one.

Rules:
    - Rows are read at the position where the changes end: what is committed later belongs to the
      next refresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from arctic import options as opt
from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.metadata.history import lineage
from arctic.iceberg.snapshots.pinned_state import pinned_state
from arctic.iceberg.snapshots.state_between import state_between
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.job.changes.consumer_job import ConsumerJob
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import ScanJob
from arctic.job.reference import TableReference, table_reference
from arctic.job.views.rows_among import Values, rows_among
from arctic.options import Scope
from arctic.table.snapshot import TableSnapshot
from arctic.table.streams.stream_position import StreamPosition
from arctic.views.view_query import Source

CHANGE_TYPE = "_change_type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What a refresh reads of one source."""

    start: StreamPosition | None
    """None: the view has none of its rows yet."""
    end: StreamPosition


class SourceTable:
    """One source, opened once for a refresh."""

    def __init__(self, view: TableReference, identifier: str) -> None:
        self.identifier = identifier
        left = {name: text for name, text in view.options.items() if name.lower() != opt.PATH.name}
        self._place = {**left, opt.PATH.name: identifier}
        self.reference = table_reference(self._place)
        given = {**self._place, opt.CHANGE_ROWS.name: "net"}
        asked = AskedChanges.of(given, Scope.STREAM)
        assert asked.rows is not None
        # What a view does not read of a row may change as it likes.
        self._asked = replace(asked, rows=replace(asked.rows, by_columns=True))
        self._changes = Changes(self._asked)

    @property
    def opened(self) -> OpenTable:
        """The table."""
        return self._changes.opened

    @property
    def source(self) -> Source:
        """What a statement may know of it.

        Raises:
            InvalidInputError: columns that SQL cannot tell apart.
        """
        schema = self.opened.arrow_schema
        if len({name.lower() for name in schema.names}) < len(schema.names):
            raise InvalidInputError(
                f"table {self.identifier!r} has columns that differ by capitals only, which SQL "
                "cannot tell apart; rename one"
            )
        return Source(
            identifier=self.identifier,
            alias=self.identifier,
            columns=tuple(schema.names),
            key=tuple(self.opened.table.primary_key),
            required=frozenset(field.name for field in schema if not field.nullable),
        )

    def described(self, names: Iterable[str] | None = None) -> dict[str, str]:
        """Return field id and type of columns, by name; of all where none are named."""
        schema = self.opened.base.schema()
        return {
            name: f"{schema.find_field(name).field_id} {schema.find_field(name).field_type}"
            for name in sorted(self.opened.arrow_schema.names if names is None else names)
        }

    def stretch(self, start: StreamPosition | None) -> Stretch:
        """Return how far a refresh goes: to what is there now.

        Raises:
            NotFoundError: history after the start has expired.
        """
        if start is None:
            return Stretch(start=None, end=replace(self._changes.beginning(), pin=None))
        try:
            return Stretch(start=start, end=self._changes.advance(start, limit=self._asked.limit))
        except NotFoundError as error:
            raise NotFoundError(
                f"view: what came to table {self.identifier!r} since the last refresh is not known "
                f"any more; refresh it with full=True ({error.message})"
            ) from error

    def changes(self, stretch: Stretch, columns: Sequence[str]) -> ScanJob:
        """Plan the changed rows of a stretch, both as they were and as they are."""
        assert stretch.start is not None
        return self._changes.plan(stretch.start, stretch.end, columns=[*columns, CHANGE_TYPE])

    def rows(
        self,
        at: StreamPosition,
        columns: Sequence[str],
        among: Values | None = None,
    ) -> ScanJob:
        """Plan a read of the rows at a position.

        Args:
            at: where.
            columns: of the table.
            among: rows without one of these values are not needed, and may come all the same.
        """
        asked = AskedRead.of(self._place)
        return rows_among(self.opened, asked, columns, among, snapshot=self._state(at))

    def hold(self, name: str, position: StreamPosition) -> None:
        """Keep what comes after a position from expiry, under the name of a consumer."""
        ConsumerJob(self._asked, name).hold(position)

    def _state(self, at: StreamPosition) -> TableSnapshot:
        opened = self.opened
        if opened.table.is_keyed:
            ids = state_between(opened, at.sequence_number, at.base_sequence_number)
            return pinned_state(opened, *ids)
        for snapshot in lineage(opened.base.metadata, opened.base.current_snapshot()):
            if (snapshot.sequence_number or 0) == at.sequence_number:
                return pinned_state(opened, snapshot.snapshot_id, None)
        if at.sequence_number:
            raise NotFoundError(
                f"table {self.identifier!r}: the snapshot of commit {at.sequence_number} has "
                "expired; refresh the view again"
            )
        return pinned_state(opened, None, None)

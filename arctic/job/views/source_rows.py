"""A source of a view: its changes since a position, and its rows at one.

Rules:
    - Rows are read at the position where the changes end: what is committed later belongs to the
      next refresh.
    - Rows that became too old went, as those that were deleted did. A position that such a commit
      of base was passed to was taken of both stores at one moment, so the state there has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from arctic import options as opt
from arctic.errors import ConflictError, InvalidInputError, NotFoundError
from arctic.iceberg.metadata.history import (
    UPKEEP,
    current_at,
    expires_rows,
    lineage,
    producer_of,
    set_back_ms,
)
from arctic.iceberg.snapshots.change_log import expiring_commits, stream_store
from arctic.iceberg.snapshots.pinned_state import pinned_state
from arctic.iceberg.snapshots.state_between import state_between
from arctic.iceberg.snapshots.versions import table_versions
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.job.changes.consumer_job import ConsumerJob
from arctic.job.edit.rows_among import Values, rows_among
from arctic.job.past_state import PastState
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import ScanJob
from arctic.job.reference import TableReference, table_reference
from arctic.options import Scope
from arctic.table.property_names import VIEW
from arctic.table.snapshot import TableSnapshot
from arctic.table.streams.stream_position import StreamPosition
from arctic.views.view_definition import HISTORY, ViewDefinition, consumer_of
from arctic.views.view_query import Source, is_kept_beside

CHANGE_TYPE = "_change_type"
COMMIT_VERSION, COMMIT_TIMESTAMP = "_commit_version", "_commit_timestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What a refresh reads of one source."""

    start: StreamPosition | None
    """None: all rows are read, as the view has none of them yet, or some that nobody tells of."""
    end: StreamPosition
    is_empty: bool = False
    """Nothing has changed in it; base may have been rewritten."""


class SourceTable:
    """One source, opened once for a refresh."""

    def __init__(self, view: TableReference, identifier: str, *, change_rows: str) -> None:
        self.identifier = identifier
        left = {name: text for name, text in view.options.items() if name.lower() != opt.PATH.name}
        self._place = {**left, opt.PATH.name: identifier}
        self.reference = table_reference(self._place)
        # What a view does not read of a row may change as it likes, and to tell an update from a
        # delete and an insert is work that no view needs.
        given = {
            opt.CHANGE_ROWS.name: change_rows,
            opt.CHANGE_COMPARES.name: "columns",
            opt.CHANGE_UPDATES.name: "false",
        }
        asked = AskedChanges.of({**self._place, **given}, Scope.STREAM)
        assert asked.rows is not None
        self._asked = replace(asked, rows=replace(asked.rows, tells_expiry=True))
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
            shown=tuple(self.named_in("")),
        )

    def named_in(self, sql: str) -> list[str]:
        """Return the columns that ``*`` means, and those that a statement may name besides."""
        names: list[str] = self.opened.arrow_schema.names
        if VIEW not in self.opened.base.properties:
            return names
        return [each for each in names if not is_kept_beside(each) or _is_named(each, sql)]

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
            end = self._changes.advance(start, limit=self._asked.limit)
        except NotFoundError as error:
            raise NotFoundError(
                f"view: what came to table {self.identifier!r} since the last refresh is not known "
                f"any more; refresh it with full=True ({error.message})"
            ) from error
        if end == start:
            return Stretch(start=start, end=self._changes.beside(start), is_empty=True)
        bounds = start.sequence_number, end.sequence_number
        if not self.opened.table.is_keyed and expiring_commits(self.opened, *bounds):
            # Nothing tells which rows went, so all are read anew.
            return Stretch(start=None, end=end)
        return Stretch(start=start, end=end)

    def changes(self, stretch: Stretch, columns: Sequence[str]) -> ScanJob:
        """Plan the changed rows of a stretch, both as they were and as they are.

        Args:
            stretch: one with a start.
            columns: of the table, and of what tells of commits.
        """
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

    def as_of(self, time_ms: int) -> TableSnapshot:
        """Return the state at a time; that of an empty table before its first commit.

        Raises:
            NotFoundError: it has expired.
        """
        stores = [each for each in (self.opened.base, self.opened.change) if each is not None]
        if all(current_at(each.metadata, time_ms) == (None, True) for each in stores):
            return pinned_state(self.opened, None, None)
        return PastState(as_of_ms=time_ms).pinned(self.opened.refreshed())

    def rows_of(self, state: TableSnapshot, columns: Sequence[str]) -> ScanJob:
        """Plan a read of all rows of a state."""
        return rows_among(self.opened, AskedRead.of(self._place), columns, None, snapshot=state)

    def place_of(self, state: TableSnapshot) -> StreamPosition:
        """Return the position whose rows are those of a state."""
        metadata = self.opened.base.metadata
        base = metadata.snapshot_by_id(state.base_snapshot_id or 0)
        in_base = 0 if base is None else base.sequence_number or 0
        return StreamPosition(
            table_uuid=str(metadata.table_uuid),
            sequence_number=(
                state.change_sequence_number if self.opened.table.is_keyed else in_base
            ),
            base_sequence_number=in_base,
        )

    def newest_commit(self, at: StreamPosition) -> tuple[int, int]:
        """Return the version that the last change up to a position made, and its time in ms.

        Where it has expired, that of the first version that is known; 0, and the time of its
        metadata, of an empty table. The time is no earlier than that of a roll back.
        """
        stores = [each for each in (self.opened.base, self.opened.change) if each is not None]
        found = (0, max(each.metadata.last_updated_ms for each in stores))
        for each in reversed(table_versions(self.opened)):
            of_change = each.store == "change"
            store = self.opened.change if of_change else self.opened.base
            made = each.change_snapshot_id if of_change else each.base_snapshot_id
            snapshot = None if store is None else store.metadata.snapshot_by_id(made or 0)
            assert snapshot is not None
            found = (each.number, each.committed_ms)
            last = (
                at.sequence_number
                if store is stream_store(self.opened)
                else at.base_sequence_number
            )
            has_expired = not of_change and expires_rows(snapshot)
            is_news = has_expired or producer_of(snapshot) not in UPKEEP
            if is_news and (snapshot.sequence_number or 0) <= last:
                break
        return found[0], max(found[1], *(set_back_ms(each.metadata) for each in stores))

    def rests_long(self, name: str) -> bool:
        """Say whether a consumer is to be renewed, as nothing has come that would move it."""
        return ConsumerJob(self._asked, name).is_to_be_renewed(self.opened)

    def hold(self, name: str, position: StreamPosition) -> None:
        """Keep what comes after a position from expiry, under the name of a consumer."""
        with suppress(ConflictError):  # another refresh holds it as well
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


def _is_named(column: str, sql: str) -> bool:
    """Say whether a statement may name a column.

    >>> [_is_named("_rows", sql) for sql in ('"_Rows" AS n', "sum(n) AS total_rows")]
    [True, False]
    """
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", sql, re.IGNORECASE) is not None


def rest_long(view: str, sources: Mapping[str, SourceTable]) -> bool:
    """Say whether a view is to hold its sources anew, as nothing has come in one for long."""
    return any(each.rests_long(consumer_of(view)) for each in sources.values())


def hold_sources(
    view: str, sources: Mapping[str, SourceTable], ends: Mapping[str, StreamPosition]
) -> None:
    """Keep what the next refresh of a view reads from expiry; its rows do not hang on it.

    Args:
        view: its name.
        sources: of the view, by name.
        ends: where the refresh ended in each.
    """
    for name, source in sources.items():
        source.hold(consumer_of(view), ends[name])


def open_sources(view: TableReference, definition: ViewDefinition) -> dict[str, SourceTable]:
    """Open the sources of a view, by name.

    Raises:
        NotFoundError: one is gone.
    """
    # A history wants what each commit did, all others what became of rows in the end.
    rows = "commits" if definition.kind == HISTORY else "net"
    return {each: SourceTable(view, each, change_rows=rows) for each in definition.sources}

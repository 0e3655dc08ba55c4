"""One mirrored table: how it is made, follows the columns of its source, and takes rows.

Rules:
    - Columns are compared with the source's catalog after the log was read, so the catalog is
      never older than the events at hand, though it may be younger.
    - What the log does not say (defaults of new columns, rewrites) is copied again: all rows, once
      the log is followed beyond the moment of the comparison. Events after that moment know the
      new columns, and repeat what the copy already saw; a key's last event is right in any case.
    - Columns that mirror nothing are not in the rows that are written, so they keep what they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from arctic import options as opt
from arctic.cdc.events import SourceColumn, split_by_shape
from arctic.cdc.evolution import holds
from arctic.cdc.rows.copied_texts import copied_texts
from arctic.cdc.rows.event_rows import TypedRows
from arctic.cdc.rows.read_events import joined_rows, read_events
from arctic.cdc.source_table import Dialect, SourceTable
from arctic.cdc.unread import ReadColumn, Unread
from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.change_store import HalfMadeError
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_schema
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.mirror.mirror_columns import column_step, mirror_columns
from arctic.job.mirror.mirror_state import MirrorColumn, MirrorState
from arctic.job.mirror.write_changes import WriteRows, last_batch
from arctic.job.reference import TableReference

_ANY_LATER = 2**63 - 1
"""A place of the log after every column was new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorTable:
    """A table and its source; stays where the catalog can be reached."""

    reference: TableReference
    opened: OpenTable
    state: MirrorState
    dialect: Dialect
    """Of the source."""

    @property
    def last_batch(self) -> int:
        """Up to where of the log the table holds everything; -1: nothing."""
        return max(last_batch(self.opened, self.state.writer), self.state.place)

    def is_like(self, source: SourceTable) -> bool:
        """Say whether the source is as it was when the table was last brought in step."""
        ours = [(column.position, column.name, column.type) for column in self.state.columns]
        theirs = [(column.position, column.name, column.type) for column in source.columns]
        is_same_key = source.key == tuple(self.opened.table.primary_key)
        state = self.state
        known = (state.oid, state.filenode, state.named)
        is_same = known == (source.oid, source.filenode, source.named)
        return ours == theirs and is_same_key and is_same

    def with_state(self, state: MirrorState) -> MirrorTable:
        """Remember another state."""
        return self._evolved(SchemaChange(properties=state.property()), state)

    def brought_in_step(self, source: SourceTable, log_end: int) -> MirrorTable:
        """Follow the columns of the source.

        Args:
            source: as it is now.
            log_end: a place of the log that was reached after ``source`` was looked at.

        Raises:
            InvalidInputError: the key of the source is another one, or the mirror has columns that
                do not fit.
        """
        key = tuple(self.opened.table.primary_key)
        if source.key != key:
            raise InvalidInputError(
                f"table {source.full_name} of {self.dialect.source} now has the primary key "
                f"{', '.join(source.key)}, its mirror {self.opened.table.name!r} {', '.join(key)}; "
                "drop the mirror, and it is copied anew"
            )
        ours = [column.name for column in self._columns_in_order()]
        step = column_step(self.opened.arrow_schema, self.state, source, log_end=log_end)
        theirs = {*step.change.add, *step.change.rename.values()}
        taken = theirs.intersection(self.opened.arrow_schema.names).difference(ours)
        if taken:
            raise InvalidInputError(
                f"table {source.full_name} of {self.dialect.source} now has the column "
                f"{', '.join(sorted(taken))}, and its mirror {self.opened.table.name!r} has one of "
                "that name which mirrors nothing; rename or drop that one, and run again"
            )
        change = SchemaChange(
            add=step.change.add,
            rename=step.change.rename,
            widen=step.change.widen,
            drop=step.change.drop,
            properties=step.state.property(),
        )
        return self._evolved(change, step.state)

    def read_events(self, events: pa.Table, unread: Unread | None) -> TypedRows:
        """Read the events of this table, without truncates, into its columns."""
        key = self.opened.table.primary_key
        return joined_rows(
            [
                read_events(part, self._read_columns(shape, place), key, unread=unread)
                for place, some in self._by_place(events)
                for shape, part in (split_by_shape(some) or {None: some}).items()
            ]
        )

    def _by_place(self, events: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Yield events by where they are in the log: up to a place at which columns were new."""
        bounds = np.array(sorted({column.absent_up_to for column in self.state.columns}), np.int64)
        groups = np.searchsorted(bounds, events["ends"].to_numpy())
        found = np.unique(groups).tolist() or [len(bounds)]
        for group in found:
            place = int(bounds[group]) if group < len(bounds) else _ANY_LATER
            yield place, events if len(found) == 1 else events.filter(pa.array(groups == group))

    def read_copy(self, pieces: Iterable[pa.Table], broken: list[pa.Table]) -> Iterator[pa.Table]:
        """Read rows that come as texts; what cannot be read is added to ``broken``."""
        columns = self._read_columns(None, _ANY_LATER)
        for piece in pieces:
            typed = copied_texts(piece, columns)
            source = pa.array([self.state.table] * typed.broken.num_rows, pa.string())
            broken.append(typed.broken.set_column(2, "source", source))
            yield typed.rows

    def write_copy(self, rows: Iterator[pa.Table], mode: str, write: WriteRows) -> None:
        """Write whole rows in one commit; ``mode`` is that of a write."""
        fields = [self.opened.arrow_schema.field(c.name) for c in self._columns_in_order()]
        schema = pa.schema([field.remove_metadata().with_nullable(True) for field in fields])
        batches = (batch for table in rows for batch in table.cast(schema).to_batches())
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        how = {opt.WRITE_MODE.name: mode}
        if mode == "upsert":
            how[opt.MISSING_COLUMNS.name] = "keep"
        write(reader, {**self.reference.options, **how})

    def _read_columns(self, shape: str | None, place: int) -> list[ReadColumn]:
        described = () if shape is None else self.dialect.columns_of(shape)
        names = {column.name for column in described}
        theirs: dict[int | str | None, SourceColumn]
        if self.dialect.numbers_columns:
            theirs = {c.position: c for c in described}
        else:
            theirs = {c.name: c for c in described}
        return [
            self._read_column(
                column,
                theirs.get(column.position if self.dialect.numbers_columns else column.name),
                names,
                place,
            )
            for column in self._columns_in_order()
        ]

    def _read_column(
        self, column: MirrorColumn, theirs: SourceColumn | None, names: set[str], place: int
    ) -> ReadColumn:
        field = self.opened.arrow_schema.field(column.name).remove_metadata()
        ours = self.dialect.source_column(column.name, column.type, position=column.position)
        source: str | None = column.name
        if theirs is not None:
            # Of an earlier type that does not fit; all rows are copied after such a change.
            is_earlier = theirs.type != ours.type
            source = None if is_earlier and not holds(field.type, theirs.type) else theirs.name
        elif column.name in names:
            source = None
        return ReadColumn(
            field=field,
            source=source,
            decoding=ours.decoding,
            absent_is_null=place <= column.absent_up_to or (theirs is not None and source is None),
        )

    def _columns_in_order(self) -> list[MirrorColumn]:
        """Return the columns that mirror one, in the order of the table."""
        by_name = {column.name: column for column in self.state.columns}
        there = self.opened.arrow_schema.names
        gone = [name for name in by_name if name not in there]
        if gone:
            raise InvalidInputError(
                f"table {self.opened.table.name!r} has no column {', '.join(gone)} any more, where "
                f"it mirrors {self.state.table}; give it its name back, or drop the table, and it "
                "is copied anew"
            )
        return [by_name[name] for name in there if name in by_name]

    def _evolved(self, change: SchemaChange, state: MirrorState) -> MirrorTable:
        opened = evolve_schema(self.reference.config, self.reference.identifier, change)
        return replace(self, opened=opened, state=state)

    def reopened(self) -> MirrorTable:
        """Return it as it is now."""
        return replace(self, opened=self.reference.open())


def open_mirror(reference: TableReference, system: str, dialect: Dialect) -> MirrorTable | None:
    """Open the mirror of a table; None: there is no table yet, or half of one.

    Raises:
        InvalidInputError: the table mirrors nothing, or a table of another database.
    """
    try:
        opened = reference.open(for_writing=True)
    except NotFoundError:
        return None
    except HalfMadeError as error:
        half = MirrorState.of(error.properties)
        if half is None or half.system != system:
            raise
        return None
    state = MirrorState.of(opened.table.properties)
    if state is None or state.system != system:
        what = "mirrors nothing" if state is None else "mirrors a table of another database"
        raise InvalidInputError(
            f"table {opened.table.name!r} {what}; choose another namespace, or drop the table"
        )
    return MirrorTable(reference=reference, opened=opened, state=state, dialect=dialect)


def create_mirror(
    reference: TableReference,
    source: SourceTable,
    *,
    system: str,
    writer: str,
    partition_by: Sequence[str],
    dialect: Dialect,
) -> MirrorTable:
    """Create the table that mirrors a source, or complete half of it; it has no rows yet."""
    state = new_state(source, system=system, writer=writer)
    columns = [column.source_column for column in source.columns]
    opened = create_table(
        reference.config,
        reference.identifier,
        pa.schema([pa.field(c.name, c.type, nullable=c.name not in source.key) for c in columns]),
        primary_key=source.key,
        partition_by=tuple(partition_by),
        properties={},
        own_properties=state.property(),
        exist_ok=False,
    )
    mirror = MirrorTable(reference=reference, opened=opened, state=state, dialect=dialect)
    # Half of it was made by a mirror that had another name.
    is_of_now = MirrorState.of(opened.table.properties) == state
    return mirror if is_of_now else mirror.with_state(state)


def new_state(source: SourceTable, *, system: str, writer: str) -> MirrorState:
    """Return the state of a table that nothing was copied to."""
    return MirrorState(
        system=system,
        writer=writer,
        table=source.full_name,
        columns=mirror_columns(source, {column.position: -1 for column in source.columns}),
        oid=source.oid,
        filenode=source.filenode,
        named=source.named,
    )

"""Messages of one batch, whatever tables they are of, applied to their tables once.

Rules:
    - Columns follow all descriptions in the batch, since messages of one batch may be older than
      those of the one before: added, widened, and dropped where none has them, if the caller says
      so. What the messages do not describe stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.decode import PLAIN, Decoding
from arctic.cdc.envelopes import Envelope
from arctic.cdc.events import after_truncate, split_by_shape
from arctic.cdc.evolution import change_by_name
from arctic.cdc.rows.event_rows import TypedRows
from arctic.cdc.rows.packed_messages import Packed
from arctic.cdc.rows.read_events import joined_rows, read_events
from arctic.cdc.unread import ReadColumn, Unread
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_schema
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.mirror.apply_events import Share, apply_events
from arctic.job.mirror.write_changes import (
    WriteRows,
    last_batch,
    open_quarantine,
    write_quarantine,
)
from arctic.job.ordered_table import refuse_engine
from arctic.job.reference import TableReference, table_reference
from arctic.table.streams.stream_batch import StreamBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyReport:
    """What became of the messages of a batch."""

    events: int
    """Changes of rows, broken ones included."""
    quarantined: int
    """Broken ones, but for those of tables that hold the batch already."""
    ignored: int
    """Messages that say nothing about rows: tombstones, transaction marks, heartbeats."""


Unseen = Callable[[OpenTable, pa.Table, str], tuple[pa.Table, StreamBatch]]
"""Takes a table, events or broken ones, and in the quarantine which table they are of: it has a
place of its own for each, as a table that is made anew gets all messages once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplySettings:
    """Where the events of which source go."""

    envelope: Envelope
    """The form of the messages."""
    tables: Mapping[str, str]
    """Source, as ``schema.table``, -> ``namespace.table``."""
    quarantine: str
    place: Mapping[str, str]
    """Catalog options."""
    batch: StreamBatch
    drops_columns: bool
    unseen: Unseen | None = None
    """What a table still needs of events, and which batch that is; None: all, of ``batch``."""
    decodings: Mapping[str, Mapping[str, Decoding]] = field(default_factory=dict)
    """Source -> column -> how its values are written, where the messages do not say."""

    def __post_init__(self) -> None:
        """Refuse a table that would take two commits of a batch.

        The second would pass for one that is there already, so its rows would be lost.
        """
        users: dict[str, str] = {}
        named = [(f"source {source!r}", table) for source, table in self.tables.items()]
        for user, table in [*named, ("the quarantine", self.quarantine)]:
            # Some catalogs tell names apart by case, some do not.
            name = self.reference(table).identifier.casefold()
            if name in users:
                raise InvalidInputError(
                    f"table {table!r} is that of {users[name]} and of {user}; expected a table "
                    "for each: a table takes one commit of a batch"
                )
            users[name] = user

    def new_of(self, opened: OpenTable, events: pa.Table) -> tuple[pa.Table, StreamBatch]:
        """Return what a table does not hold of events, and the batch that it takes them as."""
        return (events, self.batch) if self.unseen is None else self.unseen(opened, events, "")

    def reference(self, table: str) -> TableReference:
        """Return a table, named as ``tables`` names it."""
        return table_reference({**self.place, "path": table})


def apply_messages(
    settings: ApplySettings,
    values: pa.Array | pa.ChunkedArray,
    keys: pa.Array | pa.ChunkedArray | None,
    *,
    write: WriteRows,
    topics: pa.Array | None = None,
    shapes: pa.DictionaryArray | None = None,
    packed: Packed | None = None,
    ends: pa.Array | None = None,
) -> ApplyReport:
    """Apply a batch of messages.

    Args:
        settings: where the events go.
        values: texts of the messages, in order.
        keys: texts of their keys; None: not known.
        write: carries writes out.
        topics: where the messages come from; None: not known.
        shapes: what describes the columns of each message beside it; None: nothing does.
        packed: messages that are no texts; None: there are none.
        ends: where the source is after each message; None: not known.

    Memory: the messages, a few times.

    Raises:
        NotFoundError: a table that events go to.
        InvalidInputError: columns that cannot follow.
    """
    found = settings.envelope.read(values, keys, topics, packed)
    if shapes is not None:
        found = replace(found, events=_with(found.events, "shape", shapes))
    if ends is not None:
        found = replace(
            found,
            events=_with(found.events, "ends", ends),
            broken=_with(found.broken, "ends", ends),
        )
    count = apply_events(
        found,
        sources=settings.tables,
        share_of=partial(_share, settings, found.unread),
        stranger="no table is named for this source",
        quarantine=partial(_quarantine, settings),
        write=write,
    )
    return ApplyReport(
        events=found.events.num_rows + found.broken.num_rows,
        quarantined=count,
        ignored=found.ignored,
    )


def _with(events: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """Return events with what is said of each message; where nothing is, what they say stays."""
    told = values.take(events["seq"])
    if events[name].null_count < events.num_rows:
        told = pc.coalesce(told.cast(events[name].type), events[name])
    return events.set_column(events.column_names.index(name), name, told)


def _quarantine(settings: ApplySettings, broken: Sequence[tuple[str | None, pa.Table]]) -> int:
    reference = settings.reference(settings.quarantine)
    if settings.unseen is None:
        return write_quarantine(reference, [table for _, table in broken], batch=settings.batch)
    parts: dict[str, list[pa.Table]] = {}
    for source, table in broken:
        if table.num_rows:
            of = "" if source is None else _identity(settings.reference(settings.tables[source]))
            parts.setdefault(of, []).append(table)
    count = 0
    for of, tables in parts.items():
        opened = open_quarantine(reference)
        new = [settings.unseen(opened, table, of) for table in tables]
        count += write_quarantine(reference, [table for table, _ in new], batch=new[0][1])
    return count


def _identity(reference: TableReference) -> str:
    """Return what tells a table from another one of its name."""
    return reference.open().base.metadata.table_uuid.hex[:12]


def _share(
    settings: ApplySettings, unread: Unread | None, source: str, events: pa.Table
) -> Share | None:
    reference = settings.reference(settings.tables[source])
    opened = reference.open(for_writing=True)
    events, batch = settings.new_of(opened, events)
    # What is older than the table says nothing of its columns any more.
    is_held = settings.unseen is None and last_batch(opened, batch.query_id) >= batch.batch_id
    if is_held or not events.num_rows:
        return None
    truncated, counting = after_truncate(events)
    opened = _followed(settings, source, counting)
    typed = _typed(settings, source, opened, counting, unread)
    return Share(
        reference=settings.reference(opened.table.name),
        key=opened.table.primary_key,
        is_ordered=bool(opened.table.ordering_columns),
        batch=batch,
        truncated=truncated,
        rows=typed.rows,
        broken=typed.broken,
    )


def _followed(settings: ApplySettings, source: str, events: pa.Table) -> OpenTable:
    """Open the table of a source, with the columns that its events describe."""
    reference = settings.reference(settings.tables[source])
    opened = reference.open(for_writing=True)
    refuse_engine(opened.table, "applying messages to rows")
    # Of a row that went, all that is described may be its key.
    shapes = events["shape"].filter(pc.not_equal(events["kind"], "D")).drop_null()
    if not opened.table.is_keyed:
        raise InvalidInputError(f"table {opened.table.name!r} has no primary key: changes need one")
    if not len(shapes) or not settings.envelope.is_whole:
        return opened
    describe = settings.envelope.columns_of
    columns = [column for shape in pc.unique(shapes).to_pylist() for column in describe(shape)]
    change = change_by_name(
        opened.arrow_schema, opened.table.primary_key, columns, drops=settings.drops_columns
    )
    if change.is_nothing:
        return opened
    whole = SchemaChange(add=change.add, widen=change.widen, drop=change.drop)
    return evolve_schema(reference.config, reference.identifier, whole)


def _typed(
    settings: ApplySettings,
    source: str,
    opened: OpenTable,
    events: pa.Table,
    unread: Unread | None,
) -> TypedRows:
    told = settings.decodings.get(source, {})
    parts = split_by_shape(events) or {None: events}
    typed = []
    for shape, part in parts.items():
        described = () if shape is None else settings.envelope.columns_of(shape)
        decodings = {**told, **{column.name: column.decoding for column in described}}
        columns = [
            ReadColumn(
                field=each.remove_metadata(),
                source=each.name,
                decoding=decodings.get(each.name, PLAIN),
                absent_is_broken=not settings.envelope.is_whole,
            )
            for each in opened.arrow_schema
        ]
        table = opened.table
        typed.append(
            read_events(part, columns, table.primary_key, table.ordering_columns, unread=unread)
        )
    return joined_rows(typed)

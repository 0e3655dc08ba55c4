"""Topics of Kafka, followed: their messages applied to tables batch by batch, each once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from arctic.cdc.decode import Decoding
from arctic.cdc.envelopes import Envelope
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_schema
from arctic.job.mirror.apply_messages import ApplySettings, apply_messages
from arctic.job.mirror.mirror_settings import QUARANTINE_NAME
from arctic.job.mirror.topics.topic_places import (
    Reading,
    earliest,
    merged,
    places_of,
    places_property,
)
from arctic.job.mirror.write_changes import WriteRows
from arctic.job.reference import TableReference, table_reference
from arctic.kafka.consumer import TopicReader, consumer
from arctic.kafka.messages import Messages, Partition
from arctic.table.streams.stream_batch import StreamBatch

_NOTED_AFTER = 1_000_000
"""Messages without one for a table, after which it notes its place by itself."""
_LOOK_SECONDS = 30.0
"""Between looks for new partitions, while there is nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicReport:
    """What one run of following topics did."""

    batches: int
    events: int
    """Changes of rows, broken ones and those that a table held already included."""
    quarantined: int
    ignored: int
    """Messages that say nothing about rows: transaction marks, heartbeats."""
    offsets: Mapping[str, int]
    """``topic/partition`` -> the offset up to which everything is applied, exclusive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """Which topics are followed into which tables."""

    dsn: str
    config: Mapping[str, str]
    """Settings of the client beside the brokers, and of a schema registry."""
    topics: Sequence[str]
    envelope: Envelope
    tables: Mapping[str, str]
    """Source, as the messages name it -> name of its table."""
    namespace: str
    place: Mapping[str, str]
    """Catalog options."""
    slot: str
    max_changes: int
    drops_columns: bool
    decodings: Mapping[str, Mapping[str, Decoding]]

    @property
    def writer(self) -> str:
        """Names the batches."""
        return f"kafka.{self.slot}"

    def reference(self, table: str) -> TableReference:
        """Return a table."""
        return table_reference({**self.place, "path": f"{self.namespace}.{table}"})


def follow_topics(
    settings: TopicSettings,
    *,
    write: WriteRows,
    once: bool,
    interval_seconds: float,
    stop: Callable[[], bool] = lambda: False,
) -> TopicReport:
    """Apply messages from where the tables are.

    Args:
        settings: what and where to.
        write: carries writes out.
        once: return when everything is applied that was there when a partition was read last.
        interval_seconds: how long to wait for messages.
        stop: asked between batches.

    Memory: the messages of one batch, a few times.

    Raises:
        NotFoundError: a table or a topic that is not there.
        InvalidInputError: a table without a key, or columns that cannot follow.
        ConflictError: another process follows under this name.
        StorageError: Kafka or the catalog cannot be reached, or messages are gone.
    """
    row_field = settings.envelope.row_field
    with consumer(settings.dsn, settings.config, row_field=row_field) as reader:
        session = _Session(settings, reader, write)
        while not stop():
            was_busy = session.step(max(interval_seconds, 0.05))
            if once and not was_busy and reader.has_seen_ends:
                session.note_places()
                break
        return session.report


class _Session:
    """Tables and partitions, while one process follows them."""

    def __init__(self, settings: TopicSettings, reader: TopicReader, write: WriteRows) -> None:
        self._settings = settings
        self._reader = reader
        self._write = write
        self._since = 0
        """Messages since the tables without any noted their place."""
        self.report = TopicReport(batches=0, events=0, quarantined=0, ignored=0, offsets={})
        self._places: dict[Partition, int] = {}
        self._assign(reader.partitions(settings.topics))

    def _assign(self, partitions: Sequence[Partition]) -> None:
        known = [
            places_of(reference.open(for_writing=True), self._settings.writer)
            for reference in self._references()
        ]
        lacking = earliest(known)
        # A table that knows nothing of a partition gets all of it that there is.
        places = {
            each: lacking[each] if all(each in places for places in known) else None
            for each in partitions
        }
        self._places = self._reader.assign(places, lacking)
        self._partitions = partitions
        self._look_after = time.monotonic() + _LOOK_SECONDS

    def _references(self) -> list[TableReference]:
        return [self._settings.reference(name) for name in self._settings.tables.values()]

    def step(self, seconds: float) -> bool:
        """Apply one batch; return whether there was one."""
        messages = self._reader.read(self._settings.max_changes, seconds)
        self._places = merged(self._places, {**self._reader.ends})
        if not len(messages.values):
            self._look_for_partitions()
            return False
        self._places = merged(self._places, messages.after())
        self._apply(messages)
        self._since += len(messages.values)
        if self._since >= _NOTED_AFTER:
            self.note_places()
        return True

    def _apply(self, messages: Messages) -> None:
        settings = self._settings
        reading = Reading(writer=settings.writer, messages=messages, after=self._places)
        asked = ApplySettings(
            envelope=settings.envelope,
            tables={
                source: f"{settings.namespace}.{name}" for source, name in settings.tables.items()
            },
            quarantine=f"{settings.namespace}.{QUARANTINE_NAME}",
            place=settings.place,
            batch=StreamBatch(query_id=settings.writer, batch_id=0),
            unseen=reading.unseen,
            drops_columns=settings.drops_columns,
            decodings=settings.decodings,
        )
        done = apply_messages(
            asked,
            messages.values,
            messages.keys,
            write=self._write,
            topics=messages.topics,
            shapes=messages.shapes,
            packed=messages.packed,
            ends=pa.array(messages.offset + 1),
        )
        self.report = replace(
            self.report,
            batches=self.report.batches + 1,
            events=self.report.events + done.events,
            quarantined=self.report.quarantined + done.quarantined,
            ignored=self.report.ignored + done.ignored,
            offsets={f"{t}/{n}": place for (t, n), place in self._reader.named(self._places)},
        )

    def note_places(self) -> None:
        """Let tables that got no message of late remember the place too: it need not be kept."""
        for reference in self._references():
            opened = reference.open(for_writing=True)
            known = places_of(opened, self._settings.writer)
            after = merged(known, self._places)
            if after != known:
                noted = places_property(self._settings.writer, after)
                change = SchemaChange(properties=noted)
                evolve_schema(reference.config, reference.identifier, change)
        self._since = 0

    def _look_for_partitions(self) -> None:
        if time.monotonic() < self._look_after:
            return
        self._look_after = time.monotonic() + _LOOK_SECONDS
        partitions = self._reader.partitions(self._settings.topics)
        if set(partitions) != set(self._partitions):
            self.note_places()
            self._assign(partitions)

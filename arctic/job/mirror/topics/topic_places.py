"""Where each table is in the partitions of its topics, kept by its own commits.

Rules:
    - A table takes the messages of a partition from its own place on, whatever batch they come in:
      it holds none twice, and loses none when a batch is read again with others beside it.
    - The number of a batch is the sum of all places after it, which only grows.
    - A topic that was deleted and made again is another one: places name its id.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from arctic.errors import FormatError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.mirror.write_changes import last_batch
from arctic.kafka.messages import Messages, Partition
from arctic.table.property_names import STREAM_POSITION_PREFIX
from arctic.table.streams.stream_batch import StreamBatch

Places = Mapping[Partition, int]
"""The offset of the next message of each partition."""


def places_of(opened: OpenTable, writer: str) -> dict[Partition, int]:
    """Return how far a table is; a partition that it knows nothing of is not there.

    Raises:
        FormatError: what the table remembers cannot be read.
    """
    name = f"{STREAM_POSITION_PREFIX}{writer}"
    stores = [opened.base] if opened.change is None else [opened.base, opened.change]
    found: dict[Partition, int] = {}
    for text in (store.properties.get(name, "{}") for store in stores):
        try:
            known = {
                (topic, int(number)): int(offset)
                for topic, offsets in json.loads(text).items()
                for number, offset in offsets.items()
            }
        except (ValueError, AttributeError) as error:
            raise FormatError(
                f"table property {name} = {text[:200]!r} is not what a mirror writes"
            ) from error
        found = merged(found, known)
    return found


def places_property(writer: str, places: Places) -> dict[str, str]:
    """Return places as a table property."""
    return {f"{STREAM_POSITION_PREFIX}{writer}": _text(places)}


def merged(one: Places, other: Places) -> dict[Partition, int]:
    """Return the farther place of each partition."""
    return {each: max(one.get(each, 0), other.get(each, 0)) for each in sorted({*one, *other})}


def earliest(tables: Iterable[Places]) -> dict[Partition, int]:
    """Return from where on tables lack messages, of each partition that some of them know."""
    found: dict[Partition, int] = {}
    for places in tables:
        found |= {each: min(place, found.get(each, place)) for each, place in places.items()}
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A batch of messages, and where the reader is after it."""

    writer: str
    messages: Messages
    after: Places
    """Of every partition that is read."""

    def unseen(self, opened: OpenTable, events: pa.Table, of: str) -> tuple[pa.Table, StreamBatch]:
        """Return the events that a table does not hold, and the batch that it takes them as.

        Args:
            opened: the table.
            events: of this batch, in any order; broken ones too.
            of: what they are of, where the table has a place for each such thing; empty: no more
                than one place.
        """
        writer = f"{self.writer}.{of}" if of else self.writer
        known = places_of(opened, writer)
        bounds = pa.array([known.get(each, 0) for each in self.messages.partitions], pa.int64())
        place = pa.table(
            {"partition": self.messages.partition, "offset": self.messages.offset}
        ).take(events["seq"])
        is_new = pc.greater_equal(place["offset"], bounds.take(place["partition"]))
        after = merged(known, self.after)
        batch = StreamBatch(
            query_id=writer,
            batch_id=sum(after.values()),
            position=_text(after),
            follows=max(last_batch(opened, writer), 0),
        )
        return events if pc.all(is_new).as_py() else events.filter(is_new), batch


def _text(places: Places) -> str:
    found: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(places.items()):
        found.setdefault(topic, {})[str(number)] = offset
    return json.dumps(found, separators=(",", ":"))

"""Messages of Kafka's partitions, from offsets that the caller keeps; nobody else reads them.

Rules:
    - Partitions are assigned here, and no offset is committed to Kafka: who reads knows its place.
    - Messages of a partition come in order, and none is skipped: an offset that the broker has no
      messages for any more stops the reader.
    - Of a producer's transactions only those that were committed are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from operator import is_not
from typing import Any

import numpy as np
import pyarrow as pa

from arctic.errors import InvalidInputError, NotFoundError, StorageError, UnsupportedError
from arctic.kafka.avro_texts import AvroTexts
from arctic.kafka.messages import Messages, Partition, texts_of
from arctic.kafka.schema_registry import PREFIX, SchemaRegistry
from arctic.kafka.taken import Taken, joined, taken_together
from arctic.redact import NOTHING_KNOWN, without_secrets

_SCHEME = "kafka://"
_SECONDS = 30.0
_AT_ONCE = 10_000
"""Messages that the client is asked for at a time."""
_SETTINGS: Mapping[str, str | bool] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "group.id": "arctic",
}


def _brokers_of(dsn: str) -> str:
    """Return the brokers of ``kafka://host:port,host:port``.

    >>> _brokers_of("kafka://a:9092,b:9092")
    'a:9092,b:9092'

    Raises:
        InvalidInputError: a text of another form.
    """
    brokers = dsn.removeprefix(_SCHEME).strip("/")
    if not dsn.startswith(_SCHEME) or not brokers or "@" in brokers or "/" in brokers:
        raise InvalidInputError(
            "the address of Kafka cannot be read; expected kafka://host:port,host:port; users and "
            "passwords are settings of the client, such as sasl.username"
        )
    return brokers


@contextmanager
def consumer(
    dsn: str, config: Mapping[str, str], *, row_field: str | None
) -> Iterator[TopicReader]:
    """Yield a reader.

    Args:
        dsn: the brokers.
        config: settings of librdkafka beside them, such as ``security.protocol``, and those of a
            schema registry, which begin with ``schema.registry.``.
        row_field: which field of a message in Avro is its row; empty: the message is; None: such
            messages are never Avro.

    Raises:
        UnsupportedError: confluent-kafka is not installed.
        InvalidInputError: an address or a setting that the client does not take.
    """
    try:
        # An extra, which few processes need.
        import confluent_kafka  # noqa: PLC0415
        from confluent_kafka import admin  # noqa: PLC0415
    except ImportError as error:
        raise UnsupportedError(
            "Kafka needs confluent-kafka; install the extra, in a checkout: pip install '.[kafka]'"
        ) from error
    ours = sorted(_SETTINGS.keys() & config.keys())
    if ours:
        raise InvalidInputError(f"setting {ours[0]!r} of Kafka's client is Arctic's own; leave it")
    brokers = {name: value for name, value in config.items() if not name.startswith(PREFIX)}
    errors: list[Any] = []
    given: dict[str, Any] = {"bootstrap.servers": _brokers_of(dsn), **brokers, **_SETTINGS}
    try:
        client = confluent_kafka.Consumer({**given, "error_cb": errors.append, "log_level": 0})
        asks = {name: value for name, value in given.items() if name not in _SETTINGS}
        asker = admin.AdminClient({**asks, "log_level": 0})
    except confluent_kafka.KafkaException as error:
        raise InvalidInputError(f"Kafka's client: {_said(error)}") from NOTHING_KNOWN.cause(error)
    with closing(client), _avro(config, row_field) as avro:
        yield TopicReader(
            kafka=confluent_kafka, client=client, admin=asker, errors=errors, avro=avro
        )


@contextmanager
def _avro(config: Mapping[str, str], row_field: str | None) -> Iterator[AvroTexts | None]:
    own = {
        name.removeprefix(PREFIX): value
        for name, value in config.items()
        if name.startswith(PREFIX)
    }
    if not own:
        yield None
        return
    if row_field is None:
        raise InvalidInputError(
            f"setting {PREFIX + min(own)!r}: messages of this envelope are never Avro; leave it"
        )
    with closing(SchemaRegistry(own)) as registry:
        yield AvroTexts(registry, row_field=row_field)


@dataclass(slots=True, kw_only=True)
class TopicReader:
    """Reads partitions; their ends are known once they have been reached."""

    kafka: Any
    client: Any
    admin: Any
    errors: list[Any]
    """What the client reported by itself."""
    avro: AvroTexts | None
    """Reads Avro; None: messages are texts."""
    _names: dict[str, str] = field(default_factory=dict)
    """Topic -> topic with its id."""
    ends: dict[Partition, int] = field(default_factory=dict)
    """Where partitions ended that were read up to there: also beyond what is no message, such as
    the mark of a transaction."""
    _ended: set[Partition] = field(default_factory=set)
    _assigned: frozenset[Partition] = frozenset()

    def partitions(self, topics: Sequence[str]) -> tuple[Partition, ...]:
        """Return the partitions of topics, in order.

        Raises:
            NotFoundError: a topic that Kafka does not have.
            StorageError: Kafka cannot be reached.
        """
        found = []
        wanted = self.kafka.TopicCollection(list(topics))
        asked = self.admin.describe_topics(wanted, request_timeout=_SECONDS)
        for topic, answer in asked.items():
            try:
                known = answer.result()
            except self.kafka.KafkaException as error:
                if error.args[0].code() == self.kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise NotFoundError(f"topic {topic!r} of Kafka not found") from error
                cause = self.errors[-1] if self.errors else error
                text = f"look at topic {topic!r}: {_said(cause)}"
                raise StorageError(text) from NOTHING_KNOWN.cause(error)
            self._names[topic] = f"{topic}:{known.topic_id}"
            found += [(self._names[topic], each.id) for each in known.partitions]
        return tuple(sorted(found))

    def named(self, places: Mapping[Partition, int]) -> Iterator[tuple[Partition, int]]:
        """Yield places with the plain names of their topics."""
        for (topic, number), place in places.items():
            yield (topic.rpartition(":")[0], number), place

    def assign(
        self, places: Mapping[Partition, int | None], needed: Mapping[Partition, int]
    ) -> dict[Partition, int]:
        """Begin to read; return where.

        Args:
            places: the offset of the next message of each partition; None: the first there is.
            needed: from where on no message may be gone; of a partition that is not there, all may.

        Raises:
            StorageError: messages that were to be read are gone.
        """
        given, begun = [], {}
        for (name, number), place in places.items():
            topic = name.rpartition(":")[0]
            partition = self.kafka.TopicPartition(topic, number)
            with self._errors(f"look at topic {topic!r}"):
                first, _ = self.client.get_watermark_offsets(partition, timeout=_SECONDS)
            least = needed.get((name, number), first)
            if least < first:
                raise StorageError(
                    f"topic {topic!r}, partition {number}: messages {least} to {first - 1} are "
                    "gone from Kafka before they were read; make the tables anew from their source"
                )
            partition.offset = first if place is None else place
            given.append(partition)
            begun[name, number] = int(partition.offset)
        self.client.assign(given)
        self._assigned = frozenset(places)
        self._ended.clear()
        self.ends.clear()
        return begun

    @property
    def is_at_end(self) -> bool:
        """Whether every partition was read up to where it ended."""
        return self._ended >= self._assigned

    @property
    def has_seen_ends(self) -> bool:
        """Whether every partition was read up to its end at some time."""
        return self.ends.keys() >= self._assigned

    def read(self, limit: int, seconds: float) -> Messages:
        """Return the next messages.

        Args:
            limit: at most so many.
            seconds: how long to wait for some; those that are there come at once.

        Raises:
            StorageError: Kafka cannot be reached, or has no such offset.
        """
        pieces: list[Taken] = []
        count, wait = 0, seconds
        while count < limit and not (count and self.is_at_end):
            with self._errors("read messages"):
                got = self.client.consume(min(limit - count, _AT_ONCE), timeout=wait)
            if not got:
                break
            taken = self._taken(got)
            if taken is not None:
                pieces.append(taken)
                count += len(taken.offset)
            wait = min(seconds, 0.2)
        return self._messages(joined(pieces))

    def _taken(self, got: Sequence[Any]) -> Taken | None:
        """Return the messages of what came at once, and note which partitions ended."""
        errors = list(map(self.kafka.Message.error, got))
        if not any(map(is_not, errors, repeat(None))):
            taken = taken_together(got, self._names)
            self._ended.difference_update(taken.partitions)
            return taken
        self._note_ends(got)
        good = [each for each, error in zip(got, errors, strict=True) if error is None]
        return taken_together(good, self._names) if good else None

    def _note_ends(self, got: Sequence[Any]) -> None:
        for message in got:
            error = message.error()
            if error is None:
                self._ended.discard(self._place(message))
            elif error.code() == self.kafka.KafkaError._PARTITION_EOF:
                self._ended.add(self._place(message))
                self.ends[self._place(message)] = message.offset()
            else:
                said = without_secrets(error.str())
                raise StorageError(f"read topic {message.topic()!r}: {said}")

    def _place(self, message: Any) -> Partition:
        return self._names[message.topic()], message.partition()

    def _messages(self, taken: Taken) -> Messages:
        values, keys, shapes, rows = taken.values, taken.keys, None, None
        if self.avro is not None:
            read_keys, read = self.avro.keys(keys, values), self.avro.values(values)
            codes = np.where(read.shapes < 0, read_keys.shapes, read.shapes)
            shapes = pa.DictionaryArray.from_arrays(
                pa.array(codes, mask=codes < 0), self.avro.shapes
            )
            values, keys, rows = read.texts, read_keys.texts, read.rows
        names = [topic.rpartition(":")[0] for topic, _ in taken.partitions]
        return Messages(
            values=texts_of(values),
            keys=texts_of(keys),
            topics=pa.array(names, pa.string()).take(pa.array(taken.partition)),
            shapes=shapes,
            packed=rows,
            partition=taken.partition,
            offset=taken.offset,
            partitions=taken.partitions,
        )

    @contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        try:
            yield
        except self.kafka.KafkaException as error:
            cause = self.errors[-1] if self.errors else error
            raise StorageError(f"{action}: {_said(cause)}") from NOTHING_KNOWN.cause(error)


def _said(error: Any) -> str:
    known = error.args[0] if isinstance(error, Exception) and error.args else error
    return without_secrets(known.str() if hasattr(known, "str") else str(known))

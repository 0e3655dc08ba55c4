"""Topics in Avro, written with Confluent's serializer and a real registry, followed into tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.serialization import MessageField, SerializationContext

import arctic
from arctic.errors import InvalidInputError, StorageError
from tests.kafka.registry import running_registry
from tests.kafka.test_topics import make_topic

ID = {"name": "id", "type": "long"}
FIRST = [
    ID,
    {"name": "n", "type": ["null", "int"], "default": None},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10,
                               "scale": 2}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
]  # fmt: skip
LATER = [ID, {"name": "n", "type": "long"}, *FIRST[2:], {"name": "more", "type": "string"}]
AT = datetime(2026, 1, 2, 3, 4, 5, 6, timezone.utc)


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """Start a registry."""
    with running_registry() as address:
        yield address


@pytest.fixture(scope="module")
def schemas(registry: str) -> Iterator[Any]:
    """Connect to it, as a writer of messages does."""
    from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415

    with SchemaRegistryClient({"url": registry, "timeout": 30}) as client:
        yield client


class Topic:
    """A topic, and what writes to it."""

    def __init__(self, broker: str, schemas: Any, name: str) -> None:
        make_topic(broker, name, 1)
        self._client = schemas
        self._producer = Producer({"bootstrap.servers": broker})
        self.name = name

    def avro(self, schema: Any, row: Any, part: Any = MessageField.VALUE) -> bytes:
        """Return a message, its schema registered."""
        from confluent_kafka.schema_registry.avro import AvroSerializer  # noqa: PLC0415

        written: bytes | None = AvroSerializer(self._client, json.dumps(schema))(
            row, SerializationContext(self.name, part)
        )
        assert written is not None
        return written

    def send(self, value: bytes | None, key: bytes | None = None) -> None:
        """Send a message."""
        self._producer.produce(self.name, value, key=key)
        self._producer.flush()


def record(name: str, fields: list[Any]) -> dict[str, Any]:
    """Return the schema of a record."""
    return {"type": "record", "name": name, "namespace": "shop", "fields": fields}


def row(number: int, **more: Any) -> dict[str, Any]:
    """Return a row."""
    known = {"id": number, "n": number, "price": Decimal("-12.30"), "day": date(2026, 1, 2)}
    return {**known, "at": AT, **more}


def follow(broker: str, topic: str, place: dict[str, Any], **more: Any) -> arctic.TopicReport:
    """Bring the tables up to date."""
    return arctic.mirror_kafka(
        f"kafka://{broker}", topic, into="m", once=True, interval_seconds=0.3, **place, **more
    )


def read(name: str, place: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    rows = arctic.read(name, **place).read_all().to_pylist()
    return sorted(rows, key=lambda each: str(each.get("id", each.get("reason"))))


def test_rows_follow_the_schema_of_their_writer(
    broker: str, registry: str, schemas: Any, tmp_path: Path
) -> None:
    """Columns come and widen with it; tombstones and broken messages are what they are."""
    topic = Topic(broker, schemas, "avro_rows")
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    arctic.create_table("m.avro_rows", schema, primary_key=["id"], **place)
    first, later, key = record("V", FIRST), record("V", LATER), record("K", [ID])
    for number in range(3):
        topic.send(
            topic.avro(first, row(number)), topic.avro(key, {"id": number}, MessageField.KEY)
        )
    config = {"schema.registry.url": registry}
    report = follow(broker, topic.name, place, tables=topic.name, envelope="json", config=config)
    assert (report.events, report.quarantined) == (3, 0)
    assert read("m.avro_rows", place) == [row(0), row(1), row(2)]

    good = topic.avro(later, row(1, n=2**40, more="x"))
    for value in (good, good + b"\0", good[:-1], b"\0\0\0\3\xe7" + good[5:]):
        topic.send(value, topic.avro(key, {"id": 1}, MessageField.KEY))
    topic.send(b'{"id": 7, "n": 5}')
    topic.send(None, topic.avro(key, {"id": 0}, MessageField.KEY))
    report = follow(broker, topic.name, place, tables=topic.name, envelope="json", config=config)

    assert (report.events, report.quarantined) == (6, 3)
    nothing = dict.fromkeys(("price", "day", "at", "more"))
    assert read("m.avro_rows", place) == [
        row(1, n=2**40, more="x"), row(2, more=None), {"id": 7, "n": 5, **nothing},
    ]  # fmt: skip
    kept = [each["message"] for each in read("m.cdc_quarantine", place)]
    assert [message.partition(";")[0].partition(", ")[2] for message in kept][:2] == [
        "1 bytes are left behind it", kept[1].partition(";")[0].partition(", ")[2],
    ]  # fmt: skip
    assert any("schema 999 is not in the registry" in message for message in kept)
    assert any(message.endswith((good + b"\0").hex()) for message in kept)


def test_changes_of_debezium(broker: str, registry: str, schemas: Any, tmp_path: Path) -> None:
    """The rows of an envelope, with columns as the row after has them."""
    topic = Topic(broker, schemas, "avro_changes")
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
    arctic.create_table("m.orders", schema, primary_key=["id"], **place)
    source = record("Source", [{"name": each, "type": "string"} for each in ("schema", "table")])
    envelope = record("Envelope", [
        {"name": "before", "type": ["null", record("Value", LATER)], "default": None},
        {"name": "after", "type": ["null", "shop.Value"], "default": None},
        {"name": "source", "type": source}, {"name": "op", "type": "string"},
    ])  # fmt: skip
    of = {"schema": "public", "table": "orders"}
    one, two = row(1, more="a"), row(2, more="b")
    for op, before, after in (
        ("c", None, one), ("c", None, two), ("u", one, {**one, "n": 9}), ("d", two, None),
    ):  # fmt: skip
        value = {"before": before, "after": after, "source": of, "op": op}
        topic.send(topic.avro(envelope, value))
    config = {"schema.registry.url": registry}
    report = follow(broker, topic.name, place, tables="public.orders", config=config)

    assert (report.events, report.quarantined) == (4, 0)
    assert read("m.orders", place) == [{**one, "n": 9}]


def test_a_registry_that_cannot_be_asked_stops_the_reader(
    broker: str, registry: str, tmp_path: Path
) -> None:
    """Its messages are not broken; settings that it cannot have are refused."""
    make_topic(broker, "avro_away", 1)
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    arctic.create_table("m.avro_away", schema, primary_key=["id"], **place)
    producer = Producer({"bootstrap.servers": broker})
    producer.produce("avro_away", b"\0\0\0\0\1\2")
    producer.flush()
    url = "schema.registry.url"
    away = {url: "http://me:secret@127.0.0.1:9", "schema.registry.max.retries": "0"}
    with pytest.raises(
        StorageError, match=r"ask the schema registry http://\S*127.0.0.1:9"
    ) as said:
        follow(broker, "avro_away", place, tables="avro_away", envelope="json", config=away)
    assert "secret" not in str(said.value)
    assert said.value.__cause__ is None or "secret" not in str(said.value.__cause__)
    elsewhere = {url: registry.replace("ccompat", "nowhere"), "schema.registry.max.retries": "0"}
    with pytest.raises(StorageError, match="for schema 1"):
        follow(broker, "avro_away", place, tables="avro_away", envelope="json", config=elsewhere)
    for config, envelope, told in (
        ({url: "ftp://x"}, "json", "expected http:// or https://"),
        ({url: "http://x", "schema.registry.nope": "1"}, "json", "nope"),
        ({url: "http://x"}, "wal2json", "never Avro"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            follow(broker, "avro_away", place, tables="a.b", envelope=envelope, config=config)

"""Measure mirrors of MySQL and topics of Kafka beside a raw Parquet append: ``make bench-sources``.

Each server is one of the tests', with its log written before the clock starts. What is measured is
one run that catches up with it; the Parquet file gets the same rows, in as many row groups as there
are batches. Beside the time of a run stands its processor time in this process, of which the server
has no part. "The client alone" reads the same log and throws it away: no mirror can be faster.
"The client and an append" has its values read by what there is for that, Arrow's parser of JSON or
the client itself, and appends them to a Parquet file: what a consumer without a table does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq
import pymysql
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import WriteRowsEvent

import arctic
from benchmarks.measure import Report, seconds
from tests.kafka.broker import running_broker
from tests.kafka.registry import running_registry
from tests.mariadb.server import running_server

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("customer", pa.int32()),
        pa.field("price", pa.decimal128(12, 2)),
        pa.field("ordered", pa.timestamp("us")),
        pa.field("status", pa.string()),
        pa.field("note", pa.string()),
    ]
)
TABLE = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, price DECIMAL(12,2), ordered DATETIME(6),
                     status VARCHAR(20), note VARCHAR(60))
"""
AVRO = {
    "type": "record", "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": ["null", "int"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12,
                                   "scale": 2}},
        {"name": "ordered", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "status", "type": "string"},
        {"name": "note", "type": ["null", "string"]},
    ],
}  # fmt: skip
_LOOSE = pa.schema([field.with_nullable(True) for field in SCHEMA])
APPENDED = {"json": _LOOSE, "debezium": pa.schema([("after", pa.struct(_LOOSE))])}
"""What Arrow's parser is told of messages."""
STATEMENT_ROWS = 1_000
SINGLE_SHARE = 20
"""Statements of a row each are measured with one row in so many: writing them takes longest."""
Taken = tuple[float, float]
"""The seconds of a run, and those that this process worked."""
Found = tuple[str, Taken, int]
"""What was measured, what it took, and how many rows it had."""


def main(arguments: Sequence[str]) -> int:
    """Measure, print."""
    parser = argparse.ArgumentParser(prog="make bench-sources", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--batch", type=int, default=100_000, help="changes of a batch")
    asked = parser.parse_args(arguments)
    report = Report(f"{asked.rows:,} events, batches of {asked.batch:,}")
    rows = _rows(asked.rows)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-sources-") as folder:
        place = Path(folder)
        raw = _raw(rows, place, asked.batch)
        found = [("upsert of the rows", _upsert(rows, place, asked.batch), asked.rows)]
        found += _mysql(rows, place, asked.batch)
        found += _kafka(rows, place, asked.batch)
    for number, clock in enumerate(("elapsed", "processor")):
        report.add(f"raw Parquet append, {clock}", raw[number], rows=asked.rows)
        for what, taken, count in found:
            report.add(
                f"{what}, {clock}", taken[number], rows=count,
                limit=raw[number] * count / asked.rows, limit_name="raw",
            )  # fmt: skip
    report.show()
    return 0


def _rows(count: int) -> pa.Table:
    chance = np.random.default_rng(1)
    cents = pa.array(chance.integers(100, 10_000_000, count)).cast(pa.decimal128(19, 0))
    ordered = 1_700_000_000_000_000 + chance.integers(0, 10**13, count)
    columns = [
        pa.array(np.arange(count)),
        pa.array(chance.integers(0, 100_000, count), pa.int32()),
        pa.compute.multiply(cents, pa.scalar("0.01").cast(pa.decimal128(3, 2))).cast(
            pa.decimal128(12, 2), safe=False
        ),
        pa.array(ordered, pa.timestamp("us")),
        pa.array(np.array(["open", "paid", "sent"])[chance.integers(0, 3, count)]),
        pa.array([f"note {number} of this order" for number in range(count)]),
    ]
    return pa.table(columns, schema=SCHEMA)


def _taken(work: Callable[[], Any], *, repeats: int = 1) -> Taken:
    """Return the median times of the repeats."""
    processor = []

    def timed() -> None:
        began = time.process_time()
        work()
        processor.append(time.process_time() - began)

    return seconds(timed, repeats=repeats), statistics.median(processor)


def _raw_file(place: Path) -> pq.ParquetWriter:
    return pq.ParquetWriter(place / "raw.parquet", SCHEMA, compression="zstd")


def _raw(rows: pa.Table, place: Path, batch: int) -> Taken:
    def write() -> None:
        with _raw_file(place) as writer:
            for start in range(0, rows.num_rows, batch):
                writer.write_table(rows.slice(start, batch))

    return _taken(write, repeats=3)


def _upsert(rows: pa.Table, place: Path, batch: int) -> Taken:
    arctic.create_table("m.upserted", SCHEMA, primary_key=["id"], warehouse=str(place))

    def write() -> None:
        for start in range(0, rows.num_rows, batch):
            part = rows.slice(start, batch)
            arctic.write("m.upserted", part, mode="upsert", warehouse=str(place))

    return _taken(write)


def _mysql(rows: pa.Table, place: Path, batch: int) -> list[Found]:
    with running_server() as socket:
        connection = pymysql.connect(unix_socket=str(socket), user="root", autocommit=True)
        dsn = f"mysql://root@localhost/shop?unix_socket={socket}"

        def follow() -> None:
            report = arctic.mirror_mysql(
                dsn, "orders", into="mysql", once=True, max_changes=batch, interval_seconds=0,
                warehouse=str(place),
            )  # fmt: skip
            assert report.quarantined == 0

        with connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
            cursor.execute("USE shop")
            cursor.execute(TABLE)
            follow()
            for start in range(0, rows.num_rows, STATEMENT_ROWS):
                cursor.executemany(
                    "INSERT INTO orders VALUES (%s, %s, %s, %s, %s, %s)",
                    [tuple(row.values()) for row in rows.slice(start, STATEMENT_ROWS).to_pylist()],
                )
            alone = _taken(lambda: _thrown_away(str(socket), rows.num_rows))
            appended = _taken(lambda: _appended_log(str(socket), rows.num_rows, place, batch))
            inserted = _taken(follow)
            cursor.execute("UPDATE orders SET status = 'done', price = price + 1")
            updated = _taken(follow)
            _count("mysql.orders", rows.num_rows, place)
            cursor.execute("CREATE TABLE again LIKE orders")
            cursor.execute("INSERT INTO again SELECT * FROM orders")
            copied = _taken(
                lambda: arctic.mirror_mysql(
                    dsn, "again", into="mysql", slot="again", once=True, interval_seconds=0,
                    warehouse=str(place),
                )
            )  # fmt: skip
            _count("mysql.again", rows.num_rows, place)
            single = _single(cursor, dsn, rows, place)
    every = rows.num_rows
    return [
        ("MySQL: the client alone, inserts", alone, every),
        ("MySQL: the client and an append, inserts", appended, every),
        ("MySQL: inserts", inserted, every),
        ("MySQL: updates", updated, every),
        ("MySQL: copy", copied, every),
        ("MySQL: inserts of a row each", single, every // SINGLE_SHARE),
    ]


def _single(cursor: Any, dsn: str, rows: pa.Table, place: Path) -> Taken:
    few = rows.slice(0, rows.num_rows // SINGLE_SHARE)

    def follow() -> None:
        arctic.mirror_mysql(
            dsn, "single", into="mysql", slot="single", once=True, interval_seconds=0,
            warehouse=str(place),
        )  # fmt: skip

    cursor.execute("CREATE TABLE single LIKE orders")
    follow()
    for row in few.to_pylist():
        cursor.execute("INSERT INTO single VALUES (%s, %s, %s, %s, %s, %s)", tuple(row.values()))
    taken = _taken(follow)
    _count("mysql.single", few.num_rows, place)
    return taken


@contextmanager
def _log(socket: str) -> Iterator[BinLogStreamReader]:
    """Yield all inserts of the log."""
    stream = BinLogStreamReader(
        {"unix_socket": socket, "user": "root"}, server_id=7, resume_stream=True, log_pos=4,
        log_file="bin.000001", only_events=[WriteRowsEvent], enable_logging=False,
    )  # fmt: skip
    yield stream
    stream.close()


def _thrown_away(socket: str, count: int) -> None:
    """Read all inserts; nobody reads their values."""
    with _log(socket) as stream:
        assert 0 < sum(1 for _ in stream) <= count


def _appended_log(socket: str, count: int, place: Path, batch: int) -> None:
    """Append all inserts to a Parquet file, as the client reads them: row by row."""
    with _log(socket) as stream, _raw_file(place) as writer:
        waiting: list[dict[str, Any]] = []
        for event in stream:
            waiting += [row["values"] for row in event.rows]
            count -= len(event.rows)
            if len(waiting) >= batch or not count:
                writer.write_table(pa.Table.from_pylist(waiting, SCHEMA))
                waiting = []
    assert count == 0


def _kafka(rows: pa.Table, place: Path, batch: int) -> list[Found]:
    found: list[Found] = []
    with running_broker() as broker, running_registry() as registry:
        for named, envelope in (("debezium", "debezium"), ("json", "json"), ("avro", "json")):
            topic = f"orders_{named}"
            admin = AdminClient({"bootstrap.servers": broker})
            admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
            arctic.create_table(f"{named}.orders", SCHEMA, primary_key=["id"], warehouse=str(place))
            given = {
                "topics": topic,
                "tables": "shop.orders" if envelope == "debezium" else f"{topic}:orders",
                "into": named,
                "envelope": envelope,
                "config": {"schema.registry.url": registry} if named == "avro" else None,
            }

            def follow(given: dict[str, Any] = given) -> None:
                report = arctic.mirror_kafka(
                    f"kafka://{broker}", once=True, max_changes=batch, interval_seconds=0.2,
                    warehouse=str(place), **given,
                )  # fmt: skip
                assert report.quarantined == 0

            follow()  # what is loaded once is no part of what messages cost
            _produce(broker, topic, _messages(rows, named, registry))
            alone = _taken(partial(_polled, broker, topic, rows.num_rows))
            found.append((f"Kafka: the client alone, {named}", alone, rows.num_rows))
            if named in APPENDED:
                plain = partial(_appended_topic, broker, topic, rows.num_rows, place, batch, named)
                found.append(
                    (f"Kafka: the client and an append, {named}", _taken(plain), rows.num_rows)
                )
            found.append((f"Kafka: {named}", _taken(follow), rows.num_rows))
            _count(f"{named}.orders", rows.num_rows, place)
    return found


def _consumed(broker: str, topic: str, count: int) -> Iterator[list[Any]]:
    """Yield all messages, some at a time."""
    client = Consumer({"bootstrap.servers": broker, "group.id": "alone"})
    client.assign([TopicPartition(topic, 0, 0)])
    while count > 0:
        got = client.consume(min(count, 10_000), timeout=5)
        count -= len(got)
        yield got
    client.close()


def _polled(broker: str, topic: str, count: int) -> None:
    """Read all messages; nobody looks at them."""
    for _ in _consumed(broker, topic, count):
        pass


def _appended_topic(
    broker: str, topic: str, count: int, place: Path, batch: int, named: str
) -> None:
    """Append all messages to a Parquet file, as Arrow's parser reads them."""
    options = pj.ParseOptions(explicit_schema=APPENDED[named], unexpected_field_behavior="ignore")
    with _raw_file(place) as writer:
        waiting: list[bytes] = []
        for got in _consumed(broker, topic, count):
            waiting += [message.value() for message in got]
            count -= len(got)
            if len(waiting) >= batch or not count:
                text = pa.BufferReader(b"\n".join(waiting))
                found = pj.read_json(text, parse_options=options)
                found = pa.Table.from_struct_array(found["after"]) if named == "debezium" else found
                writer.write_table(found.cast(SCHEMA))
                waiting = []


def _messages(rows: pa.Table, named: str, registry: str) -> Iterator[bytes]:
    if named == "avro":
        with SchemaRegistryClient({"url": registry, "timeout": 30}) as client:
            written = AvroSerializer(client, json.dumps(AVRO))
            to = SerializationContext("orders_avro", MessageField.VALUE)
            yield from (written(row, to) for row in rows.to_pylist())
        return
    source = {"db": "shop", "table": "orders"}
    for row in rows.to_pylist():
        after: dict[str, Any] = {**row, "price": str(row["price"]), "ordered": str(row["ordered"])}
        change = {"op": "c", "before": None, "after": after, "source": source}
        yield json.dumps(change if named == "debezium" else after).encode()


def _produce(broker: str, topic: str, messages: Iterable[bytes]) -> None:
    producer = Producer(
        {"bootstrap.servers": broker, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
    )
    for message in messages:
        producer.produce(topic, message)
        producer.poll(0)
    producer.flush()


def _count(table: str, count: int, place: Path) -> None:
    assert arctic.read(table, warehouse=str(place)).read_all().num_rows == count


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

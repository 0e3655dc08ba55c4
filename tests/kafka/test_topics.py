"""Topics of a real broker, followed into tables: once, in order, through crashes."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import arctic
from arctic.cdc.envelopes import envelope_of
from arctic.cli.main import main
from arctic.errors import ConflictError, InvalidInputError, NotFoundError, StorageError
from arctic.job.mirror.mirror_settings import target_of
from arctic.job.mirror.topics.follow_topics import TopicSettings, follow_topics
from arctic.job.mirror.write_changes import WriteRows, write_here

_numbers = itertools.count()
SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("n", pa.int64()), ("s", pa.string())]
)
TABLES = ("public.a:a", "public.b:b")


@dataclass(slots=True)
class Shop:
    """A topic with changes of two tables, and what they must come to."""

    broker: str
    warehouse: Path
    partitions: int = 3
    topic: str = field(default_factory=lambda: f"shop{next(_numbers)}")
    expected: dict[str, dict[int, Any]] = field(default_factory=lambda: {"a": {}, "b": {}})
    producer: Any = field(init=False)

    def __post_init__(self) -> None:
        """Make the topic and the tables."""
        make_topic(self.broker, self.topic, self.partitions)
        self.producer = Producer({"bootstrap.servers": self.broker, "linger.ms": 5})
        for table in self.expected:
            arctic.create_table(f"m.{table}", SCHEMA, primary_key=["id"], **self.place)

    @property
    def place(self) -> dict[str, Any]:
        """Where the tables are."""
        return {"warehouse": str(self.warehouse)}

    @property
    def dsn(self) -> str:
        """Where the broker is."""
        return f"kafka://{self.broker}"

    def send(self, value: Any, key: int, *, partition: int | None = None) -> None:
        """Send a message; those of a key share a partition, as they must."""
        number = key % self.partitions if partition is None else partition
        text = value if isinstance(value, bytes) else json.dumps(value)
        self.producer.produce(self.topic, text, key=str(key), partition=number)

    def work(self, count: int, chance: random.Random) -> None:
        """Insert, update and delete rows of both tables; some messages come twice."""
        for _ in range(count):
            table, key = chance.choice("ab"), chance.randrange(40)
            rows = self.expected[table]
            before = rows.get(key)
            if before is not None and chance.random() < 0.3:
                del rows[key]
                message = change(table, "d", before, None)
            else:
                rows[key] = {"id": key, "n": chance.randrange(1000), "s": f"text {key}"}
                message = change(table, "u" if before else "c", before, rows[key])
            for _ in range(chance.choice([1, 1, 1, 2])):
                self.send(message, key)
        self.producer.flush()

    def follow(self, **changed: Any) -> arctic.TopicReport:
        """Bring the tables up to date."""
        given = {"tables": TABLES, "into": "m", "once": True, "interval_seconds": 0.3}
        return arctic.mirror_kafka(self.dsn, self.topic, **{**given, **self.place, **changed})

    def follow_by(self, write: WriteRows, *, max_changes: int) -> arctic.TopicReport:
        """Bring the tables up to date by writes that a test carries out."""
        settings = TopicSettings(
            dsn=self.dsn,
            config={},
            topics=[self.topic],
            envelope=envelope_of("debezium"),
            tables=dict(map(target_of, TABLES)),
            namespace="m",
            place=self.place,
            slot="arctic",
            max_changes=max_changes,
            drops_columns=False,
            decodings={},
        )
        return follow_topics(settings, write=write, once=True, interval_seconds=0.3)

    def check(self) -> None:
        """Compare tables with what they must come to."""
        for table, rows in self.expected.items():
            found = arctic.read(f"m.{table}", **self.place).read_all().to_pylist()
            assert {row["id"]: row for row in found} == rows
            assert len(found) == len(rows)

    def quarantine(self) -> list[dict[str, Any]]:
        """Read the quarantine."""
        found = arctic.read("m.cdc_quarantine", **self.place).read_all().to_pylist()
        return sorted(found, key=lambda row: (row["reason"], row["ends"]))


def make_topic(broker: str, name: str, partitions: int) -> None:
    """Make a topic, and wait for it."""
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result()


def change(table: str, op: str, before: Any, after: Any) -> dict[str, Any]:
    """Return an envelope of Debezium without a schema."""
    return {
        "op": op, "before": before, "after": after,
        "source": {"db": "shop", "schema": "public", "table": table},
    }  # fmt: skip


@pytest.fixture
def shop(broker: str, tmp_path: Path) -> Shop:
    """Make a topic and two tables."""
    return Shop(broker, tmp_path)


class DiedError(Exception):
    """The process is taken to be gone."""


@pytest.mark.parametrize("before", [True, False], ids=["before a commit", "after a commit"])
def test_dying_around_every_commit_loses_and_doubles_nothing(shop: Shop, before: bool) -> None:
    """Batches come again with others beside them; tables skip what they hold."""
    chance = random.Random(5)
    shop.work(60, chance)
    shop.send(b"no message", 1)
    shop.send(change("a", "c", None, {"id": 90, "n": "much", "s": None}), 90)
    shop.send(change("strange", "c", None, {"id": 1}), 2)
    shop.send(b'{"a": "\xff"}', 3)
    deaths = 0
    for allowed in itertools.count():
        left = allowed

        def dying(rows: pa.RecordBatchReader, options: Mapping[str, str]) -> None:
            nonlocal left
            if before and left == 0:
                raise DiedError
            write_here(rows, options)
            left -= 1
            if not before and left < 0:
                raise DiedError

        try:
            shop.follow_by(dying, max_changes=25)
        except DiedError:
            deaths += 1
            shop.work(5 if allowed < 3 else 0, chance)
            continue
        break
    assert deaths > 2
    shop.check()
    assert [row["reason"] for row in shop.quarantine()] == [
        "column n: much is no exact int64",
        "no JSON object",
        "no JSON object",
        "no table is named for this source",
    ]
    # Where the messages end is read again by nobody, not even for a table without changes.
    report = shop.follow()
    assert (report.batches, report.events) == (0, 0)


FOLLOW = """
import sys
from arctic import mirror_kafka

dsn, topic, warehouse = sys.argv[1:]
mirror_kafka(
    dsn, topic, tables=["public.a:a", "public.b:b"], into="m", max_changes=50,
    interval_seconds=0.05, warehouse=warehouse,
)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_again_and_again_loses_and_doubles_nothing(shop: Shop) -> None:
    """Beside messages that never pause."""
    chance = random.Random(8)
    for kill in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", FOLLOW, shop.dsn, shop.topic, str(shop.warehouse)],
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 3 + kill / 3
        while time.monotonic() < until:
            shop.work(10, chance)
            time.sleep(0.02)
        assert process.poll() is None, process.communicate()[1]
        process.send_signal(signal.SIGKILL)
        process.communicate()
    shop.follow()
    shop.check()


def test_plain_rows_and_tombstones(broker: str, tmp_path: Path) -> None:
    """A row takes the place of the one with its key; a transaction counts when it is committed."""
    for topic in ("rows.v1", "others"):
        make_topic(broker, topic, 1)
    for table in ("v1", "named"):
        arctic.create_table(f"m.{table}", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    producer = Producer({"bootstrap.servers": broker, "transactional.id": "t"})
    producer.init_transactions()

    def send(commits: bool, *rows: tuple[str, Any, Any]) -> None:
        producer.begin_transaction()
        for topic, key, value in rows:
            text = None if value is None else json.dumps(value)
            producer.produce(topic, text, key=None if key is None else json.dumps(key))
        (producer.commit_transaction if commits else producer.abort_transaction)()

    send(True, ("rows.v1", None, {"id": 1, "n": 12345678901234567, "s": "x"}),
         ("rows.v1", None, {"id": 2, "more": 1}), ("others", None, {"id": 7}))  # fmt: skip
    send(False, ("rows.v1", {"id": 1}, None))
    send(True, ("rows.v1", {"id": 2}, None), ("others", 7, None))
    given = ["cdc", "kafka", "--dsn", f"kafka://{broker}", "--topics", "rows.v1,others",
             "--envelope", "json", "--tables", "rows.v1,others:named", "--into", "m", "--once",
             "--interval", "0.3", "--warehouse", str(tmp_path)]  # fmt: skip
    with pytest.raises(SystemExit) as left:
        main(given)

    assert left.value.code == 0
    read = {
        table: arctic.read(f"m.{table}", warehouse=str(tmp_path)).read_all().to_pylist()
        for table in ("v1", "named", "cdc_quarantine")
    }
    assert read["v1"] == [{"id": 1, "n": 12345678901234567, "s": "x"}]
    assert [row["id"] for row in read["named"]] == [7]
    assert [row["reason"] for row in read["cdc_quarantine"]] == [
        "a tombstone whose key is no JSON object"
    ]


def test_shuffled_and_doubled_rows_of_an_ordered_table(broker: str, tmp_path: Path) -> None:
    """The greatest row of a key wins, in whatever batch and partition it comes."""
    make_topic(broker, "shuffled", 3)
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    arctic.create_table("m.shuffled", SCHEMA, primary_key=["id"], ordering_columns=["n"], **place)
    chance = random.Random(4)
    rows = [{"id": number % 20, "n": number, "s": f"v{number}"} for number in range(200)]
    producer = Producer({"bootstrap.servers": broker})
    for row in chance.sample(rows * 2, 400):
        producer.produce("shuffled", json.dumps(row), partition=chance.randrange(3))
    producer.flush()
    arctic.mirror_kafka(
        f"kafka://{broker}", "shuffled", tables="shuffled", into="m", envelope="json", once=True,
        max_changes=70, interval_seconds=0.3, **place,
    )  # fmt: skip

    found = arctic.read("m.shuffled", **place).read_all().to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == rows[-20:]


def test_what_would_lose_messages_is_refused(shop: Shop) -> None:
    """Messages that are gone, another process under the name, tables and topics that are not."""
    shop.work(20, random.Random(1))
    with pytest.raises(NotFoundError, match="topic 'nope' of Kafka not found"):
        arctic.mirror_kafka(shop.dsn, "nope", tables=TABLES, into="m", once=True, **shop.place)
    with pytest.raises(NotFoundError, match=r"m\.none"):
        shop.follow(tables=["public.none"])
    with pytest.raises(InvalidInputError, match="expected kafka://host:port"):
        arctic.mirror_kafka("me:secret@host", "t", tables=TABLES, into="m", once=True, **shop.place)

    def beside(rows: pa.RecordBatchReader, options: Mapping[str, str]) -> None:
        shop.follow()
        write_here(rows, options)

    with pytest.raises(ConflictError, match="another process writes under that name"):
        shop.follow_by(beside, max_changes=5)
    shop.follow()
    shop.check()
    shop.work(20, random.Random(2))
    _delete_all(shop)
    with pytest.raises(StorageError, match="are gone from Kafka before they were read"):
        shop.follow()


def test_a_table_without_a_place_hides_no_gap_of_another(shop: Shop) -> None:
    """That one would go on after the gap as if it had everything."""
    shop.work(20, random.Random(3))
    shop.follow(tables=TABLES[:1])
    shop.work(20, random.Random(4))
    _delete_all(shop)
    shop.send(change("a", "c", None, {"id": 99, "n": 1, "s": None}), 99)
    shop.producer.flush()

    with pytest.raises(StorageError, match="are gone from Kafka before they were read"):
        shop.follow()


def test_the_mark_of_a_transaction_is_no_message_that_is_gone(shop: Shop) -> None:
    """It has an offset, and is given to nobody; also where only such marks came."""
    producer = Producer({"bootstrap.servers": shop.broker, "transactional.id": shop.topic})
    producer.init_transactions()
    for commits in (True, False):
        producer.begin_transaction()
        for key in range(9):
            row = {"id": key, "n": 1, "s": "x"} if commits else {"id": key, "n": 2, "s": "y"}
            producer.produce(shop.topic, json.dumps(change("a", "c", None, row)),
                             key=str(key), partition=key % 3)  # fmt: skip
            shop.expected["a"][key] = {"id": key, "n": 1, "s": "x"}
        producer.flush()
        (producer.commit_transaction if commits else producer.abort_transaction)()
        shop.follow()
    _delete_all(shop)

    shop.follow()
    shop.check()


def test_a_table_that_is_made_anew_has_its_broken_events_in_the_quarantine(shop: Shop) -> None:
    """They were none of its predecessor, whose messages the quarantine has behind it."""
    shop.send(change("a", "c", None, {"id": 1, "n": 2**40, "s": "x"}), 1)
    shop.send(change("a", "c", None, {"id": 2, "n": "much", "s": "x"}), 2)
    shop.send(b"no message", 3)
    shop.producer.flush()
    shop.follow()
    arctic.drop_table("m.a", purge=True, **shop.place)
    small = SCHEMA.set(1, pa.field("n", pa.int32()))
    arctic.create_table("m.a", small, primary_key=["id"], **shop.place)
    shop.follow()
    shop.follow()

    assert sorted(row["reason"] for row in shop.quarantine()) == [
        "column n: 1099511627776 is no exact int32",
        "column n: much is no exact int32",
        "column n: much is no exact int64",
        "no JSON object",
    ]


def _delete_all(shop: Shop) -> None:
    from confluent_kafka import TopicPartition  # noqa: PLC0415

    admin = AdminClient({"bootstrap.servers": shop.broker})
    ends = [TopicPartition(shop.topic, number, -1) for number in range(shop.partitions)]
    for done in admin.delete_records(ends).values():
        done.result()

"""A slot forgets its log for all tables at once: none of them loses what happened meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

import arctic
from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_schema
from arctic.job.mirror.mirror_state import MirrorState
from arctic.job.mirror.write_changes import write_here
from arctic.job.reference import table_reference
from arctic.table.property_names import CHANGE_IDENTIFIER, MIRROR_SOURCE
from tests.dying_writer import DiedError, DyingWriter
from tests.iceberg.plain_readers import plain_catalog
from tests.postgres.source import Source

TABLES = ("t", "u", "v")


@dataclass
class Copies:
    """Writes, and notes which tables got all of their rows anew."""

    made: list[str] = field(default_factory=list)

    def __call__(self, rows: pa.RecordBatchReader, options: Mapping[str, str]) -> None:
        """Write rows."""
        if options[opt.WRITE_MODE.name] != "upsert" or opt.ACTION_COLUMN.name not in options:
            self.made.append(options["path"])
        write_here(rows, options)


@pytest.fixture
def source(dsn: str, tmp_path: Path) -> Iterator[Source]:
    """Make a database of three tables, of which each has a row, and mirror them."""
    source = Source(dsn, tmp_path, tables=TABLES)
    for table in TABLES:
        source.run(f"CREATE TABLE {table} (id int PRIMARY KEY)", f"INSERT INTO {table} VALUES (1)")
    source.mirror()
    yield source
    source.close()


def follow(source: Source, *tables: str, into: str = "m", slot: str = "mirror") -> None:
    """Mirror some tables, once."""
    arctic.mirror_postgres(
        source.dsn, tables, into=into, slot=slot, once=True, interval_seconds=0, **source.place
    )


def ids(source: Source, table: str, into: str = "m") -> list[int]:
    """Return the keys of a mirror."""
    found = arctic.read(f"{into}.{table}", **source.place).read_all()
    return sorted(found["id"].to_pylist())


def copies(source: Source, *tables: str) -> list[str]:
    """Mirror some tables; return which of them were copied."""
    source.tables = tables
    written = Copies()
    source.mirror(write=written)
    return written.made


def confirmed(source: Source) -> int:
    """Return how far the slot is."""
    (place,) = source.connection.execute(
        "SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = 'mirror'"
    ).fetchone()
    return int(place)


def fill(source: Source, kib: int) -> None:
    """Let other tables fill the log."""
    source.run(
        "CREATE TABLE IF NOT EXISTS other (n int, s text)",
        f"INSERT INTO other SELECT i, repeat('x', 1000) FROM generate_series(1, {kib}) i",
    )


def test_a_table_that_a_run_leaves_out_is_copied_when_it_is_named_again(source: Source) -> None:
    """Its inserts and deletes of meanwhile are in no log any more; the others go on."""
    source.run("INSERT INTO t VALUES (2)", "INSERT INTO v VALUES (2)")
    assert copies(source, "u", "v") == []
    source.run("DELETE FROM t WHERE id = 1", "INSERT INTO u VALUES (2)")
    assert copies(source, "u", "v") == []

    assert copies(source, *TABLES) == ["m.t"]
    source.check()
    source.run(*(f"INSERT INTO {table} VALUES (9)" for table in TABLES))
    assert copies(source, *TABLES) == []
    source.check()


def test_the_others_of_a_table_that_is_dropped_are_copied_if_only_it_knew(source: Source) -> None:
    """How far all of them are is in the tables that have a share of the latest batch."""
    source.run("INSERT INTO t VALUES (2)", "INSERT INTO u VALUES (2)")
    source.mirror()
    arctic.drop_table("m.u", **source.place)
    assert copies(source, *TABLES) == ["m.u"]
    source.run("INSERT INTO u VALUES (3)")
    source.mirror()
    arctic.drop_table("m.u", **source.place)
    assert sorted(copies(source, *TABLES)) == ["m.t", "m.u", "m.v"]
    source.check()


def test_a_table_that_missed_nothing_is_not_copied(source: Source) -> None:
    """However the tables change that are named."""
    source.run("INSERT INTO u VALUES (2)")
    for tables in (TABLES, ("t",), TABLES, ("u", "v"), ("v",), TABLES):
        assert copies(source, *tables) == []
    source.check()


def test_a_slot_that_another_namespace_used_lost_part_of_the_log(source: Source) -> None:
    """As did one that somebody moved by hand."""
    source.run("INSERT INTO t VALUES (2)")
    follow(source, "u", into="n")
    source.run("INSERT INTO t VALUES (3)")
    follow(source, "t")
    assert ids(source, "t") == [1, 2, 3]

    source.run(
        "INSERT INTO t VALUES (4)",
        "SELECT pg_replication_slot_advance('mirror', pg_current_wal_flush_lsn())",
    )
    follow(source, "t")
    assert ids(source, "t") == [1, 2, 3, 4]


def test_a_table_that_comes_to_another_slot_loses_nothing(source: Source) -> None:
    """One that is ahead of it has to copy it, one that is behind has not."""
    follow(source, "u", into="n", slot="other")
    source.run("INSERT INTO t VALUES (2)", "INSERT INTO u VALUES (2)")
    follow(source, "u", into="n", slot="other")
    follow(source, "t", slot="other")
    assert ids(source, "t") == [1, 2]

    source.run("INSERT INTO t VALUES (3)")
    follow(source, "t", slot="other")
    assert copies(source, "t") == []
    assert ids(source, "t") == [1, 2, 3]


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_a_batch_that_only_some_tables_hold_is_not_taken_for_whole(
    source: Source, allowed: int
) -> None:
    """What the others lack of it they get, or they are copied, whoever moved the slot since."""
    source.run("BEGIN", *(f"INSERT INTO {table} VALUES (2)" for table in TABLES), "COMMIT")
    dying = DyingWriter(before=True)
    dying.left = allowed
    with pytest.raises(DiedError):
        source.mirror(write=dying)
    follow(source, "u")
    source.run("INSERT INTO t VALUES (3)")

    copies(source, *TABLES)
    source.check()


def test_what_happens_beside_the_tables_is_confirmed_now_and_then(source: Source) -> None:
    """So the server need not keep it; a run after that copies nothing."""
    before = confirmed(source)
    fill(source, 100)
    assert source.mirror().batches == 0
    assert confirmed(source) == before
    fill(source, 3000)
    assert source.mirror().batches == 0
    assert confirmed(source) > before + (1 << 20)
    source.run("INSERT INTO t VALUES (2)")
    assert copies(source, *TABLES) == []
    source.check()


def test_a_batch_of_which_nothing_can_be_applied_is_confirmed(source: Source) -> None:
    """It is in the quarantine, once."""
    source.run("CREATE TABLE w (id int PRIMARY KEY, at timestamp)")
    copies(source, "w", "u")
    before = confirmed(source)
    source.run("INSERT INTO w VALUES (1, 'infinity')")
    assert copies(source, "w", "u") == []
    assert confirmed(source) > before

    assert copies(source, "w", "u") == []
    assert len(source.quarantine()) == 1


def test_messages_of_no_transaction_do_not_stop_a_mirror(source: Source) -> None:
    """Also where a batch is full of them."""
    source.max_changes = 3
    for number in range(10):
        source.run(f"SELECT pg_logical_emit_message(false, 'beat', '{number}')")
    source.run("INSERT INTO t VALUES (2)")
    rounds = 0

    def stop() -> bool:
        nonlocal rounds
        rounds += 1
        return rounds > 30

    source.mirror(stop=stop)
    source.check()
    assert rounds < 30


def test_a_server_that_was_brought_back_is_refused(source: Source) -> None:
    """What it says after that is another history than that of the mirror."""
    opened = arctic.open_table("m.t", **source.place)
    state = MirrorState.of(opened.properties)
    assert state is not None
    reference = table_reference({"path": "m.t", **source.place})
    later = SchemaChange(properties=state.beyond(2**60).property())
    evolve_schema(reference.config, reference.identifier, later)

    with pytest.raises(InvalidInputError, match="was brought back to an earlier state"):
        source.mirror()
    source.run("SELECT pg_drop_replication_slot('mirror')", "INSERT INTO t VALUES (2)")
    source.mirror()
    source.check()


@pytest.mark.parametrize("damage", ["plain", "without its changes", "without its source"])
def test_a_table_that_a_run_does_not_name_may_be_anything(source: Source, damage: str) -> None:
    """What it would say of the slot is not known then, and the others follow all the same."""
    source.run("INSERT INTO t VALUES (2)", "INSERT INTO u VALUES (2)")
    source.mirror()
    opened = arctic.open_table("m.u", **source.place)
    if damage == "plain":
        arctic.drop_table("m.u", **source.place)
        with plain_catalog(source.warehouse) as catalog:
            catalog.create_table("m.u", Schema(NestedField(1, "id", LongType(), required=False)))
    elif damage == "without its changes":
        opened.optimize(type="full")
        change = opened.properties[CHANGE_IDENTIFIER]
        with plain_catalog(source.warehouse) as catalog:
            catalog.drop_table(change)
    else:
        reference = table_reference({"path": "m.u", **source.place})
        broken = SchemaChange(properties={MIRROR_SOURCE: "{}"})
        evolve_schema(reference.config, reference.identifier, broken)
    source.run("INSERT INTO t VALUES (3)", "DELETE FROM v WHERE id = 1")

    for _ in range(2):
        follow(source, "t", "v")
        assert ids(source, "t") == [1, 2, 3]
        assert ids(source, "v") == []


def test_one_source_has_one_mirror(source: Source) -> None:
    """The second would not be made, or the first not be followed; to name it twice is no harm."""
    follow(source, "t", "public.t", "u", into="n", slot="twice")
    assert ids(source, "t", "n") == [1]
    place: dict[str, Any] = {"into": "m", "once": True, **source.place}
    message = "public.t would be mirrored as 'a' and as 'b'"
    with pytest.raises(InvalidInputError, match=message):
        arctic.mirror_postgres(source.dsn, ["t:a", "public.t:b"], **place)
    with pytest.raises(InvalidInputError, match=message):
        arctic.mirror_kafka("kafka://x:1", "topic", tables=["public.t:a", "public.t:b"], **place)


def test_a_mirror_that_does_not_know_how_far_its_slot_was_is_copied(source: Source) -> None:
    """As those of earlier versions: what was confirmed for them may be more than they hold."""
    reference = table_reference({"path": "m.t", **source.place})
    state = json.loads(arctic.open_table("m.t", **source.place).properties[MIRROR_SOURCE])
    for name in ("beside", "noted", "named"):
        del state[name]
    for column in state["columns"]:
        del column["absent_up_to"]
        column["absent_is_null"] = True
    earlier = SchemaChange(properties={MIRROR_SOURCE: json.dumps(state)})
    evolve_schema(reference.config, reference.identifier, earlier)
    source.run("INSERT INTO t VALUES (2)", "DELETE FROM t WHERE id = 1")

    assert copies(source, *TABLES) == ["m.t"]
    source.check()
    assert copies(source, *TABLES) == []

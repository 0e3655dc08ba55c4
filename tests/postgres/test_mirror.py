"""Tables of a real PostgreSQL and their mirrors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.cli.main import main
from arctic.errors import ConflictError, InvalidInputError, NotFoundError
from arctic.iceberg.tables import create_table
from arctic.postgres.connect import connect
from arctic.postgres.slot import sole_use
from tests.postgres.source import Source

TABLE = "CREATE TABLE t (id int PRIMARY KEY, n numeric(8,2), s text, at timestamptz)"
FULL = "ALTER TABLE t REPLICA IDENTITY FULL"


@pytest.fixture
def empty(dsn: str, tmp_path: Path) -> Iterator[Source]:
    """Make a database without tables."""
    source = Source(dsn, tmp_path)
    yield source
    source.close()


@pytest.fixture
def source(empty: Source) -> Source:
    """Make a database with one table of two rows."""
    source = empty
    source.run(
        TABLE,
        FULL,
        "INSERT INTO t VALUES (1, 1.50, 'one', '2026-01-01 00:00:00+02'), (2, null, null, null)",
    )
    return source


def test_a_copy_then_every_kind_of_change(source: Source) -> None:
    """Inserts, updates, deletes, key changes and a truncate, in order, across transactions."""
    source.mirror()
    source.check()
    source.run(
        "INSERT INTO t SELECT i, i / 4.0, 'row ' || i, now() FROM generate_series(10, 500) i",
        "UPDATE t SET n = n + 1 WHERE id % 3 = 0",
        "DELETE FROM t WHERE id % 7 = 0",
        "UPDATE t SET id = id + 10000 WHERE id % 5 = 0",
        "INSERT INTO t VALUES (10, 0, 'again')",
    )
    report = source.mirror()
    assert report.events > 500
    source.check()
    source.run("BEGIN", "INSERT INTO t VALUES (77)", "TRUNCATE t", "INSERT INTO t VALUES (78)",
               "UPDATE t SET s = 'x'", "COMMIT", "INSERT INTO t VALUES (79)")  # fmt: skip
    source.mirror()
    source.check()
    assert [row["id"] for row in source.rows()] == [78, 79]
    assert source.mirror().batches == 0
    assert source.quarantine() == []


def test_batches_smaller_than_what_happened(source: Source) -> None:
    """Each is made of whole transactions; the last one brings all."""
    source.max_changes = 5
    source.mirror()
    for number in range(30):
        source.run(f"INSERT INTO t VALUES ({number + 10}); UPDATE t SET s = 'v{number}' WHERE id=1")
    assert source.mirror().batches > 5
    source.check()


def test_values_of_all_types_survive_the_copy_and_the_log(empty: Source) -> None:
    """What has no type of ours is text, exactly as PostgreSQL prints it, both ways."""
    source = empty
    source.run(
        "CREATE TYPE mood AS ENUM ('ok', 'so, so')",
        """CREATE TABLE t (id uuid PRIMARY KEY, a smallint, b bigint, c real, d double precision,
           e numeric, f numeric(38,10), g boolean, h char(5), i varchar(9), j bytea, k date,
           l time, m timestamp(3), n timestamptz, o interval, p jsonb, q int[], r inet, s mood,
           t mood[], "U v" text, w numeric(5,-2), x numeric(60,3))""",
        FULL,
    )
    values = """('{0}', -5, 9223372036854775807, 0.1, 1e-300, 12345678901234567890.0987654321,
        -1234567890.0123456789, true, 'ab', 'it''s', '\\x00ff', '2026-02-28', '24:00:00',
        '2026-01-01 01:02:03.456', '1969-12-31 23:59:59.999999+05:30', '1 day 2 hours',
        '{{"a": [1, "x\\n"]}}', '{{1,NULL,3}}', '10.0.0.1', 'so, so', '{{ok,"so, so"}}',
        E'line\\nbreak "q" \\\\ \\t %s {{}} "value":12', 12345, 123456789.123)"""
    first, second = "00000000-0000-0000-0000-000000000001", "ffffffff-0000-0000-0000-000000000002"
    source.run(f"INSERT INTO t VALUES {values.format(first)}")
    source.mirror()
    source.run(f"INSERT INTO t VALUES {values.format(second)}")
    source.mirror()

    copied, logged = source.rows()
    assert {**copied, "id": None} == {**logged, "id": None}
    assert copied["h"] == "ab   "
    assert copied["r"] == "10.0.0.1"
    assert copied["l"] == "24:00:00"
    assert copied["x"] == "123456789.123"
    assert copied["j"] == b"\x00\xff"
    assert copied["t"] == '{ok,"so, so"}'
    assert copied["U v"].endswith('"value":12')
    assert source.quarantine() == []


def test_nan_and_infinity_are_not_taken_for_null(empty: Source) -> None:
    """Older wal2json prints them as null; the mirror asks the table."""
    source = empty
    source.run("CREATE TABLE t (id int PRIMARY KEY, d float8, n numeric)", FULL)
    source.run("INSERT INTO t VALUES (1, 'NaN', 'NaN')")
    source.mirror()
    source.run("INSERT INTO t VALUES (2, '-Infinity', 'Infinity'), (3, NULL, NULL)")
    source.run("UPDATE t SET d = 'Infinity' WHERE id = 1")
    source.mirror()

    one, two, three = source.rows()
    assert (one["d"], one["n"]) == (math.inf, "NaN")
    assert (two["d"], two["n"]) == (-math.inf, "Infinity")
    assert (three["d"], three["n"]) == (None, None)


def test_values_that_the_table_cannot_hold_go_to_quarantine(source: Source) -> None:
    """With the reason; the rows around them arrive, and a crash doubles none of it."""
    source.mirror()
    source.run(
        "INSERT INTO t VALUES (5, 1, 'bad', 'infinity'), (6, 1, 'good', '2026-01-01 00:00+00')",
        "UPDATE t SET at = '0044-03-15 00:00+00 BC' WHERE id = 1",
    )
    source.mirror()

    assert {row["id"]: row["at"] and row["at"].year for row in source.rows()} == {
        1: 2025, 2: None, 6: 2026,
    }  # fmt: skip
    bad, ancient = source.quarantine()
    assert bad["source"] == "public.t"
    assert bad["reason"] == "column at: infinity is no exact timestamp[us, tz=UTC]"
    assert '"value":"bad"' in bad["message"]
    assert "BC" in ancient["reason"]


@pytest.mark.parametrize("at_once", [True, False], ids=["in one batch", "batch by batch"])
def test_columns_that_change_while_the_mirror_follows(source: Source, at_once: bool) -> None:
    """Added with and without default, widened, renamed, dropped, retyped: all agree."""
    source.mirror()
    steps = [
        "ALTER TABLE t ADD COLUMN plain text",
        "ALTER TABLE t ADD COLUMN counted int NOT NULL DEFAULT 7",
        "ALTER TABLE t ADD COLUMN drawn float8 DEFAULT random()",
        "ALTER TABLE t RENAME COLUMN s TO said",
        "ALTER TABLE t ALTER COLUMN n TYPE numeric(12,2)",
        "ALTER TABLE t ALTER COLUMN counted TYPE bigint",
        "ALTER TABLE t ALTER COLUMN said TYPE text USING upper(said)",
        "ALTER TABLE t ALTER COLUMN counted TYPE text USING 'n' || counted",
        "ALTER TABLE t ALTER COLUMN counted TYPE int USING length(counted)",
        "ALTER TABLE t ALTER COLUMN said TYPE bytea USING convert_to(said, 'UTF8')",
        "ALTER TABLE t ALTER COLUMN said TYPE text USING convert_from(said, 'UTF8')",
        "ALTER TABLE t DROP COLUMN at",
        "ALTER TABLE t RENAME COLUMN plain TO at",
        "ALTER TABLE t DROP COLUMN n, ADD COLUMN n text DEFAULT 'new'",
    ]
    for number, step in enumerate(steps):
        columns = [row[0] for row in source.connection.execute(
            "SELECT attname::text FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 "
            "AND NOT attisdropped ORDER BY attnum")]  # fmt: skip
        text = "said" if "said" in columns else "s"
        source.run(
            f"INSERT INTO t (id, {text}) VALUES ({number + 10}, 'before')",
            f"UPDATE t SET {text} = {text} || '{number}' WHERE id = 1",
            step,
        )
        if number % 2:
            source.run(f"INSERT INTO t (id) VALUES ({number + 100})", "DELETE FROM t WHERE id = 10")
        if not at_once:
            source.mirror()
            source.check()
    source.mirror()
    source.check()
    assert source.quarantine() == []


def test_a_table_that_joins_later_and_a_slot_that_was_dropped(source: Source) -> None:
    """The one is copied while the others are followed; after the other all are copied anew."""
    source.mirror()
    source.run("CREATE TABLE u (id int PRIMARY KEY)", "INSERT INTO u VALUES (1), (2)")
    source.tables = ("t", "public.u")
    source.run("INSERT INTO t VALUES (3)")
    source.mirror()
    source.run("DELETE FROM u WHERE id = 1", "INSERT INTO u VALUES (3)")
    source.mirror()
    assert [row["id"] for row in source.rows("u")] == [2, 3]
    assert len(source.rows()) == 3

    source.run("SELECT pg_drop_replication_slot('mirror')", "DELETE FROM t WHERE id = 3")
    source.mirror()
    source.tables = ("t",)
    source.check()


def test_another_table_of_the_same_name_takes_the_place_of_the_first(source: Source) -> None:
    """Its log has no deletes for the rows of the first, and its numbers mean other columns."""
    source.max_changes = 4
    source.mirror()
    source.run(
        "INSERT INTO t VALUES (3), (4)",
        "DROP TABLE t",
        "CREATE TABLE t (s int, id int PRIMARY KEY, extra text)",
        FULL,
        "INSERT INTO t VALUES (7, 2, 'x'), (8, 9, 'y')",
        "DELETE FROM t WHERE id = 9",
    )
    source.mirror()
    source.check()
    assert source.rows() == [{"id": 2, "s": "7", "extra": "x"}]
    source.run("INSERT INTO t VALUES (1, 1)")
    source.mirror()
    source.check()


def test_what_could_not_be_followed_exactly_is_refused_with_the_remedy(empty: Source) -> None:
    """Before anything is made."""
    source = empty
    with pytest.raises(NotFoundError, match=r"public\.t of PostgreSQL not found"):
        source.mirror()
    source.run("CREATE TABLE t (id int)")
    with pytest.raises(InvalidInputError, match="no primary key; add one"):
        source.mirror()
    source.run("ALTER TABLE t ADD PRIMARY KEY (id), ADD COLUMN s text")
    with pytest.raises(InvalidInputError, match=r"what s is; run ALTER TABLE public\.t REPLICA"):
        source.mirror()
    source.run("ALTER TABLE t DROP COLUMN s")
    source.mirror()
    with (
        connect(source.dsn) as other,
        sole_use(other, "mirror"),
        pytest.raises(ConflictError, match="by another process"),
    ):
        source.mirror()


def test_a_table_without_wide_columns_needs_no_full_identity(empty: Source) -> None:
    """Its log has the old key where it changed, and whole new rows."""
    source = empty
    source.run("CREATE TABLE t (a int, b bigint, c date, PRIMARY KEY (b, a))")
    source.run("INSERT INTO t SELECT i, i, '2026-01-01' FROM generate_series(1, 50) i")
    source.mirror()
    source.run("UPDATE t SET c = NULL WHERE a < 9", "UPDATE t SET a = -a WHERE a > 40",
               "DELETE FROM t WHERE a BETWEEN 20 AND 30")  # fmt: skip
    source.mirror()
    source.check()


def test_names_that_need_quotes(empty: Source) -> None:
    """Blanks, capitals, commas, quotes, percent signs and braces; generated columns too."""
    empty.tables = ('My, "Table" %s {0}:plain',)
    table = '"My, ""Table"" %s {0}"'
    empty.run(
        f"""CREATE TABLE {table} ("Id ""x"" %s" int PRIMARY KEY, "it's {{1}}" text,
            twice int GENERATED ALWAYS AS ("Id ""x"" %s" * 2) STORED)""",
        f"ALTER TABLE {table} REPLICA IDENTITY FULL",
        f"INSERT INTO {table} VALUES (1, 'one')",
    )
    empty.mirror()
    empty.run(f"INSERT INTO {table} VALUES (2, 'two')", f"UPDATE {table} SET \"it's {{1}}\" = 'x'")
    empty.run(f'ALTER TABLE {table} ADD COLUMN "select" int', f"INSERT INTO {table} VALUES (3)")
    empty.mirror()

    assert [tuple(row.values()) for row in empty.rows("plain")] == [
        (1, "x", 2, None),
        (2, "x", 4, None),
        (3, None, 6, None),
    ]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (n)", "now has the primary key n"),
        ("ALTER TABLE t RENAME COLUMN id TO key", "now has the primary key key"),
        ("ALTER TABLE t ALTER COLUMN id TYPE bigint", "'id' is part of its key"),
        ("ALTER TABLE t REPLICA IDENTITY DEFAULT", "REPLICA IDENTITY FULL"),
    ],
    ids=["key", "key name", "key type", "identity"],
)
def test_what_cannot_be_followed_stops_the_mirror(
    source: Source, statement: str, message: str
) -> None:
    """With the remedy, before anything is confirmed; what came before is not lost."""
    source.run("DELETE FROM t WHERE n IS NULL")
    source.mirror()
    source.run("INSERT INTO t VALUES (7, 7)", statement)

    for _ in range(2):
        with pytest.raises(InvalidInputError, match=message):
            source.mirror()


def test_tables_of_a_database_that_was_replaced_are_refused(source: Source, tmp_path: Path) -> None:
    """And tables that are no mirrors."""
    source.mirror()
    source.run("CREATE DATABASE other")
    other = Source(source.dsn.rpartition("dbname=")[0] + "dbname=other", source.warehouse)
    other.run(TABLE, FULL)
    try:
        with pytest.raises(InvalidInputError, match="mirrors a table of another database"):
            other.mirror()
    finally:
        other.close()
        source.run("DROP DATABASE other WITH (FORCE)")
    schema = pa.schema([pa.field("id", pa.int32())])
    arctic.create_table("m.own", schema, primary_key=["id"], warehouse=str(tmp_path))
    source.run("CREATE TABLE own (id int PRIMARY KEY)")
    source.tables = ("own",)
    with pytest.raises(InvalidInputError, match="mirrors nothing"):
        source.mirror()


def test_the_command_line_mirrors_too(source: Source, capsys: pytest.CaptureFixture[str]) -> None:
    """Once, into another name; a missing table is one line on standard error."""
    given = ["cdc", "postgres", "--dsn", source.dsn, "--into", "m", "--slot", "mirror", "--once",
             "--warehouse", str(source.warehouse)]  # fmt: skip
    for batches in (0, 1):
        with pytest.raises(SystemExit) as left:
            main([*given, "--tables", "public.t:copy_of_t"])
        printed = capsys.readouterr().out
        assert left.value.code == 0
        assert f"in {batches} batches, 0 quarantined; mirrored up to 0/" in printed
        source.run(f"INSERT INTO t (id) VALUES ({9 + batches})")
    assert [row["id"] for row in source.rows("copy_of_t")] == [1, 2, 9]
    with pytest.raises(SystemExit) as left:
        main([*given, "--tables", "nope"])
    assert left.value.code == 1
    assert "table public.nope of PostgreSQL not found" in capsys.readouterr().err


def test_a_mirror_tells_how_far_the_time_of_the_source_has_come(empty: Source) -> None:
    """Not while rows are still to be copied, and also where nothing changes."""
    source = empty
    source.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    before = int(source.connection.execute("SELECT extract(epoch FROM now()) * 1000").fetchone()[0])
    source.mirror(watermark=True)
    (first,) = arctic.watermarks("m.t", **source.place).values()
    source.run("INSERT INTO t VALUES (2)")
    source.mirror(watermark=True)
    (second,) = arctic.watermarks("m.t", **source.place).values()
    source.mirror(watermark=True)
    ((name, third),) = arctic.watermarks("m.t", **source.place).items()

    assert name == "cdc.mirror"
    assert before <= first <= second <= third
    assert second < third
    # A column that the log says nothing of is copied later: until then the table is not whole.
    source.run("ALTER TABLE t ADD COLUMN n int DEFAULT 5", "INSERT INTO t VALUES (3)")
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls > 1

    source.max_changes = 1
    source.mirror(watermark=True, stop=stop)
    is_whole = {row["n"] for row in source.rows()} == {5}
    assert is_whole or [*arctic.watermarks("m.t", **source.place).values()] == [third]


def test_a_mirror_that_was_killed_while_it_made_a_table_goes_on(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the table is there, made under another name."""

    def killed(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(create_table, "_complete_pair", killed)
        with pytest.raises(KeyboardInterrupt):
            source.mirror()
    source.mirror()
    source.check()
    source.run("INSERT INTO t VALUES (3, 3, 'three', now())")
    assert source.mirror().events == 1
    source.check()

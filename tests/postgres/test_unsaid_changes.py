"""What a log does not say, or not of which rows: a mirror notices, and copies or refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.job.mirror.write_changes import write_here
from arctic.postgres import copy, slot
from arctic.postgres.connect import connect
from arctic.postgres.copy import copied, one_moment
from arctic.postgres.slot import created_slot, peek
from arctic.postgres.source_tables import find_table
from tests.postgres.source import Source

FULL = "ALTER TABLE t REPLICA IDENTITY FULL"
LARGE = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 900) i)"


@pytest.fixture
def source(dsn: str, tmp_path: Path) -> Iterator[Source]:
    """Make a database with one mirrored table of two rows."""
    source = Source(dsn, tmp_path)
    source.run(
        "CREATE TABLE t (id int PRIMARY KEY, s text)",
        FULL,
        "INSERT INTO t VALUES (1, 'old'), (2, 'goes')",
    )
    source.mirror()
    yield source
    source.close()


@pytest.mark.parametrize(
    "steps",
    [
        [
            "BEGIN",
            "ALTER TABLE t RENAME TO busy",
            "UPDATE busy SET s = 'new' WHERE id = 1",
            "DELETE FROM busy WHERE id = 2",
            "ALTER TABLE busy RENAME TO t",
            "COMMIT",
        ],
        [
            "CREATE SCHEMA aside",
            "ALTER TABLE t SET SCHEMA aside",
            "DELETE FROM aside.t WHERE id = 2",
            "ALTER TABLE aside.t SET SCHEMA public",
        ],
        [
            "ALTER TABLE t RENAME TO kept",
            "CREATE TABLE t (id int PRIMARY KEY, s text)",
            "INSERT INTO t VALUES (99, 'trial')",
            "DROP TABLE t",
            "ALTER TABLE kept RENAME TO t",
        ],
    ],
    ids=["renamed", "in another schema", "another table had its name"],
)
def test_what_happened_under_another_name_is_copied(source: Source, steps: list[str]) -> None:
    """Nothing of it is in the log that is followed, or what is there is of another table."""
    source.run(*steps)
    source.mirror()
    source.check()
    source.run("UPDATE t SET s = 'last'")
    source.mirror()
    source.check()


def test_what_only_looks_like_it_is_not_copied(source: Source) -> None:
    """Rights, settings, indexes, statistics: rows are as the log has them."""
    source.run(
        "GRANT SELECT ON t TO PUBLIC",
        "ALTER TABLE t SET (fillfactor = 70)",
        "CREATE INDEX ON t (s)",
        "ALTER TABLE t ADD CHECK (id > 0)",
        "COMMENT ON TABLE t IS 'x'",
        "VACUUM ANALYZE t",
        "INSERT INTO t VALUES (3, 'new')",
    )
    is_log = []

    def write(rows: pa.RecordBatchReader, options: Mapping[str, str]) -> None:
        is_log.append(opt.ACTION_COLUMN.name in options)
        write_here(rows, options)

    source.mirror(write=write)
    source.check()
    assert is_log == [True]


def test_an_identity_that_was_away_is_copied(source: Source) -> None:
    """Where it says too little of a row, and where it says nothing of one."""
    source.run("ALTER TABLE t ADD COLUMN doc text")
    source.mirror()
    source.run(f"UPDATE t SET doc = {LARGE} WHERE id = 1")
    source.mirror()
    source.check()
    source.run("ALTER TABLE t REPLICA IDENTITY DEFAULT", "UPDATE t SET s = 'new' WHERE id = 1")
    source.run(FULL)
    source.mirror()
    source.check()

    source.run("ALTER TABLE t REPLICA IDENTITY NOTHING", "DELETE FROM t WHERE id = 2",
               "UPDATE t SET s = 'newer' WHERE id = 1", FULL)  # fmt: skip
    source.mirror()
    source.check()
    assert source.quarantine() == []
    source.run("INSERT INTO t VALUES (5, 'five')")
    source.mirror()
    source.check()


def test_a_row_from_before_a_column_has_null_in_it(source: Source) -> None:
    """An update of then cannot mention the column, and asks for no copy."""
    source.run("UPDATE t SET s = 'then'", "ALTER TABLE t ADD COLUMN doc text",
               f"UPDATE t SET doc = {LARGE} WHERE id = 2", "UPDATE t SET s = 'now'")  # fmt: skip
    source.max_changes = 2
    source.mirror()
    source.check()


def test_an_identity_that_goes_stops_a_mirror_that_runs(source: Source) -> None:
    """Before anything of it is confirmed; what is lost until it is back is copied."""
    rounds = 0

    def stop() -> bool:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            source.run("ALTER TABLE t REPLICA IDENTITY NOTHING", "DELETE FROM t WHERE id = 2")
        return rounds > 5

    with pytest.raises(InvalidInputError, match="REPLICA IDENTITY FULL"):
        source.mirror(stop=stop)
    source.run(FULL)
    source.mirror()
    source.check()


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_a_key_that_is_checked_late_is_refused(dsn: str, tmp_path: Path, identity: str) -> None:
    """It is no identity of rows; two rows may have one key until their transaction ends."""
    source = Source(dsn, tmp_path)
    source.run(
        "CREATE TABLE t (id int PRIMARY KEY DEFERRABLE, n int)",
        f"ALTER TABLE t REPLICA IDENTITY {identity}",
    )
    with pytest.raises(InvalidInputError, match="DEFERRABLE is none"):
        source.mirror()
    source.close()


def test_a_column_that_no_row_has_is_left_out(dsn: str, tmp_path: Path) -> None:
    """A virtual one, which PostgreSQL 18 knows; an older server is made to take one for it."""
    source = Source(dsn, tmp_path)
    source.run(
        "CREATE TABLE t (id int PRIMARY KEY, n int, twice int GENERATED ALWAYS AS (id * 2) STORED)",
        "INSERT INTO t VALUES (1)",
        "SET allow_system_table_mods = on",
        "UPDATE pg_attribute SET attgenerated = 'v' "
        "WHERE attrelid = 't'::regclass AND attname = 'twice'",
    )
    source.mirror()
    source.run("UPDATE t SET n = 5", "INSERT INTO t VALUES (2)")
    source.mirror()
    assert source.rows() == [{"id": 1, "n": 5}, {"id": 2, "n": None}]
    source.close()


def test_arrays_of_texts_with_a_limit_are_copied(dsn: str, tmp_path: Path) -> None:
    """Their type is called like that of their elements, but for its end."""
    source = Source(dsn, tmp_path)
    source.run(
        "CREATE TABLE t (id int PRIMARY KEY, a varchar(10)[], b char(3)[], c varchar(4)[][], "
        "d numeric(5,2)[], e varchar[], f varchar(3), g char(2))",
        FULL,
        """INSERT INTO t VALUES (1, '{a,"b c"}', '{x}', '{{p,q},{r,NULL}}', '{1.5,NaN}', '{}', 'v',
           'w')""",
        "INSERT INTO t VALUES (2)",
    )
    source.mirror()
    copied = source.rows()
    source.run("UPDATE t SET id = id + 2")
    source.mirror()
    assert [{**row, "id": row["id"] + 2} for row in copied] == source.rows()
    assert copied[0] == {"id": 1, "a": '{a,"b c"}', "b": '{"x  "}', "c": "{{p,q},{r,NULL}}",
                         "d": "{1.50,NaN}", "e": "{}", "f": "v", "g": "w "}  # fmt: skip
    source.close()


def test_large_values_are_copied_in_pieces(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their blocks are few; each row is in one piece, whatever is in it."""
    source.run(
        f"INSERT INTO t SELECT i, repeat({LARGE}, i % 7) FROM generate_series(10, 60) i",
        "INSERT INTO t SELECT i, 'small' FROM generate_series(100, 900) i",
    )
    monkeypatch.setattr(copy, "PIECE_BYTES", 300_000)
    with connect(source.dsn) as connection:
        table = find_table(connection, "public", "t")
        assert table is not None
        with one_moment(connection, [("public", "t")], snapshot=None):
            pieces = list(copied(connection, table))
    largest = max(piece.nbytes for piece in pieces)
    assert 10 < len(pieces) < 20
    assert largest < 300_000 + 7 * 28_800 + 100_000
    found = [row for piece in pieces for row in piece["id"].to_pylist()]
    assert sorted(map(int, found)) == [1, 2, *range(10, 61), *range(100, 901)]


def test_large_messages_are_read_in_pieces(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, each once."""
    monkeypatch.setattr(slot, "_BYTES_PER_ROW", 100_000)
    options = {"format-version": "2"}
    with connect(source.dsn) as connection:
        with created_slot(source.dsn, "large"):
            pass
        source.run(f"INSERT INTO t SELECT i, i || {LARGE} FROM generate_series(10, 40) i")
        found = peek(connection, "large", options, ["public.t"], 1_000).messages
        source.run("SELECT pg_drop_replication_slot('large')")
    assert found.num_chunks > 5
    texts = found.to_pylist()
    assert len(texts) == 33
    keys = [f'"value":"{number}c4ca4238' in text for number, text in enumerate(texts[1:-1], 10)]
    assert keys == [True] * 31

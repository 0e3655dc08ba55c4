"""A mirror of MariaDB: types, copies, the log, columns that change, what is refused."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import arctic
from arctic.cli.main import main
from arctic.errors import InvalidInputError, NotFoundError, UnsupportedError
from arctic.mysql import table_copy
from tests.mariadb.followed import Followed

_numbers = itertools.count()
COLUMNS = {
    "a": "tinyint", "b": "smallint unsigned", "c": "mediumint", "d": "int unsigned",
    "e": "bigint unsigned", "f": "float", "g": "double", "h": "decimal(20,5)", "i": "decimal(40,3)",
    "j": "decimal(9,9)", "k": "date", "l": "timestamp(3) null", "m": "datetime(6)", "n": "time(1)",
    "o": "year", "p": "char(10)", "q": "varchar(300)", "r": "text", "s": "binary(4)",
    "u": "varbinary(20)", "v": "blob", "w": "enum('x','yy','z')", "x": "set('p','q','r')",
    "y": "bit(10)", "z": "varchar(10) character set latin1", "js": "json",
    "made": "int as (id + 1) virtual", "kept": "int as (id + 2) stored",
}  # fmt: skip
VALUES = {
    "a": ["-128", "127"], "b": ["0", "65535"], "c": ["-8388608", "8388607", "-1"],
    "d": ["4294967295"], "e": ["18446744073709551615", "0"], "f": ["0.1", "-3.4e38", "1e-30"],
    "g": ["0.1", "1.7976931348623157e308", "-0.0"], "h": ["-123.45", "999999999999999.99999", "0"],
    "i": ["-1234567890123456789012345678901234567.5", "0.001"],
    "j": ["0.123456789", "-0.000000001"], "k": ["'0001-01-01'", "'9999-12-31'"],
    "l": ["'1970-01-01 00:00:01.001'", "'2038-01-19 03:14:07'"],
    "m": ["'9999-12-31 23:59:59.999999'", "'0001-01-01 00:00:00'"],
    "n": ["'-838:59:59'", "'100:00:00.5'", "'-00:00:00.1'", "'09:08:07'"],
    "o": ["1901", "2155", "0"],
    "p": ["'ab c '", "''"], "q": ["'\\U0001F600 \"\\\\ \\n\\t''x'", "'" + "\u00e4" * 299 + "'"],
    "r": ["REPEAT('long ', 20000)", "''"], "s": ["x'01'", "x'00000000'"], "u": ["x'ff00'", "x''"],
    "v": ["REPEAT(x'00ff', 300)"], "w": ["'yy'", "''"], "x": ["'p,r'", "''"], "y": ["1023", "0"],
    "z": ["'\u00e9\u20ac'"], "js": ["'{\"a\": [1, 2.50]}'"],
}  # fmt: skip


@pytest.fixture
def source(socket: Path, tmp_path: Path) -> Iterator[Followed]:
    """Make a database with a table."""
    source = Followed(socket, f"followed{next(_numbers)}", tmp_path)
    source.run("CREATE TABLE t (id INT PRIMARY KEY, n INT, s TEXT)")
    source.run("INSERT INTO t VALUES (1, 10, 'one'), (2, NULL, NULL)")
    yield source
    source.close()


def test_a_value_of_the_log_is_the_value_of_a_copy(
    source: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For every type, its limits, and null: what the server prints is what its log's bytes mean."""
    monkeypatch.setattr(table_copy, "_PIECE_ROWS", 7)
    chance = random.Random(3)
    columns = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
    source.run("DROP TABLE t", f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    given = {name: [value.replace("\\U0001F600", "\U0001f600") for value in values]
             for name, values in VALUES.items()}  # fmt: skip
    for number in range(40):
        values = [chance.choice([*given[name], "NULL"]) for name in given]
        values = values if number else [given[name][0] for name in given]
        source.run(f"INSERT INTO t (id, {', '.join(given)}) VALUES ({number}, {', '.join(values)})")
    source.mirror()
    copied = source.rows()
    source.run("UPDATE t SET id = id + 1000")
    report = source.mirror()
    logged = source.rows()

    assert report.events == 40
    assert source.quarantine() == []
    derived = {"id": 1000, "made": 1000, "kept": 1000}
    for before, after in zip(copied, logged, strict=True):
        assert {name: value + derived.get(name, 0) if name in derived else value
                for name, value in before.items()} == after  # fmt: skip
    first = logged[0]
    assert first["e"] == 2**64 - 1
    assert (first["n"], first["s"], first["u"]) == ("-838:59:59.0", b"\x01\0\0\0", b"\xff\x00")
    assert (first["z"], first["x"], first["y"]) == ("\u00e9\u20ac", "p,r", 1023)
    assert first["q"] == "\U0001f600 \"\\ \n\t'x"
    assert str(first["l"]) == "1970-01-01 00:00:01.001000+00:00"


def test_changes_of_the_log_follow_the_copy(source: Followed) -> None:
    """Keys that move, many rows of a transaction, savepoints, other tables, files of the log."""
    source.mirror()
    source.check()
    source.run(
        "CREATE TABLE other (id INT PRIMARY KEY)",
        "BEGIN",
        "INSERT INTO t SELECT seq, seq, REPEAT('x', seq % 50) FROM seq_10_to_3000",
        "INSERT INTO other VALUES (1)",
        "SAVEPOINT `a b`",
        "DELETE FROM t WHERE id > 100",
        "ROLLBACK TO `a b`",
        "UPDATE t SET id = -id, n = n + 1 WHERE id BETWEEN 50 AND 60",
        "COMMIT",
        "FLUSH BINARY LOGS",
        "BEGIN", "UPDATE t SET s = 'gone'", "ROLLBACK",
        "DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (1, 1, 'again')",
        "UPDATE t SET id = 7000 WHERE id = 2",
    )  # fmt: skip
    first = source.mirror()
    source.check()
    source.run("TRUNCATE TABLE t", "INSERT INTO t VALUES (5, 5, 'five')", "FLUSH BINARY LOGS")
    second = source.mirror()
    source.check()

    # 2,991 inserted, 11 moved, one deleted and inserted again, one moved.
    assert (first.events, second.events) == (2_991 + 11 + 3, 2)
    assert source.mirror().events == 0
    assert source.quarantine() == []


def test_savepoints_of_a_transaction_that_also_wrote_what_cannot_be_taken_back(
    source: Followed,
) -> None:
    """Only then the log has the rows, and that they were taken back, in the words of the user."""
    source.run("CREATE TABLE kept (id INT) ENGINE=MyISAM")
    source.mirror()
    for key, back in enumerate(["ROLLBACK TO Half", "ROLLBACK TO half", "ROLLBACK WORK TO HALF",
                                "/* a */ ROLLBACK TO SAVEPOINT `half` /* b */"]):  # fmt: skip
        source.run(
            "BEGIN", f"INSERT INTO t (id) VALUES ({key}0 + 100)", "SAVEPOINT Half",
            f"INSERT INTO t (id) VALUES ({key}1 + 100)", "INSERT INTO kept VALUES (1)", back,
            f"INSERT INTO t (id) VALUES ({key}2 + 100)", "COMMIT",
        )  # fmt: skip
    source.mirror()
    source.check()

    assert len(source.rows()) == 2 + 8


def test_statements_of_a_row_each_are_followed(source: Followed) -> None:
    """What the log repeats of the tables is taken in once; what is another table by then is not."""
    source.tables = ("t", "u")
    source.run("CREATE TABLE u (id INT PRIMARY KEY, d DECIMAL(6,2))")
    source.mirror()
    between = ["FLUSH TABLES", "ALTER TABLE t ADD COLUMN a INT", "FLUSH BINARY LOGS",
               "ALTER TABLE u DROP COLUMN d, ADD COLUMN e INT", "TRUNCATE TABLE u"]  # fmt: skip
    for number, statement in enumerate([*between, "FLUSH TABLES"]):
        for key in range(20 * number + 10, 20 * number + 30):
            source.run(f"INSERT INTO t (id, n) VALUES ({key}, {key})",
                       f"REPLACE INTO u (id) VALUES ({key})")  # fmt: skip
        source.run(statement)
    source.mirror()
    source.check()

    assert len(source.rows("t")) == 122
    assert len(source.rows("u")) == 20
    assert source.quarantine() == []


STEPS = [
    ("ALTER TABLE t ADD COLUMN plain VARCHAR(9), ADD INDEX (n)", 0),
    ("ALTER TABLE t RENAME COLUMN plain TO said", 0),
    ("ALTER TABLE t ADD COLUMN counted INT NOT NULL DEFAULT 7", 1),
    ("ALTER TABLE t MODIFY counted BIGINT", 1),
    ("ALTER TABLE t CHANGE counted n2 BIGINT, DROP COLUMN n", 1),
    ("ALTER TABLE t MODIFY said INT", 1),
    ("ALTER TABLE t RENAME COLUMN said TO n", 0),
    ("CREATE TABLE u LIKE t", 0),
    ("INSERT INTO u (id, n) VALUES (1000, 1)", 0),
    ("RENAME TABLE t TO old, u TO t", 1),
    ("DROP TABLE t", 0),
    ("CREATE TABLE t (other INT, id INT PRIMARY KEY)", 1),
]


@pytest.mark.parametrize("at_once", [True, False], ids=["in one batch", "batch by batch"])
def test_columns_that_change_while_the_mirror_follows(source: Followed, at_once: bool) -> None:
    """Added with and without default, renamed, widened, retyped, dropped; tables that take turns.

    What the log tells is not copied again.
    """
    source.mirror()
    for number, (step, copies) in enumerate(STEPS):
        source.run(step)
        if step.startswith("DROP"):
            continue
        source.run(f"REPLACE INTO t (id) VALUES ({number + 10})", "DELETE FROM t WHERE id = 2")
        if not at_once:
            before = len(_snapshots(source))
            source.mirror()
            source.check()
            made = len(_snapshots(source)) - before
            assert (made > 1) == bool(copies), step
    source.mirror()
    source.check()
    assert source.quarantine() == []


def test_a_copy_in_a_later_file_of_the_log_is_gone_on_from(source: Followed) -> None:
    """The server tells its files by when they were begun, in seconds."""
    source.run("INSERT INTO t (id) VALUES (20)")
    source.mirror()
    source.run("INSERT INTO t (id) VALUES (21)")
    source.mirror()
    time.sleep(1.1)
    source.run("FLUSH BINARY LOGS", "ALTER TABLE t ADD COLUMN counted INT NOT NULL DEFAULT 7")
    source.run("INSERT INTO t (id) VALUES (22)")
    source.mirror()
    source.run("INSERT INTO t (id) VALUES (23)")
    source.mirror()
    source.check()


def test_a_table_whose_log_was_purged_while_it_was_left_out_is_copied(source: Followed) -> None:
    """It goes on from its copy: where it was the log has nothing any more."""
    source.run("CREATE TABLE u (id INT PRIMARY KEY, n INT)", "INSERT INTO u VALUES (1, 1), (2, 2)")
    source.tables = ("t", "u")
    source.mirror()
    source.run("INSERT INTO u VALUES (3, 3)")
    source.mirror()
    source.tables = ("t",)
    source.run("DELETE FROM u WHERE id = 1", "FLUSH BINARY LOGS", "INSERT INTO t (id) VALUES (3)")
    source.mirror()
    last = source.query("SHOW MASTER STATUS")[0][0]
    source.run(f"PURGE BINARY LOGS TO '{last}'", "INSERT INTO t (id) VALUES (4)")
    source.tables = ("t", "u")
    source.mirror()
    source.check()
    source.run("INSERT INTO u VALUES (5, 5)", "DELETE FROM u WHERE id = 2")
    assert source.mirror().events == 2
    source.check()


def _snapshots(source: Followed) -> list[Any]:
    return list(arctic.read("m.t.snapshots", **source.place).read_all().to_pylist())


def test_what_a_table_cannot_hold_is_quarantined_once(source: Followed) -> None:
    """A date that is none stops neither its transaction nor what follows."""
    source.run("ALTER TABLE t ADD day DATE")
    source.mirror()
    source.run(
        "INSERT INTO t (id, day) VALUES (3, '2024-00-00'), (4, '2024-02-29')",
        "UPDATE t SET day = '0000-00-00' WHERE id = 4",
    )
    report = source.mirror()
    source.mirror()

    assert report.quarantined == 2
    assert [row["reason"] for row in sorted(source.quarantine(), key=lambda row: row["seq"])] == [
        "column day: 2024-00-00 is no exact date32[day]",
        "column day: 0000-00-00 is no exact date32[day]",
    ]
    assert all('"day":"0' in row["message"] or "2024-00" in row["message"]
               for row in source.quarantine())  # fmt: skip
    assert [str(row["day"]) for row in source.rows()] == ["None", "None", "2024-02-29"]


def test_what_could_not_be_followed_exactly_is_refused_with_the_remedy(source: Followed) -> None:
    """Before anything is made; a log that went away is begun anew."""
    for table, message in {
        "CREATE TABLE x (id INT)": "no primary key of whole columns; add one",
        "CREATE TABLE x (id INT PRIMARY KEY, g POINT)": "'g' is of type point, which is not",
        "CREATE TABLE x (id INT PRIMARY KEY) ENGINE=Aria": "a BASE TABLE of Aria; expected one of",
        "CREATE TABLE x (id INT PRIMARY KEY, s TEXT CHARACTER SET ucs2)": r"set ucs2 \(ucs2",
        "CREATE TABLE x (id INT PRIMARY KEY REFERENCES t (id) ON DELETE CASCADE)": "in silence",
    }.items():
        source.run(table)
        source.tables = ("x",)
        with pytest.raises(InvalidInputError, match=message):
            source.mirror()
        source.run("DROP TABLE x")
    with pytest.raises(NotFoundError, match=rf"{source.name}\.x of MySQL not found"):
        source.mirror()
    source.run("SET GLOBAL binlog_row_metadata = MINIMAL")
    with pytest.raises(InvalidInputError, match="binlog_row_metadata is 'MINIMAL'; mirrors need"):
        source.mirror()
    source.run("SET GLOBAL binlog_row_metadata = FULL")
    source.tables = ("t",)
    source.mirror()
    source.run("DELETE FROM t WHERE id = 1", "RESET MASTER", "INSERT INTO t VALUES (9, 9, 'new')")
    source.mirror()
    source.check()


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (
            ["XA START 'x'", "INSERT INTO t VALUES (9, 9, 'x')", "XA END 'x'", "XA PREPARE 'x'",
             "XA COMMIT 'x'"],
            "a prepared XA transaction",
        ),
        (
            ["SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10",
             "INSERT INTO t VALUES (9, 9, REPEAT('x', 1000))", "SET GLOBAL log_bin_compress = OFF"],
            "an event of kind 16",
        ),
        (
            ["SET SESSION binlog_row_image = MINIMAL", "UPDATE t SET s = 'x' WHERE id = 1"],
            "does not hold whole rows",
        ),
        (
            ["SET GLOBAL binlog_row_metadata = MINIMAL", "INSERT INTO t VALUES (9, 9, 'x')",
             "SET GLOBAL binlog_row_metadata = FULL"],
            "the log does not name its columns",
        ),
    ],
    ids=["prepared", "compressed", "partial", "nameless"],
)  # fmt: skip
def test_a_log_that_hides_rows_stops_the_mirror(
    source: Followed, statements: list[str], message: str
) -> None:
    """Again and again: nothing that comes later is taken for all there is."""
    source.mirror()
    source.run(*statements, "INSERT INTO t VALUES (20, 20, 'after')")

    for _ in range(2):
        with pytest.raises((InvalidInputError, UnsupportedError), match=message):
            source.mirror()
    assert [row["id"] for row in source.rows()] == [1, 2]


def test_rows_of_a_statement_are_copied(source: Followed) -> None:
    """Where a session logs statements, the table is copied anew."""
    source.mirror()
    source.run(
        "SET SESSION binlog_format = STATEMENT",
        "INSERT INTO t VALUES (3, 3, 'three'), (4, 4, 'four')",
        "DELETE FROM t WHERE id = 1",
    )
    source.mirror()
    source.check()


def test_the_command_line_mirrors_too(source: Followed, capsys: pytest.CaptureFixture[str]) -> None:
    """Once, into another name."""
    given = ["cdc", "mysql", "--dsn", source.dsn, "--into", "m", "--slot", "cli", "--once",
             "--warehouse", str(source.warehouse), "--tables", "t:copy_of_t"]  # fmt: skip
    for batches in (0, 1):
        with pytest.raises(SystemExit) as left:
            main(given)
        printed = capsys.readouterr().out
        assert left.value.code == 0
        assert f"in {batches} batches, 0 quarantined; mirrored up to " in printed
        source.run(f"INSERT INTO t (id) VALUES ({9 + batches})")
    assert [row["id"] for row in source.rows("copy_of_t")] == [1, 2, 9]


def test_a_mirror_tells_how_far_the_time_of_the_source_has_come(source: Followed) -> None:
    """Never more than it holds, and also where nothing changes."""
    source.run("DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY, committed BIGINT)")
    source.mirror(watermark=True)
    clock = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000 AS SIGNED)"
    for number in range(20):
        source.run(f"INSERT INTO t VALUES ({number}, {clock})")
    times = {row[0]: row[1] for row in source.query("SELECT id, committed FROM t")}
    source.max_changes = 3
    calls, told = 0, []

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls > 2

    while True:
        calls = 0
        source.mirror(watermark=True, stop=stop)
        there = {row["id"] for row in source.rows()}
        (ms,) = arctic.watermarks("m.t", **source.place).values()
        told.append(ms)
        assert {number for number, committed in times.items() if committed < ms} <= there
        if there == times.keys():
            break
    assert len(told) > 2
    assert told == sorted(told)
    source.mirror(watermark=True)
    ((name, last),) = arctic.watermarks("m.t", **source.place).items()
    assert name == f"cdc.{source.name}"
    assert last > max(times.values())
    assert arctic.ready("m.t", until=str(max(times.values())), **source.place)

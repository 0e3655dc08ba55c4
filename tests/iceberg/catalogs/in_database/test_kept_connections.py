"""Connections that stay for a moment: they tell what a new one would tell, and leave no trace."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from arctic.iceberg.catalogs.in_database.quick_loads import KeptConnections

_ASK = "select text from notes where number = ?"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file in WAL mode with one row."""
    return made(tmp_path / "notes.db", "first")


@pytest.fixture
def kept() -> Iterator[KeptConnections]:
    """Connections that nobody lets go of during a test."""
    connections = KeptConnections(idle_seconds=60)
    yield connections
    connections.close()


def made(database: Path, text: str) -> Path:
    """Make a file with this row, and nothing beside it."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table notes (number integer, text text)")
        connection.execute("insert into notes values (1, ?)", (text,))
        connection.commit()
    return database


def write(database: Path, text: str) -> None:
    """Change the row through a connection of its own."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("update notes set text = ?", (text,))
        connection.commit()


def log_of(database: Path) -> Path:
    """Return where the log of a file lies."""
    return Path(f"{database}-wal")


def test_each_answer_is_the_newest_and_the_log_stays_meanwhile(
    kept: KeptConnections, database: Path
) -> None:
    """Whoever commits finds a log, and does not delete it."""
    for text in ("second", "third"):
        assert kept.ask(database, _ASK, ["1"]) != [(text,)]
        write(database, text)
        assert kept.ask(database, _ASK, ["1"]) == [(text,)]
        assert log_of(database).exists()
    assert kept.ask(database, _ASK, ["2"]) == []

    kept.close()
    assert not log_of(database).exists()


def test_a_connection_is_let_go_soon_after_the_last_question(database: Path) -> None:
    """Then the file alone holds everything, and nobody waits for another question."""
    kept = KeptConnections(idle_seconds=0.02)
    before = threading.active_count()
    for _ in range(2):
        kept.ask(database, _ASK, ["1"])
        write(database, "second")
        deadline = time.monotonic() + 10
        while log_of(database).exists() or threading.active_count() > before:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    assert b"second" in database.read_bytes()


def test_nobody_waits_for_it(kept: KeptConnections, database: Path) -> None:
    """It holds no lock between two questions, and changes nothing itself."""
    kept.ask(database, _ASK, ["1"])
    with closing(sqlite3.connect(database, timeout=0)) as connection:
        connection.execute("begin exclusive")
        connection.rollback()

    assert kept.ask(database, "update notes set text = 'x' where number = ?", ["1"]) is None
    assert kept.ask(database, _ASK, ["1"]) == [("first",)]


def test_a_file_in_the_place_of_another_is_asked(kept: KeptConnections, database: Path) -> None:
    """One that was moved there, and one that was copied over it."""
    kept.ask(database, _ASK, ["1"])
    other = made(database.with_name("other.db"), "moved")
    other.replace(database)
    assert kept.ask(database, _ASK, ["1"]) == [("moved",)]

    other = made(database.with_name("other.db"), "copied")
    kept.close()
    kept.ask(database, _ASK, ["1"])
    time.sleep(0.01)  # the time of a file is told in ticks
    shutil.copyfile(other, database)
    assert kept.ask(database, _ASK, ["1"]) == [("copied",)]


def test_a_missing_or_damaged_file_is_no_answer(kept: KeptConnections, database: Path) -> None:
    """Nor is one made."""
    missing = database.with_name("missing.db")
    assert kept.ask(missing, _ASK, ["1"]) is None
    assert not missing.exists()

    assert kept.ask(database, "select nothing from nowhere", []) is None
    kept.close()
    database.write_bytes(b"no database" * 1_000)
    assert kept.ask(database, _ASK, ["1"]) is None


_WRITE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("update notes set text = 'theirs'")
connection.commit()
connection.close()
"""


def test_a_log_that_another_process_took_away_is_noticed(
    kept: KeptConnections, database: Path
) -> None:
    """To close any handle of a file drops the locks that a process has on it."""
    kept.ask(database, _ASK, ["1"])
    database.read_bytes()
    subprocess.run([sys.executable, "-c", _WRITE, str(database)], check=True)
    assert not log_of(database).exists()

    assert kept.ask(database, _ASK, ["1"]) == [("theirs",)]


def test_a_process_that_forks_has_none_open(kept: KeptConnections, database: Path) -> None:
    """Else its child would take its locks for its own, and lose what it writes."""
    kept.ask(database, _ASK, ["1"])
    child = os.fork()
    if child == 0:
        try:
            assert not log_of(database).exists()
            write(database, "of the child")
            assert kept.ask(database, _ASK, ["1"]) == [("of the child",)]
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    assert kept.ask(database, _ASK, ["1"]) == [("of the child",)]

"""A mirror of MariaDB that dies at every step of a batch, and one that is killed."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import arctic
from tests.dying_writer import DiedError, DyingWriter
from tests.mariadb.followed import Followed

_numbers = itertools.count()


@pytest.fixture
def source(socket: Path, tmp_path: Path) -> Iterator[Followed]:
    """Make a database with two tables."""
    source = Followed(
        socket, f"crashed{next(_numbers)}", tmp_path, tables=("a", "b"), max_changes=6
    )
    for table in source.tables:
        source.run(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT, day DATE)",
            f"INSERT INTO {table} (id, n) VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)",
        )
    yield source
    source.close()


def work(source: Followed) -> None:
    """Change both tables in shared transactions; one value is good for the quarantine only."""
    for number in range(4):
        source.run(
            "BEGIN",
            f"INSERT INTO a (id, n) VALUES ({number + 10}, 0)",
            "UPDATE b SET n = n + 1",
            f"UPDATE a SET id = id + 100 WHERE id = {number + 1}",
            "COMMIT",
        )
    source.run("FLUSH BINARY LOGS", "TRUNCATE b", "INSERT INTO b (id, n) VALUES (60, 1)")
    source.run("INSERT INTO b VALUES (50, 0, '2024-00-00')", "DELETE FROM b WHERE id = 50")
    source.run("ALTER TABLE a ADD COLUMN more INT DEFAULT 3", "DELETE FROM a WHERE id = 10")


@pytest.mark.parametrize("before", [True, False], ids=["before a commit", "after a commit"])
def test_dying_around_every_commit_loses_and_doubles_nothing(
    source: Followed, before: bool
) -> None:
    """First copies, shares of batches, quarantine and later copies included."""
    dying, worked = DyingWriter(before=before), False
    for allowed in itertools.chain(range(4), range(100)):
        dying.left = allowed
        try:
            source.mirror(write=dying)
        except DiedError:
            continue
        if worked:
            break
        work(source)
        worked = True
    assert dying.commits > 8
    source.check()
    assert [len(source.rows(table)) for table in ("a", "b")] == [8, 1]
    assert {row["more"] for row in source.rows("a")} == {3}
    (broken,) = source.quarantine()
    assert "2024-00-00" in broken["reason"]


MIRROR = """
import sys
from arctic import mirror_mysql

dsn, slot, warehouse = sys.argv[1:]
mirror_mysql(
    dsn, ["a", "b"], into="m", slot=slot, max_changes=200, interval_seconds=0.02,
    warehouse=warehouse,
)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_again_and_again_loses_and_doubles_nothing(
    source: Followed,
) -> None:
    """Beside transactions that never pause, files of the log that end and are purged, optimize."""
    number = itertools.count(1000)
    for kill in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", MIRROR, source.dsn, source.name, str(source.warehouse)],
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 3 + kill / 3
        while time.monotonic() < until:
            each = next(number)
            source.run(
                "BEGIN",
                f"INSERT INTO a (id, n) VALUES ({each}, {each}), ({-each}, 0)",
                f"UPDATE b SET n = {each}, id = id + 1 ORDER BY id DESC",
                f"DELETE FROM a WHERE id = {each - 50}",
                "COMMIT",
            )
            time.sleep(0.02)
            if not each % 60:
                source.run("FLUSH BINARY LOGS")
        assert process.poll() is None, process.communicate()[1]
        process.send_signal(signal.SIGKILL)
        process.communicate()
    source.max_changes = 10_000
    place = source.mirror().place
    source.check()
    # A file that every table is beyond can go.
    prefix = str(source.query("SHOW MASTER STATUS")[0][0]).rpartition(".")[0]
    source.run("FLUSH BINARY LOGS")
    source.mirror()
    source.run(f"PURGE BINARY LOGS TO '{prefix}.{(place >> 32) + 1:06d}'")
    source.run("DELETE FROM a WHERE id < 0")
    report = source.mirror()
    assert report.events > 50
    source.check()
    arctic.open_table("m.a", warehouse=str(source.warehouse)).optimize(type="full")
    source.check()
    assert source.quarantine() == []

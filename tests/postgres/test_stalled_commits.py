"""Commits that wait for a synchronous standby: the log has them, and no query sees them yet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from arctic.postgres.connect import connect
from arctic.postgres.slot import are_shown
from arctic.retry import RetryPolicy
from tests.postgres.source import Source

_PATIENCE = RetryPolicy(retries=100, min_wait_ms=100, max_wait_ms=100)


@dataclass
class Stalled:
    """A server whose commits wait, but for those of one connection."""

    source: Source

    def run(self, *statements: str) -> None:
        """Run statements, each in a transaction, until one waits."""

        def write(statement: str) -> None:
            with psycopg.connect(self.source.dsn, autocommit=True) as connection:
                connection.execute(statement)

        for statement in statements:
            writer = threading.Thread(target=write, args=[statement])
            writer.start()
            for _ in _PATIENCE.tries():
                if self.waiting():
                    return
                if not writer.is_alive():
                    break
        raise AssertionError("no commit waits")

    def waiting(self) -> list[int]:
        """Return the processes that wait."""
        query = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        return [pid for (pid,) in self.source.connection.execute(query)]

    def release(self) -> None:
        """Let those that wait be done."""
        for _ in _PATIENCE.tries():
            waiting = self.waiting()
            if not waiting:
                return
            for pid in waiting:
                self.source.run(f"SELECT pg_cancel_backend({pid})")


@pytest.fixture
def stalled(dsn: str, tmp_path: Path) -> Iterator[Stalled]:
    """Make a database with a mirrored table, and let commits wait for a standby that is gone."""
    source = Source(dsn, tmp_path)
    source.run(
        "CREATE TABLE t (id int PRIMARY KEY, s text)",
        "ALTER TABLE t REPLICA IDENTITY FULL",
        "INSERT INTO t VALUES (1, 'old'), (2, 'goes')",
    )
    source.mirror()
    source.run(
        "SET synchronous_commit = local",
        "ALTER SYSTEM SET synchronous_standby_names = 'gone'",
        "SELECT pg_reload_conf()",
    )
    stalled = Stalled(source)
    yield stalled
    source.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
    stalled.release()
    source.close()


def test_a_copy_undoes_nothing_that_the_log_shows_first(
    stalled: Stalled, caplog: pytest.LogCaptureFixture
) -> None:
    """What waits is followed once queries see it, so that a copy has it too."""
    source = stalled.source
    source.run("ALTER TABLE t RENAME TO away", "ALTER TABLE away RENAME TO t")
    stalled.run(*(f"UPDATE t SET s = 'new {number}' WHERE id = 2" for number in range(50)))
    source.run("INSERT INTO t VALUES (3, 'after it')")
    rounds = 0

    def stop() -> bool:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            stalled.release()
        return False

    source.mirror(stop=stop)
    stalled.release()
    source.check()
    assert rounds == 3
    assert "commits still wait" in caplog.text
    source.run("DELETE FROM t WHERE id = 1")
    assert source.mirror().events == 1
    source.check()


def test_a_transaction_is_shown_once_it_has_ended(stalled: Stalled) -> None:
    """Its id is known by its last 32 bits."""
    source = stalled.source
    stalled.source.run("BEGIN")
    (number,) = source.connection.execute("SELECT txid_current()").fetchone()
    with connect(source.dsn) as connection:
        assert are_shown(connection, [])
        assert are_shown(connection, [number % 2**32 - 1])
        assert not are_shown(connection, [number % 2**32 - 1, number % 2**32])
        source.run("COMMIT")
        assert are_shown(connection, [number % 2**32])

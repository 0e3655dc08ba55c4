"""A mirror that dies at every step of a batch, and one that is killed at random."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import arctic
from arctic.job.mirror import mirror_session
from arctic.job.mirror.sources import postgres_source
from tests.dying_writer import DiedError, DyingWriter
from tests.postgres.source import Source
from tests.postgres.tpcc import Shop

KILLS = 5


@pytest.fixture
def source(dsn: str, tmp_path: Path) -> Iterator[Source]:
    """Make a database with two mirrored tables."""
    source = Source(dsn, tmp_path, tables=("a", "b"), max_changes=12)
    for table in source.tables:
        source.run(
            f"CREATE TABLE {table} (id int PRIMARY KEY, n int, at timestamp)",
            f"ALTER TABLE {table} REPLICA IDENTITY FULL",
            f"INSERT INTO {table} SELECT i, i FROM generate_series(1, 5) i",
        )
    yield source
    source.close()


def work(source: Source) -> None:
    """Change both tables in shared transactions; one value is good for the quarantine only."""
    for number in range(4):
        source.run(
            f"BEGIN; INSERT INTO a VALUES ({number + 10}, 0); UPDATE b SET n = n + 1; "
            f"UPDATE a SET id = id + 100 WHERE id = {number + 1}; COMMIT"
        )
    source.run("TRUNCATE b", "INSERT INTO b VALUES (60, 1)")
    source.run("INSERT INTO b VALUES (50, 0, 'infinity')", "DELETE FROM b WHERE id = 50")
    source.run("ALTER TABLE a ADD COLUMN more int DEFAULT 3", "DELETE FROM a WHERE id = 10")


@pytest.mark.parametrize("before", [True, False], ids=["before a commit", "after a commit"])
def test_dying_around_every_commit_loses_and_doubles_nothing(source: Source, before: bool) -> None:
    """The first copy, shares of batches, quarantine and later copies included."""
    dying = DyingWriter(before=before)
    for allowed in range(100):
        dying.left = allowed
        try:
            source.mirror(write=dying)
        except DiedError:
            if allowed == 1:
                work(source)
            continue
        break
    assert dying.commits > 8
    for table, count in (("a", 8), ("b", 1)):
        assert len(source.rows(table)) == count
    assert {row["more"] for row in source.rows("a")} == {3}
    source.check()
    (broken,) = source.quarantine()
    assert "infinity" in broken["reason"]


@pytest.mark.parametrize(
    ("module", "step"),
    [
        (postgres_source, "advance"),
        (mirror_session, "write_quarantine"),
        (postgres_source, "wal2json_events"),
        (postgres_source, "log_end"),
    ],
)
def test_dying_beside_the_commits_loses_and_doubles_nothing(
    source: Source, module: ModuleType, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after each of the steps between them, the first five times."""
    source.mirror()
    work(source)
    real = getattr(module, step)
    for call in range(1, 6):
        done = 0

        def dying(*args: Any, _call: int = call, **kwargs: Any) -> Any:
            nonlocal done
            result = real(*args, **kwargs)
            done += 1
            if done == _call:
                raise DiedError
            return result

        monkeypatch.setattr(module, step, dying)
        with suppress(DiedError):
            source.mirror()
        monkeypatch.setattr(module, step, real)
        source.run(f"INSERT INTO a VALUES ({call + 1000}, 0)")
    source.mirror()
    source.check()
    assert len(source.quarantine()) == 1


MIRROR = """
import sys
from arctic import mirror_postgres

dsn, warehouse, *tables = sys.argv[1:]
print("up", flush=True)
mirror_postgres(
    dsn, tables, into="m", slot="mirror", max_changes=150, interval_seconds=0.05,
    partition_by={"customer": ["c_region"]}, warehouse=warehouse,
)
"""


@pytest.mark.slow
def test_a_shop_at_work_is_mirrored_by_a_process_that_is_killed_again_and_again(
    dsn: str, tmp_path: Path
) -> None:
    """TPC-C's transactions, keys and partitions that move, columns that change: all is equal."""
    chance = random.Random(20)
    with ExitStack() as stack:
        shop = stack.enter_context(Shop(dsn, seed=7))
        shop.load()
        tables = [f"{t}:payments" if t == "history" else t for t in shop.tables]
        source = Source(dsn, tmp_path / "lake", tables=tables)
        stack.callback(source.close)
        errors = stack.enter_context((tmp_path / "errors").open("w"))
        places = set()
        for kill in range(KILLS):
            process = subprocess.Popen(
                [sys.executable, "-c", MIRROR, dsn, str(tmp_path / "lake"), *tables],
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=tmp_path,
            )
            assert process.stdout is not None
            process.stdout.readline()
            before = shop.confirmed()
            # Every other one dies in its beginning; the others when they have done something.
            while kill % 2 == 0 and shop.confirmed() == before:
                shop.work(3)
                assert process.poll() is None, (tmp_path / "errors").read_text()
            deadline = time.monotonic() + chance.uniform(0, 3)
            while time.monotonic() < deadline:
                shop.work(3)
                assert process.poll() is None, (tmp_path / "errors").read_text()
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
            places.add(shop.confirmed())
            shop.alter(kill)
            shop.work(10)
        assert len(places) > KILLS // 2
        source.mirror()
        source.check()
        assert source.quarantine() == []
        shop.work(30)
        source.max_changes = 60
        source.mirror()
        source.check()
        for table in tables:
            name = table.rpartition(":")[2]
            arctic.open_table(f"m.{name}", warehouse=str(source.warehouse)).optimize(type="full")
        source.check()

"""A short soak, and that a soak would see what it looks for."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from soak import service_run, services
from soak.backlog import backlog_of, excess, growth
from soak.model import SCHEMA, Replay, by_writer, divided, kept_rows, operation
from soak.report import family
from soak.run import Soak
from soak.service_run import ServiceSoak
from soak.services import Havoc, ServiceProcess

SEED, TABLE, WRITER = 5, "soak.moving", "writer-1"
SERVING = json.dumps({"event": "serving"})
SECONDS = 2.0
SERVE_SECONDS = 15.0
"""In which a service begins, is killed and begins again."""


@pytest.mark.slow
def test_many_processes_lose_nothing_and_leave_nothing(tmp_path: Path) -> None:
    """The tables equal the oracle, readers saw whole operations, nothing failed, no orphans."""
    said: list[str] = []
    soak = Soak(tmp_path, seed=SEED, spark=False, say=said.append)

    outcome = soak.run(SECONDS)

    assert outcome.failures == []
    assert outcome.orphans == 0
    assert outcome.rows > 0
    assert any("writer-1" in line for line in said)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the system tells of no children")
def test_services_that_are_killed_lose_nothing_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables equal the oracle, nothing is due for long afterwards, nothing failed."""
    monkeypatch.setattr(service_run, "_STRIKE_SECONDS", 6.0)
    monkeypatch.setattr(services, "_EXECUTORS", 0.0)
    said: list[str] = []
    soak = ServiceSoak(tmp_path, seed=SEED, tables=2, streams=0, say=said.append)

    outcome = soak.run(SERVE_SECONDS)

    assert outcome.failures == []
    assert outcome.orphans == 0
    assert outcome.rows > 0
    assert any(line.startswith("killed: {'services': ") for line in said)
    assert any("optimized" in line for line in said if line.startswith("service-"))
    assert any("times, at work after" in line for line in said)


def test_what_an_operation_leaves_is_accepted_and_nothing_else() -> None:
    """Neither half of one, nor a row that is older than what was seen before."""
    count = 40
    states = [
        dict(Replay(seed=SEED, table=TABLE, writer=WRITER).to(number)) for number in range(count)
    ]
    replay = Replay(seed=SEED, table=TABLE, writer=WRITER)
    assert all(replay.accepts(state) for state in states)

    newest = states[-1]
    half = dict(list(newest.items())[1:])
    assert not Replay(seed=SEED, table=TABLE, writer=WRITER).accepts(half)
    assert not replay.accepts(states[3])


def test_an_upsert_whose_rows_were_deleted_after_it_is_not_missed() -> None:
    """Nothing of operation 32 is left after 33: what is seen bears no number beyond 31."""
    of_whom: dict[str, Any] = {"seed": 1, "table": "soak.t22", "writer": "writer-2"}
    after = dict(Replay(**of_whom).to(34))
    assert max(row[2] for row in after.values()) == 31
    replay = Replay(**of_whom)

    assert replay.accepts(after)
    assert not replay.accepts(dict(Replay(**of_whom).to(33)))


def test_rows_that_nobody_changes_are_told_from_those_of_writers() -> None:
    """Whatever order they are read in; one that is lost or changed is seen."""
    kept, written = kept_rows(SEED, 5), operation(SEED, TABLE, WRITER, 0).data()

    changed, unchanged = divided(pa.concat_tables([kept[3:], written, kept[:3]]))

    assert changed.equals(written)
    assert unchanged.equals(kept)
    assert not divided(kept[1:])[1].equals(kept)
    assert not kept_rows(SEED + 1, 5).equals(kept)


def test_a_key_that_is_there_twice_is_seen() -> None:
    """Whatever partitions its rows are in."""
    row = operation(SEED, TABLE, WRITER, 0).rows[0]
    with pytest.raises(AssertionError, match="is there twice"):
        by_writer([row, (row[0], "elsewhere", 0, "")])


@pytest.fixture
def idle() -> Iterator[ServiceProcess]:
    """A service that does nothing, with an executor that does nothing either."""
    # A shell that waits for what it began: killed, it leaves that behind.
    made = ServiceProcess("service-1", ["sh", "-c", f"echo '{SERVING}'; sleep 60; true"])
    yield made
    for process in made.kill():
        os.kill(process, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells of no children")
def test_a_service_is_killed_and_begun_again(
    idle: ServiceProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And an executor that outlives its service is seen."""
    monkeypatch.setattr(services, "_OUTLIVE_SECONDS", -1.0)
    havoc = Havoc([idle], seed=SEED, every_seconds=3_600.0)
    while not idle.executors():
        pass
    first, executor = idle.pid, idle.executors()[0]

    havoc.strike(idle, executor=None)
    assert idle.pid is None
    havoc.tick()
    havoc.end()

    assert havoc.failures == [f"executor {executor} outlived its service"]
    assert havoc.killed == {"services": 1}
    assert idle.pid not in (None, first)


def test_a_service_that_ends_by_itself_or_fails_is_seen() -> None:
    """What it says that it tries again is none of its failures."""
    said = [
        {"event": "failed", "table": "a.b", "what": "optimizing", "why": "ConflictError: lost"},
        {"event": "failed", "table": "a.b", "what": "looking", "why": "FormatError: torn"},
    ]
    lines = "; ".join(f"echo '{json.dumps(each)}'" for each in said)
    service = ServiceProcess("service-1", ["sh", "-c", f"{lines}; echo Traceback; exit 3"])
    while service.ended_by_itself() is None or not service.noise:
        pass

    assert service.ended_by_itself() == "service-1 ended with exit code 3"
    assert service.end() == "service-1 ended with exit code 3 after 0 s"
    assert dict(service.failures) == {"a.b looking: FormatError: torn": 1}
    assert service.noise == ["Traceback"]


def test_a_backlog_that_grows_is_seen() -> None:
    """Not one that goes up and down."""
    assert growth([float(number) for number in range(80)]) is not None
    assert growth([0.0, 4.0, 9.0, 12.0, 10.0, 14.0, 11.0, 12.0]) is None
    assert excess([0.02] * 60 + [0.9] * 40) is None
    assert excess([0.02] * 40 + [0.2] * 60) is not None
    assert excess([0.2] * 60) is None


def test_a_backlog_counts_what_no_run_has_merged(tmp_path: Path) -> None:
    """Of all tables together."""
    place = str(tmp_path)
    for number, table in enumerate(("soak.a", "soak.b")):
        arctic.create_table(table, SCHEMA, primary_key="id", warehouse=place)
        rows = operation(SEED, TABLE, "stream", number).data()
        arctic.write(table, rows, mode="upsert", warehouse=place)
    before = backlog_of(["soak.a", "soak.b"], place)
    arctic.optimize("soak.a", type="full", warehouse=place)
    after = backlog_of(["soak.a", "soak.b"], place)

    assert (before.share, before.due) == (1.0, ())
    assert before.files > after.files == after.most_files > 0
    assert 0 < after.share < 1


def test_a_process_that_ends_while_its_family_is_counted_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As workers of Spark do, which come and go."""

    def gone(folder: Path, _: str) -> Iterator[Path]:
        raise FileNotFoundError(folder)

    monkeypatch.setattr(Path, "glob", gone)
    assert family(1) == [1]

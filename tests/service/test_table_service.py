"""A service on real tables: who is worked on, who is left alone, and what it survives."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchPropertyException,
)
from pyiceberg.table import Table

import arctic
from arctic.iceberg.catalogs.catalog import load_table, open_catalog
from arctic.iceberg.commits.lease import Lease, cleaned_ms, lease_of, take_lease
from arctic.job.publish.after_write import publish_all
from arctic.job.tasks.run_tasks import Task
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.views.refresh_job import refresh_view
from arctic.scan.read_summary import ReadSummary
from arctic.service import ending, heartbeat, table_work
from arctic.service.ending import Ending
from arctic.service.executors.task_place import ThreadPlace
from arctic.service.heartbeat import Heartbeat
from arctic.service.history.process_record import ProcessStatus
from arctic.service.table_work import Outcome
from arctic.service.watching.table_look import TableLook
from arctic.service.watching.told_reads import ToldRead
from arctic.service.watching.watch import Watch, Watched
from arctic.table.property_names import CLEANED_TIME
from tests.service.lake import HOUR_MS, SCHEMA, Lake

FRESH = [{"id": 1, "name": "new"}, {"id": 2, "name": "new"}]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """No tables yet; the clock says now, as commits do."""
    made = Lake(tmp_path, now_ms=time.time_ns() // 1_000_000)
    yield made
    made.close()


def test_what_is_due_is_done_in_every_table_and_rows_stay(lake: Lake) -> None:
    """The lease is given back, and the first cleaning only says what would go."""
    for name in ("db.a", "db.b", "etl.c"):
        lake.make(name)

    lake.service().run_once()

    assert lake.tables("optimized") == lake.tables("would clean") == ["db.a", "db.b", "etl.c"]
    assert not lake.tables("failed")
    assert not lake.tables("cleaned")
    for name in ("db.a", "db.b", "etl.c"):
        assert lake.rows(name) == FRESH
        opened = arctic.open_table(name, warehouse=lake.warehouse)
        assert lease_of(opened.properties) is None
        assert cleaned_ms(opened.properties) == lake.now_ms
        assert arctic.status(name, warehouse=lake.warehouse).due is None


def test_a_table_says_itself_what_a_service_does_with_it(lake: Lake) -> None:
    """Off, of another group, never cleaned."""
    lake.make("db.off", **{"self-optimizing.enabled": "false"})
    lake.make("db.etl", **{"self-optimizing.group": "etl"})
    lake.make("db.kept", **{"table-expire.enabled": "false"})

    lake.service().run_once()
    assert lake.tables("optimized") == ["db.kept"]
    assert lake.tables("would clean") == ["db.etl", "db.off"]

    lake.service(groups={"etl": 1}).run_once()
    assert lake.tables("optimized") == ["db.etl", "db.kept"]


def test_tables_that_ask_for_it_are_published(lake: Lake) -> None:
    """Once for each state; nobody else's are."""
    lake.make("db.shown", **{"self-publishing.enabled": "true"})
    lake.make("db.plain")

    lake.service().run_once()
    assert lake.tables("published") == ["db.shown"]
    read = load_table(open_catalog(lake.config), ("db", "shown_fresh"))
    assert read is not None
    assert sorted(read.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == FRESH

    lake.service().run_once()
    assert lake.tables("published") == ["db.shown"]
    assert not lake.tables("failed")


def test_views_that_ask_for_it_are_refreshed(lake: Lake) -> None:
    """The view of a view after it; once for each state, and nobody else's."""
    lake.make("db.t")
    every = {"self-refreshing.interval": "0"}
    for view, sql, asks in (
        ("db.z", "SELECT name, count(*) AS n FROM db.t GROUP BY name", every),
        ("db.a", "SELECT _group AS name, n FROM db.z", every),
        ("db.alone", "SELECT id FROM db.t", {}),
    ):
        arctic.materialize(sql, view, properties=asks, warehouse=lake.warehouse)
    rows = pa.table({"id": [3], "name": ["new"]}, schema=SCHEMA)
    arctic.write("db.t", rows, mode="upsert", warehouse=lake.warehouse)

    lake.service().run_once()
    assert [f["table"] for said, f in lake.said if said == "refreshed"] == ["db.z", "db.a"]
    shown = arctic.read("db.a", warehouse=lake.warehouse).read_all()
    assert shown["n"].to_pylist() == [3]
    assert lake.service().work.refresh("db.alone").outcome is Outcome.DONE

    lake.forget()
    lake.service().run_once()
    assert not lake.tables("refreshed")
    assert not lake.tables("failed")


def test_a_round_does_all_that_is_due_in_a_table_whatever_is_done_with_it_at_its_turn(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is published while the other is optimized, and nothing else is left then."""
    lake.make("db.a", **{"table-expire.enabled": "false"})
    lake.make("db.v", **{"table-expire.enabled": "false", "self-publishing.enabled": "true"})
    lake.now_ms = time.time_ns() // 1_000_000  # so that the first one is the one that waits longer
    service = lake.service(groups={"default": 1})

    def slow(*args: Any, **options: Any) -> Any:
        with lake.spoke:
            assert lake.spoke.wait_for(lambda: lake.tables("optimized") == ["db.a"], timeout=60)
        while "db.a" in service.busy_tables():
            time.sleep(0.01)
        return publish_all(*args, **options)

    monkeypatch.setattr(table_work, "publish_all", slow)
    service.run_once()

    assert lake.tables("optimized") == ["db.a", "db.v"]
    assert lake.tables("published") == ["db.v"]


def test_a_view_that_others_refreshed_at_the_same_time_is_tried_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may have read its sources as they were before; it is no failure."""
    lake.make("db.t", **{"self-optimizing.enabled": "false", "table-expire.enabled": "false"})
    every = {"self-refreshing.interval": "0", "self-optimizing.enabled": "false"}
    arctic.materialize("SELECT id FROM db.t", "db.v", properties=every, warehouse=lake.warehouse)
    rows = pa.table({"id": [3], "name": ["new"]}, schema=SCHEMA)
    arctic.write("db.t", rows, mode="upsert", warehouse=lake.warehouse)
    outrun = [True]

    def slower(*args: Any, **options: Any) -> Any:
        if outrun:
            outrun.clear()
            raise arctic.ConflictError("view 'db.v' was refreshed by others meanwhile")
        return refresh_view(*args, **options)

    monkeypatch.setattr(table_work, "refresh_view", slower)
    service = lake.service()
    service.run_once()
    assert not lake.tables("refreshed")

    service = lake.service()
    outrun.append(True)
    thread = threading.Thread(target=service.run)
    thread.start()
    while outrun or service.busy_tables():
        time.sleep(0.01)
    lake.now_ms += 60_000
    service.nudge("db.v")
    lake.wait_for("refreshed")
    service.stop()
    thread.join(60)

    assert not lake.tables("failed")
    assert arctic.read("db.v", warehouse=lake.warehouse).read_all().num_rows == 3


def test_poisoned_tables_stop_nobody(lake: Lake) -> None:
    """One whose metadata is gone, one with a bad property, one whose rows cannot be read."""
    for name in ("db.blank", "db.good", "db.lost", "db.torn"):
        lake.make(name)
    for store in ("db.torn_change_", "db.lost"):
        place = _metadata_of(lake, store)
        if store == "db.lost":
            place.unlink()
        else:
            for file in place.parent.parent.rglob("*.parquet"):
                file.write_bytes(b"PAR1")
    broken = lake.config
    _set_unchecked(broken, "db.blank", {"self-optimizing.quota": "much"})

    lake.service().run_once()

    assert lake.tables("optimized") == ["db.good"]
    assert {"db.blank", "db.lost", "db.torn"} <= set(lake.tables("failed"))
    assert lake.rows("db.good") == FRESH


def test_a_catalog_that_never_answers_does_not_keep_a_service_from_ending(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does what it answers after the end count any more."""
    lake.make("db.t")
    asked, answers = threading.Event(), threading.Event()

    class StuckWatch(Watch):
        def look(self) -> tuple[list[Watched], list[str]]:
            asked.set()
            assert answers.wait(60)
            return super().look()

    monkeypatch.setattr(ending, "END_SECONDS", 0.1)
    service = lake.service()
    service.watch = StuckWatch(
        config=lake.config, asked=service.work.asked, groups=frozenset(), threads=1, say=lake.say
    )
    running = threading.Thread(target=service.run)
    running.start()
    assert asked.wait(60)

    service.stop()
    running.join(30)

    assert not running.is_alive()
    answers.set()
    lake.wait_for("found")
    assert lake.tables("optimized") == []


def test_a_table_that_another_service_holds_is_left_alone_until_its_lease_expires(
    lake: Lake,
) -> None:
    """A service that died holds it no longer than that."""
    lake.make("db.t")
    held = Lease(owner="other", until_ms=lake.now_ms + HOUR_MS)
    take_lease(lake.config, "db.t", held, now_ms=lake.now_ms)

    lake.service().run_once()
    assert lake.tables("optimized") == []

    lake.now_ms += HOUR_MS
    lake.service().run_once()
    assert lake.tables("optimized") == ["db.t"]
    assert lake.rows("db.t") == FRESH


def test_a_lease_that_cannot_be_extended_keeps_no_other_from_it(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a library makes of it: without heartbeat, every lease and mark would expire."""
    for name in ("db.bad", "db.good"):
        lake.make(name)
    service = lake.service()
    service.runs.busy |= {"db.bad": "optimize", "db.good": "optimize"}
    for name in service.runs.busy:
        take_lease(lake.config, name, service.work._lease(), now_ms=lake.now_ms)
    lake.now_ms += HOUR_MS // 2
    load = SqlCatalog.load_table

    def refuse(self: SqlCatalog, identifier: tuple[str, ...]) -> Table:
        if identifier[-1] == "bad":
            raise KeyError("table_type")
        return load(self, identifier)

    with monkeypatch.context() as patched:
        patched.setattr(SqlCatalog, "load_table", refuse)
        patched.setattr(heartbeat, "_BEATS_A_LEASE", HOUR_MS)
        with Heartbeat(service.work, service.busy_tables, list, Ending()).beating():
            lake.wait_for("failed")
            found = lease_of(arctic.open_table("db.good", warehouse=lake.warehouse).properties)
            end = time.monotonic() + 60
            while found is None or found.until_ms < lake.now_ms + HOUR_MS:
                assert time.monotonic() < end
                opened = arctic.open_table("db.good", warehouse=lake.warehouse)
                found = lease_of(opened.properties)
    service.runs.busy.clear()
    service.stop()

    assert "db.bad" in lake.tables("failed")


def test_a_lease_that_is_years_ahead_is_nobodys(lake: Lake) -> None:
    """The clock of its owner was wrong, and its owner is gone."""
    lake.make("db.t", **{"table-expire.enabled": "false"})
    ahead = Lease(owner="other", until_ms=lake.now_ms + 20_000 * HOUR_MS)
    take_lease(lake.config, "db.t", ahead, now_ms=lake.now_ms)

    lake.service().run_once()

    assert lake.tables("optimized") == ["db.t"]


def test_two_services_at_once_do_no_harm(lake: Lake) -> None:
    """One that finds a table taken leaves it to the other, or to the next look."""
    for number in range(4):
        lake.make(f"db.t{number}")
    services = [lake.service("a"), lake.service("b")]

    threads = [threading.Thread(target=service.run_once) for service in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lake.service("next").run_once()

    assert not lake.tables("failed")
    for number in range(4):
        assert lake.rows(f"db.t{number}") == FRESH
        assert arctic.status(f"db.t{number}", warehouse=lake.warehouse).due is None


def test_a_day_after_the_dry_run_a_table_is_cleaned(lake: Lake) -> None:
    """Whichever service comes then: the time is in the table."""
    lake.make("db.t", **{"snapshot.keep.duration": "0", "change.data.ttl.minutes": "0"})
    lake.service().run_once()
    lake.service().run_once()
    assert (lake.tables("would clean"), lake.tables("cleaned")) == (["db.t"], [])

    lake.now_ms += 24 * HOUR_MS
    lake.service("later").run_once()

    assert lake.tables("cleaned") == ["db.t"]
    (facts,) = (facts for event, facts in lake.said if event == "cleaned")
    assert facts["change_file"]
    assert lake.rows("db.t") == FRESH


def test_a_cleaning_does_all_that_a_table_asks_for(lake: Lake) -> None:
    """Old rows, snapshots, change files and what nobody names, each by its property."""
    lake.make(
        "db.t",
        **{
            "snapshot.keep.duration": "0",
            "change.data.ttl.minutes": "0",
            "data-expire.enabled": "true",
            "data-expire.field": "id",
            "data-expire.level": "file",
            "data-expire.retention-time": "1h",
            "data-expire.base-on-rule": "CURRENT_TIME",
            "clean-orphan-file.enabled": "true",
            "clean-orphan-file.min-existing-time-minutes": "60",
        },
    )
    orphan = next(lake.folder.rglob("*.parquet")).with_name("nobodys.parquet")
    orphan.write_bytes(b"of a writer that was killed")
    os.utime(orphan, (1_000_000_000, 1_000_000_000))
    lake.service().run_once()

    lake.now_ms += 24 * HOUR_MS
    lake.service("later").run_once()

    (facts,) = (facts for event, facts in lake.said if event == "cleaned")
    assert {"expired_rows", "change_file", "snapshot", "data_file", "orphan"} <= set(facts)
    assert not orphan.exists()
    assert lake.rows("db.t") == []


def test_a_clock_that_is_set_ahead_makes_nothing_old(lake: Lake) -> None:
    """What would go a year later stays; it is said that the clock is wrong."""
    lake.make("db.t", **{"change.data.ttl.minutes": "600", "snapshot.keep.duration": "10h"})
    lake.service().run_once()
    lake.now_ms += 365 * 24 * HOUR_MS
    lake.jumped_ms = 365 * 24 * HOUR_MS

    lake.service().run_once()

    (facts,) = (facts for event, facts in lake.said if event == "cleaned")
    assert "change_file" not in facts
    assert [f["what"] for event, f in lake.said if event == "failed"] == ["telling the time"]
    lake.now_ms += 24 * HOUR_MS
    lake.jumped_ms = 0
    lake.forget()
    lake.service().run_once()
    (facts,) = (facts for event, facts in lake.said if event == "cleaned")
    assert facts["change_file"]
    assert lake.rows("db.t") == FRESH


def test_a_clock_that_is_set_ahead_takes_no_snapshot_of_a_published_table(lake: Lake) -> None:
    """They are kept for an hour, and begun within one."""
    shown = {"self-publishing.enabled": "true", "snapshot.keep.duration": "1h"}
    lake.make("db.t", **shown, **{"snapshot.keep.min-count": "1", "table-expire.enabled": "false"})
    for _ in range(2):
        lake.service().run_once()
        lake.upsert("db.t")
    read = load_table(open_catalog(lake.config), ("db", "t_fresh"))
    assert read is not None
    kept = {each.snapshot_id for each in read.metadata.snapshots}
    lake.now_ms += 24 * HOUR_MS
    lake.jumped_ms = 24 * HOUR_MS

    lake.service().run_once()

    read = load_table(open_catalog(lake.config), ("db", "t_fresh"))
    assert read is not None
    assert kept < {each.snapshot_id for each in read.metadata.snapshots}
    lake.jumped_ms = 0
    lake.upsert("db.t")
    lake.service().run_once()
    read = load_table(open_catalog(lake.config), ("db", "t_fresh"))
    assert read is not None
    assert not kept & {each.snapshot_id for each in read.metadata.snapshots}


def test_a_clock_that_is_set_back_keeps_no_table_from_its_turn(lake: Lake) -> None:
    """It was hours ahead when the table was optimized."""
    right_ms = lake.now_ms
    lake.now_ms += 10 * HOUR_MS
    lake.make("db.t", **{"self-optimizing.min-plan-interval": "0", "table-expire.enabled": "false"})
    service = lake.service()
    thread = threading.Thread(target=service.run)
    thread.start()
    lake.wait_for("optimized")
    while service.busy_tables():
        time.sleep(0.01)
    lake.forget()

    lake.now_ms = right_ms
    lake.upsert("db.t")
    service.nudge("db.t")
    lake.wait_for("optimized")
    service.stop()
    thread.join(60)


def test_a_namespace_that_the_catalog_refuses_hides_no_other(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is a table in it gone; one that is dropped between two lists has none."""
    quiet = {"self-optimizing.enabled": "false", "table-expire.enabled": "false"}
    for name in ("gone.t", "mine.t", "theirs.t"):
        lake.make(name, **quiet)
    service = lake.service()
    service.look()
    lists, is_refused = SqlCatalog.list_tables, [True]

    def refuse(self: SqlCatalog, namespace: tuple[str, ...]) -> Any:
        if namespace[0] == "theirs" and is_refused:
            raise ForbiddenError("not yours")
        if namespace[0] == "gone":
            raise NoSuchNamespaceError("gone")
        return lists(self, namespace)

    monkeypatch.setattr(SqlCatalog, "list_tables", refuse)
    lake.make("mine.u", **quiet)
    service.look()
    assert lake.tables("found") == ["gone.t", "mine.t", "mine.u", "theirs.t"]
    assert lake.tables("dropped") == ["gone.t"]
    assert set(service.watch.told) == {"theirs", "theirs.t"}
    assert "ForbiddenError: not yours" in service.watch.told["theirs"]

    is_refused.clear()
    service.look()
    service.stop()
    assert not service.watch.told
    assert [each.name for each in service.watch.seen] == ["mine.t", "mine.u", "theirs.t"]
    assert lake.tables("dropped") == ["gone.t"]


def test_a_table_that_a_catalog_refuses_with_an_odd_error_hides_no_other(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of Hive and Glue do with an entry that somebody else made."""
    for name in ("db.good", "db.odd"):
        lake.make(name)
    original = SqlCatalog.load_table

    def refuse(self: SqlCatalog, identifier: tuple[str, ...]) -> Table:
        if identifier[-1] == "odd":
            raise NoSuchPropertyException("Property table_type missing")
        return original(self, identifier)

    monkeypatch.setattr(SqlCatalog, "load_table", refuse)
    lake.service().run_once()

    assert lake.tables("optimized") == ["db.good"]
    (said,) = [str(facts["why"]) for event, facts in lake.said if event == "failed"]
    assert said.startswith("FormatError: load table 'db.odd'")
    assert "Property table_type missing" in said


def test_what_is_no_longer_to_be_cleaned_when_its_turn_comes_is_left_alone(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Switched off, cleaned by another, or made anew while a first table was cleaned."""
    names = {"db.a", "db.b", "db.c", "db.d"}
    for name in names:
        lake.make(name, **{"self-optimizing.enabled": "false"})
    lake.service().run_once()
    lake.now_ms += 24 * HOUR_MS
    lake.forget()
    say, left = lake.say, list[str]()

    def change_others(event: str, **facts: object) -> None:
        if event == "cleaned" and not left:
            left.extend(sorted(names - {str(facts["table"])}))
            off, done, anew = left
            _set_unchecked(lake.config, off, {"table-expire.enabled": "false"})
            _set_unchecked(lake.config, done, {CLEANED_TIME: str(lake.now_ms)})
            arctic.drop_table(anew, warehouse=lake.warehouse)
            lake.make(anew, **{"self-optimizing.enabled": "false"})
        say(event, **facts)

    monkeypatch.setattr(lake, "say", change_others)
    lake.service().run_once()

    assert set(lake.tables("cleaned")) == names - set(left)
    assert not lake.tables("would clean")
    assert not lake.tables("failed")
    lake.service().run_once()
    assert lake.tables("would clean") == left[2:]


def test_a_table_that_is_switched_off_while_it_waits_is_not_optimized(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its turn comes after that of another."""
    names = {"db.a", "db.b"}
    for name in names:
        lake.make(name, **{"table-expire.enabled": "false"})
    say = lake.say

    def switch_off(event: str, **facts: object) -> None:
        if event == "optimized":
            for name in names - {str(facts["table"])}:
                _set_unchecked(lake.config, name, {"self-optimizing.enabled": "false"})
        say(event, **facts)

    monkeypatch.setattr(lake, "say", switch_off)
    lake.service(groups={"default": 1}).run_once()

    assert len(lake.tables("optimized")) == 1
    assert not lake.tables("failed")


def test_a_table_where_nothing_changed_is_not_listed_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new one is taken up, a dropped one is forgotten."""
    listed: list[str] = []
    original = TableLook.of

    def counted(asked: AskedOptimize) -> TableLook:
        listed.append(asked.reference.identifier)
        return original(asked)

    monkeypatch.setattr(TableLook, "of", counted)
    for name in ("db.a", "db.b"):
        lake.make(name)
    service = lake.service()

    service.look()
    service.look()
    assert sorted(listed) == ["db.a", "db.b"]

    lake.upsert("db.b")
    lake.make("db.c")
    arctic.drop_table("db.a", warehouse=lake.warehouse)
    service.look()
    service.stop()
    assert sorted(listed) == ["db.a", "db.b", "db.b", "db.c"]
    assert (lake.tables("found"), lake.tables("dropped")) == (["db.a", "db.b", "db.c"], ["db.a"])


class _Dropping(ThreadPlace):
    """Somebody drops the table right before its task runs, and its files with it."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    def run(self, work: Callable[[Any], Any], task: Task[Any]) -> Any:
        """Drop, then work."""
        arctic.drop_table("db.t", purge=True, warehouse=self._lake.warehouse)
        return super().run(work, task)


def test_a_table_that_is_dropped_during_its_run_is_told_of_once(lake: Lake) -> None:
    """As dropped, by the next look, and not as failed; its process was cancelled."""
    lake.make("db.t", **{"table-expire.enabled": "false"})
    service = lake.service(place=lambda: _Dropping(lake))
    service.run_once()
    service.look()

    assert [event for event, _ in lake.said] == ["found", "dropped"]
    (process,) = lake.open[0].processes(table="db.t", limit=2)
    assert (process.status, process.failure) == (
        ProcessStatus.CANCELLED,
        "the table was dropped while optimizing",
    )


def test_a_look_tells_the_scheduler_how_often_a_table_is_read(lake: Lake) -> None:
    """As readers told it since the look before, and once that is believed of each."""
    lake.make("db.t")
    service = lake.service()
    service.look()
    read = ReadSummary(row_filter=None, considered_files=0, opened=(), left_out=())
    for _ in range(3):
        service.reads.tell("db.t", ToldRead(at_ms=lake.now_ms, summary=read))

    service.look()
    service.stop()

    state = service.runs.groups["default"].state("db.t")
    assert state is not None
    assert state.terms.reads_per_hour == 4


def test_a_service_that_begins_knows_when_others_optimized_a_table(lake: Lake) -> None:
    """Its schedulers begin where those of the service before it were."""
    lake.make("db.never")
    lake.make("db.since")
    arctic.optimize("db.since", warehouse=lake.warehouse)
    service = lake.service()

    service.look()
    service.stop()

    states = {name: service.runs.groups["default"].state(name) for name in ("db.never", "db.since")}
    told = {name: state.terms.optimized_ms for name, state in states.items() if state is not None}
    assert told["db.never"] is not None
    assert told["db.since"] is not None
    assert told["db.never"] < told["db.since"]


def test_a_service_that_runs_looks_works_and_stops_when_it_is_told(lake: Lake) -> None:
    """It waits for an event each time, and for no time."""
    lake.make("db.t")
    service = lake.service()
    thread = threading.Thread(target=service.run)
    thread.start()
    lake.wait_for("optimized")
    lake.wait_for("would clean")

    service.stop()
    thread.join(60)

    assert not thread.is_alive()
    assert lake.rows("db.t") == FRESH


def test_a_catalog_that_is_away_is_told_of_and_looked_at_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service goes on."""
    lake.make("db.t")
    service = lake.service()
    look, away = service.look, [True]

    def first_away(names: frozenset[str] | None = None) -> None:
        if away:
            away.clear()
            raise arctic.StorageError("catalog 'c': no answer; try again")
        look(names)

    monkeypatch.setattr(service, "look", first_away)
    monkeypatch.setattr("arctic.service.table_service._WAKE_SECONDS", 0.01)
    monkeypatch.setattr(service, "_settings", _with_short_interval(service))
    thread = threading.Thread(target=service.run)
    thread.start()
    lake.wait_for("optimized")
    service.stop()
    thread.join(60)

    assert ("failed", {"what": "looking at the catalog", "why": _AWAY}) in lake.said


def test_a_table_backs_off_for_no_failure_of_its_catalog(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as the catalog is back it is worked on, by a clock that stands still."""
    lake.make("db.t", self_optimizing__min_plan_interval="0")
    service = lake.service()
    service.look()
    monkeypatch.setattr("arctic.service.table_service._WAKE_SECONDS", 0.01)
    monkeypatch.setattr(service, "_settings", _with_short_interval(service))
    file, aside = lake.folder / "catalog.db", lake.folder / "aside.db"
    file.rename(aside)
    thread = threading.Thread(target=service.run)
    thread.start()
    awaited = {"optimizing", "looking at the catalog"}
    with lake.spoke:
        assert lake.spoke.wait_for(lambda: awaited <= _failed(lake), timeout=20), lake.said
    while service.busy_tables():
        time.sleep(0.01)

    aside.rename(file)
    lake.wait_for("optimized")
    service.stop()
    thread.join(60)

    assert lake.rows("db.t") == FRESH


def _failed(lake: Lake) -> set[object]:
    return {facts["what"] for event, facts in lake.said if event == "failed"}


_AWAY = "StorageError: catalog 'c': no answer; try again"


def _with_short_interval(service: Any) -> Any:
    return replace(service._settings, interval_ms=10)


def _metadata_of(lake: Lake, store: str) -> Path:
    table = load_table(open_catalog(lake.config), tuple(store.split(".")))
    assert table is not None
    return Path(urlparse(table.metadata_location).path)


def _set_unchecked(config: Any, name: str, properties: dict[str, str]) -> None:
    table = load_table(open_catalog(config), tuple(name.split(".")))
    assert table is not None
    with table.transaction() as changes:
        changes.set_properties(properties)

"""What others may ask of a service that runs, with tasks that wait for the test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import arctic
from arctic.errors import ConflictError, NotFoundError, StorageError
from arctic.job.publish.after_write import publish_all
from arctic.job.tasks.run_tasks import Task
from arctic.service import table_work
from arctic.service.control import ServiceControl
from arctic.service.executors.task_place import LostPlaceError
from arctic.service.history.process_record import ProcessStatus
from arctic.service.scheduling.table_state import Phase
from arctic.service.table_service import TableService
from tests.service.lake import HOUR_MS, Lake

QUIET = {"table-expire.enabled": "false"}
OFF = {"self-optimizing.enabled": "false"}
FRESH = [{"id": 1, "name": "new"}, {"id": 2, "name": "new"}]


class HeldPlace:
    """Runs a task when the test lets it; may die first."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.goes_on = threading.Event()
        self.deaths = 0

    def run(self, work: Callable[[Any], Any], task: Task[Any]) -> Any:
        """Wait, then do it or die."""
        self.began.release()
        if self.deaths:
            self.deaths -= 1
            raise LostPlaceError("out of memory")
        assert self.goes_on.wait(60)
        return work(task.value)

    def close(self) -> None:
        """Let go."""
        self.goes_on.set()


@pytest.fixture
def place() -> HeldPlace:
    """The place of every executor."""
    return HeldPlace()


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """One table in which a minor is due."""
    made = Lake(tmp_path, now_ms=time.time_ns() // 1_000_000)
    made.make("db.t", **QUIET)
    yield made
    made.close()


@pytest.fixture
def control(lake: Lake, place: HeldPlace) -> Iterator[ServiceControl]:
    """A service that runs."""
    service = lake.service(groups={"default": 1}, place=lambda: place)
    thread = threading.Thread(target=service.run)
    thread.start()
    yield ServiceControl(service=service, executors={"default": "thread"})
    place.goes_on.set()
    service.stop()
    thread.join(60)
    assert not thread.is_alive()


def test_a_run_that_is_cancelled_commits_nothing_and_is_not_begun_again(
    lake: Lake, control: ServiceControl, place: HeldPlace
) -> None:
    """Its task is let finish; a run that is asked for afterwards is done."""
    assert place.began.acquire(timeout=60)
    assert control.cancel("db.t") == "running"
    place.goes_on.set()
    lake.wait_for("cancelled")

    asked = control.optimize("db.t", "minor")
    lake.wait_for("optimized")

    assert lake.rows("db.t") == FRESH
    first = control.history.processes(limit=9)[-1]
    _wait(lambda: control.process(first.id).status is ProcessStatus.CANCELLED)
    _wait(lambda: control.process(asked.id).status is ProcessStatus.DONE)
    with pytest.raises(NotFoundError, match="nothing of it runs"):
        _cancel_when_idle(control)


def test_a_table_is_left_alone_after_its_run_was_cancelled(
    lake: Lake, control: ServiceControl, place: HeldPlace
) -> None:
    """Though something is due in it."""
    assert place.began.acquire(timeout=60)
    control.cancel("db.t")
    place.goes_on.set()
    lake.wait_for("cancelled")

    _wait(lambda: not control.table("db.t").is_worked_on)
    assert control.table("db.t").phase == Phase.BACKING_OFF.value
    assert lake.tables("optimized") == []


def test_an_executor_that_dies_gives_its_task_back(
    lake: Lake, control: ServiceControl, place: HeldPlace
) -> None:
    """The history tells of both tries."""
    assert place.began.acquire(timeout=60)
    control.cancel("db.t")
    place.goes_on.set()
    lake.wait_for("cancelled")
    place.deaths = 2

    asked = control.optimize("db.t", "full")
    lake.wait_for("optimized")
    _wait(lambda: control.process(asked.id).status is ProcessStatus.DONE)

    tries = [each.status for each in control.history.tasks(asked.id)]
    assert tries.count(ProcessStatus.LOST) == 2
    assert tries[-1] is ProcessStatus.DONE
    assert lake.rows("db.t") == FRESH


def test_a_task_that_kills_its_executors_fails_with_its_run(
    lake: Lake, control: ServiceControl, place: HeldPlace
) -> None:
    """After three of them."""
    assert place.began.acquire(timeout=60)
    control.cancel("db.t")
    place.goes_on.set()
    lake.wait_for("cancelled")
    place.deaths = 3

    asked = control.optimize("db.t", "full")
    _wait(lambda: control.process(asked.id).status is ProcessStatus.FAILED)

    failure = control.process(asked.id).failure
    assert failure is not None
    assert "cost three executors" in failure
    assert lake.rows("db.t") == FRESH


def test_what_was_written_is_seen_as_soon_as_the_service_is_nudged(
    lake: Lake, control: ServiceControl, place: HeldPlace
) -> None:
    """Its next look is an hour away; a table that is gone is dropped by a nudge as well."""
    place.goes_on.set()
    lake.wait_for("optimized")
    lake.make("db.new", **QUIET)

    control.nudge("db.new")

    _wait(lambda: lake.tables("optimized") == ["db.new", "db.t"])
    with pytest.raises(NotFoundError, match=r"db\.no"):
        control.nudge("db.no")
    assert [each.name for each in control.tables()] == ["db.new", "db.t"]


def test_a_run_is_taken_while_the_first_look_is_under_way(lake: Lake) -> None:
    """It has seen the table, but not all others, and has placed none yet."""
    service = lake.service()
    service.watch.look()
    control = ServiceControl(service=service, executors={"default": "thread"})

    assert control.table("db.t").group == "default"
    assert control.optimize("db.t", "full").status is ProcessStatus.WAITING


def test_the_queue_of_a_group_is_told_by_name_and_order(
    lake: Lake, control: ServiceControl, place: HeldPlace
) -> None:
    """Who is at work in which slot, then what was asked for, then what is due, the next first."""
    assert place.began.acquire(timeout=60)
    for name in ("db.asked", "db.begun", "db.first", "db.later"):
        lake.make(name, **QUIET)
        control.service.look(frozenset({name}))
    control.optimize("db.begun", None)
    _wait(lambda: control.table("db.begun").is_worked_on)
    asked = control.optimize("db.asked", "full")
    lake.now_ms += HOUR_MS

    queue = control.queue("default")

    assert [(each.table, each.doing) for each in queue.running] == [
        ("db.begun", "optimize"),
        ("db.t", "optimize"),
    ]
    assert {(each.executor, each.table) for each in queue.slots} == {("default-0", "db.t")}
    waiting = [(each.table, each.type, each.process_id) for each in queue.waiting]
    assert waiting[0] == ("db.asked", "full", asked.id)
    assert waiting[1:] == [("db.first", "minor", None), ("db.later", "minor", None)]
    assert all(each.work_ms for each in queue.waiting[1:])
    states = {each.name: each.state for each in control.tables()}
    assert (states["db.t"], states["db.first"]) == ("running", "waiting")
    with pytest.raises(NotFoundError, match="this service has default"):
        control.queue("etl")


def test_what_a_run_takes_that_was_asked_for_is_predicted(
    control: ServiceControl, place: HeldPlace
) -> None:
    """And remembered beside what it took."""
    place.goes_on.set()
    asked = control.optimize("db.t", "full")

    _wait(lambda: control.process(asked.id).status is ProcessStatus.DONE)

    done = control.process(asked.id)
    assert done.predicted_ms is not None
    assert done.predicted_ms > 0
    assert done.slot_ms is not None


def test_a_cleaning_that_is_asked_for_is_done_though_the_table_is_switched_off(
    lake: Lake, control: ServiceControl, place: HeldPlace
) -> None:
    """At once, without a dry run before; a second one is refused, and one that waits cancelled."""
    assert place.began.acquire(timeout=60)
    waiting = control.clean("db.t")
    with pytest.raises(ConflictError, match=f"cleaning {waiting.id} waits"):
        control.clean("db.t")
    assert control.cancel("db.t") == "waiting"
    assert control.process(waiting.id).status is ProcessStatus.CANCELLED

    asked = control.clean("db.t")
    place.goes_on.set()
    _wait(lambda: control.process(asked.id).status is ProcessStatus.DONE)

    assert (asked.kind, asked.trigger) == ("clean", "call")
    assert lake.tables("cleaned") == ["db.t"]
    assert lake.tables("would clean") == []
    assert lake.rows("db.t") == FRESH


def test_what_is_done_with_a_table_but_a_run_is_not_cancelled_nor_is_what_comes_after(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on; a run that is asked for later is done."""
    lake.make("db.shown", **QUIET, **OFF, **{"self-publishing.enabled": "true"})
    begun, goes_on = threading.Event(), threading.Event()

    def slow(*args: Any, **options: Any) -> Any:
        begun.set()
        assert goes_on.wait(60)
        return publish_all(*args, **options)

    monkeypatch.setattr(table_work, "publish_all", slow)
    with _running(lake.service()) as control:
        assert begun.wait(60)
        with pytest.raises(ConflictError, match="publish is under way, which ends by itself"):
            control.cancel("db.shown")
        goes_on.set()
        lake.wait_for("published")
        asked = control.optimize("db.shown", "full")
        _wait(lambda: control.process(asked.id).status.is_over)

        assert control.process(asked.id).status is ProcessStatus.DONE


def test_a_run_is_cancelled_though_its_table_is_of_another_group_by_then(
    lake: Lake, place: HeldPlace
) -> None:
    """In the slots where it runs; the next run of the table, in the others, is none of that."""
    with _running(lake.service(groups={"default": 1, "etl": 1}, place=lambda: place)) as control:
        assert place.began.acquire(timeout=60)
        arctic.set_properties("db.t", {"self-optimizing.group": "etl"}, warehouse=lake.warehouse)
        control.service.look(frozenset({"db.t"}))
        assert control.table("db.t").group == "etl"
        assert control.cancel("db.t") == "running"
        place.goes_on.set()
        lake.wait_for("cancelled")

        lake.wait_for("optimized")
        assert lake.rows("db.t") == FRESH


def test_what_is_due_is_done_in_a_table_that_is_paused_where_a_call_asks_for_it(
    lake: Lake,
) -> None:
    """By itself it is not."""
    lake.make("db.paused", **QUIET, **OFF)
    with _running(lake.service()) as control:
        lake.wait_for("optimized")
        asked = control.optimize("db.paused", None)
        _wait(lambda: control.process(asked.id).status.is_over)
        done = control.process(asked.id)

    assert (done.status, done.type) == (ProcessStatus.DONE, "minor")
    assert lake.rows("db.paused") == FRESH


def test_a_table_fails_no_longer_once_it_asks_no_more_for_what_failed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To be published, and to be optimized; until then it does."""
    shown = {"self-publishing.enabled": "true"}
    lake.make("db.bad", **QUIET, **shown)

    def fail(*_: Any, **__: Any) -> Any:
        raise StorageError("the disk is full")

    monkeypatch.setattr(table_work, "publish_all", fail)
    monkeypatch.setattr(table_work, "optimize_table", fail)
    with _running(lake.service()) as control:
        _wait_until_it_fails(control, "db.bad", "optimize", "publish")
        assert control.table("db.bad").failures == 1

        for off, left in (({"self-publishing.enabled": "false"}, ["optimize"]), (OFF, [])):
            arctic.set_properties("db.bad", off, warehouse=lake.warehouse)
            control.nudge("db.bad")
            _wait_until_it_fails(control, "db.bad", *left)
        view = control.table("db.bad")
        assert (view.state, view.failures) == ("paused", 0)


def _wait_until_it_fails(control: ServiceControl, name: str, *kinds: str) -> None:
    """Wait until the last tries of just these kinds have failed."""
    _wait(lambda: set(control.table(name).last_failures or {}) == set(kinds))


@contextmanager
def _running(service: TableService) -> Iterator[ServiceControl]:
    """Let a service run for as long as the block."""
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield ServiceControl(
            service=service, executors=dict.fromkeys(service.runs.groups, "thread")
        )
    finally:
        service.stop()
        thread.join(60)
        assert not thread.is_alive()


def _cancel_when_idle(control: ServiceControl) -> None:
    _wait(lambda: not control.table("db.t").is_worked_on)
    control.cancel("db.t")


def _wait(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)

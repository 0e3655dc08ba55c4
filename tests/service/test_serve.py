"""The verb as Python calls it."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import arctic
from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.commits.lease import lease_of
from arctic.service.history.history_file import History
from arctic.service.history.process_record import ProcessStatus
from tests.service.lake import Lake
from tests.service.outlets.receiver import receiving


def test_a_service_that_looks_rarely_takes_leases_that_count(tmp_path: Path) -> None:
    """None is further ahead than others believe."""
    lake = Lake(tmp_path)
    lake.make("db.t", **{"table-expire.enabled": "false"})
    held: list[bool] = []

    def look_at_lease(event: str, **_: object) -> None:
        if event == "optimized":
            opened = arctic.open_table("db.t", warehouse=lake.warehouse)
            lease = lease_of(opened.properties)
            held.append(lease is not None and lease.holds(time.time_ns() // 1_000_000))

    arctic.serve(once=True, interval_seconds=864_000, say=look_at_lease, warehouse=lake.warehouse)

    assert held == [True]


def test_tasks_may_run_in_processes_of_their_own(tmp_path: Path) -> None:
    """What is due is done as in threads; the history tells of it afterwards."""
    lake = Lake(tmp_path / "lake")
    lake.make("db.a", **{"table-expire.enabled": "false"})
    history = tmp_path / "history.db"

    arctic.serve(
        once=True,
        groups={"default": 1},
        executors={"default": "process"},
        history=str(history),
        say=lake.say,
        warehouse=lake.warehouse,
    )

    assert lake.tables("optimized") == ["db.a"]
    assert lake.tables("failed") == []
    assert lake.rows("db.a") == [{"id": 1, "name": "new"}, {"id": 2, "name": "new"}]
    kept = History(str(history), lake.say)
    (found,) = kept.processes(limit=9)
    kept.close()
    assert (found.table, found.status) == ("db.a", ProcessStatus.DONE)
    assert found.predicted_ms is not None
    assert found.slot_ms is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"executors": {"etl": "process"}}, "there is no such group; expected one of default"),
        ({"executors": {"default": "cloud"}}, "expected thread, process or spark"),
        ({"executors": {"default": "spark"}}, "no session was given"),
        ({"groups": {"a b": 1}}, "group 'a b'"),
        ({"threads": 0}, "threads 0; expected a number above 0"),
        ({"webhook": "nowhere"}, "webhook"),
        ({"event_command": "no-such-program-of-arctic"}, "event command"),
        ({"http": "nowhere"}, "expected host:port"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_begins(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    """In words."""
    events: list[str] = []
    with pytest.raises(InvalidInputError, match=said):
        arctic.serve(
            **options,
            stop=threading.Event(),
            say=lambda event, **_: events.append(event),
            warehouse=str(tmp_path),
        )
    assert events == []


def test_events_reach_those_who_want_to_know(tmp_path: Path) -> None:
    """Those of a whole service, from its beginning to its end."""
    lake = Lake(tmp_path)
    lake.make("db.t")
    with receiving() as receiver:
        arctic.serve(once=True, webhook=receiver.url, say=lake.say, warehouse=lake.warehouse)

    events = [each["event"] for each in receiver.arrived]
    assert (events[0], events[-1]) == ("serving", "stopped")
    assert "optimized" in events
    assert "found" not in events


def test_without_the_extra_the_face_is_refused_and_the_rest_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "arctic.http.http_face", None)
    lake = Lake(tmp_path)
    lake.make("db.t", **{"table-expire.enabled": "false"})

    with pytest.raises(UnsupportedError, match=r"pip install '\.\[serve\]'"):
        arctic.serve(http="127.0.0.1:0", stop=threading.Event(), warehouse=lake.warehouse)
    arctic.serve(once=True, say=lake.say, warehouse=lake.warehouse)

    assert lake.tables("optimized") == ["db.t"]

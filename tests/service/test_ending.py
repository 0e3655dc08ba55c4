"""The end of a service: whatever hangs, one deadline holds for all of it."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

import arctic
from arctic.service import ending
from arctic.service.ending import Ending
from tests.service.hanging import hanging
from tests.service.lake import Lake


def test_what_one_has_used_of_the_time_others_have_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It begins with the first who asks for the end, and goes by for all."""
    now = [100.0]
    monkeypatch.setattr("arctic.service.ending.time.monotonic", lambda: now[0])
    end = Ending()
    now[0] += 1_000
    assert end.left_seconds() == ending.END_SECONDS

    end.begin()
    now[0] += 4
    end.begin()

    assert end.left_seconds() == ending.END_SECONDS - 4
    assert end.left_seconds(spare=2) == ending.END_SECONDS - 6
    now[0] += 60
    assert end.left_seconds() == 0


def test_a_service_that_is_done_begins_its_own_end_and_not_that_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end of all of them is each one's as well."""
    now = [100.0]
    monkeypatch.setattr("arctic.service.ending.time.monotonic", lambda: now[0])
    of_all = Ending()
    first, second = Ending(of_all), Ending(of_all)

    first.begin()
    now[0] += 5
    assert first.left_seconds() == ending.END_SECONDS - 5
    assert second.left_seconds() == of_all.left_seconds() == ending.END_SECONDS
    of_all.begin()
    now[0] += 3
    assert first.left_seconds() == ending.END_SECONDS - 8
    assert second.left_seconds(spare=1) == ending.END_SECONDS - 4


def test_a_service_ends_in_time_though_a_task_and_its_webhook_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The waits are one after another, and together no longer than one of them may be."""
    monkeypatch.setattr(ending, "END_SECONDS", 4.0)
    lake = Lake(tmp_path)
    lake.make("db.t", **{"table-expire.enabled": "false"})
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as silent, hanging(*_changes(tmp_path)):
        service = threading.Thread(
            target=arctic.serve,
            kwargs={
                "stop": stop,
                "say": lake.say,
                "webhook": f"http://127.0.0.1:{silent.getsockname()[1]}/",
                "warehouse": lake.warehouse,
            },
        )
        service.start()
        lake.wait_for("found")
        time.sleep(0.5)  # the run has begun by then, or is cut off before it has
        asked = time.monotonic()
        stop.set()
        service.join(60)
        took = time.monotonic() - asked

    assert not service.is_alive()
    assert took < 6
    assert lake.tables("optimized") == []
    assert lake.rows("db.t") == [{"id": 1, "name": "new"}, {"id": 2, "name": "new"}]


def _changes(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*.parquet") if "change" in str(file)]

"""Calls about tables whose storage hangs: answered in time, and in nobody's way."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from arctic.errors import NotFoundError, StorageError
from arctic.http import http_app
from arctic.http.patience.slow_tables import SlowTables
from tests.http.caller import Caller, served
from tests.service.hanging import hanging, manifest_list
from tests.service.lake import Lake

T = TypeVar("T")
QUIET = {"self-optimizing.enabled": "false", "table-expire.enabled": "false"}
SECONDS = 0.3


def run(work: Callable[[SlowTables], Awaitable[T]]) -> T:
    """Run something on a loop of its own."""

    async def begun() -> T:
        return await work(SlowTables(SECONDS))

    return asyncio.run(begun())


def test_a_call_answers_what_its_work_finds_out_or_raises() -> None:
    """Each finds out anew, also where another of its kind came while the first was at work."""
    numbers = iter(range(9))

    def count() -> int:
        found = next(numbers)
        time.sleep(SECONDS / 20)
        return found

    def miss() -> int:
        raise NotFoundError("table 'db.t' does not exist")

    async def calls(slow: SlowTables) -> list[int]:
        with pytest.raises(NotFoundError):
            await slow.run("status", "db.t", miss)
        return await asyncio.gather(*(slow.run("status", "db.t", count) for _ in range(3)))

    assert run(calls) == [0, 1, 2]


def test_a_call_that_hangs_is_refused_in_time_and_takes_one_thread() -> None:
    """However many come; others about the table, and about other tables, are answered."""
    goes_on, begun = threading.Event(), list[int]()

    def hang() -> None:
        begun.append(1)
        goes_on.wait(60)

    async def calls(slow: SlowTables) -> None:
        hung = [asyncio.create_task(slow.run("status", "db.bad", hang)) for _ in range(50)]
        await asyncio.sleep(SECONDS / 10)
        for call, table in (("preview", "db.bad"), ("status", "db.good")):
            assert await slow.run(call, table, lambda: "well") == "well"
        refused = await asyncio.gather(*hung, return_exceptions=True)
        assert {type(each) for each in refused} == {StorageError}

        began = time.monotonic()
        with pytest.raises(StorageError, match="no answer within"):
            await slow.run("status", "db.bad", hang)
        assert time.monotonic() - began < SECONDS
        assert begun == [1]
        goes_on.set()
        answer = None
        while answer is None:
            await asyncio.sleep(0.01)
            with contextlib.suppress(StorageError):
                answer = await slow.run("status", "db.bad", lambda: "well")
        assert answer == "well"

    run(calls)


def test_a_table_whose_storage_hangs_takes_no_other_call_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor its own from the last look; the page says so as well."""
    monkeypatch.setattr(http_app, "SECONDS", 2.0)
    lake = Lake(tmp_path, now_ms=time.time_ns() // 1_000_000)
    for name in ("db.hangs", "db.well"):
        lake.make(name, **QUIET)
    with served(lake) as caller:
        while caller.get("/ready").status != 200:
            time.sleep(0.02)
        lake.upsert("db.hangs")
        with (
            hanging(manifest_list(lake.config, "db.hangs_change_")),
            ThreadPoolExecutor(60) as callers,
        ):
            paths = ["/api/v1/tables/db.hangs/status"] * 45 + ["/tables/db.hangs"] * 5
            hung = [callers.submit(_timed, caller, path) for path in paths]
            time.sleep(0.3)
            for path in ("", "/db.hangs", "/db.well", "/db.well/status"):
                status, seconds = _timed(caller, f"/api/v1/tables{path}")
                assert (status, seconds < 2.0) == (200, True), path
            assert {each.result()[0] for each in hung} == {503}


def _timed(caller: Caller, path: str) -> tuple[int, float]:
    began = time.monotonic()
    status = caller.get(path).status
    return status, time.monotonic() - began

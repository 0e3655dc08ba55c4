"""Runs that calls asked for: one a table, so many in all, and no more at a time than slots."""

from __future__ import annotations

import pytest

from arctic.errors import ConflictError
from arctic.service.scheduling.asked_runs import AskedRun, AskedRuns


def _run(table: str, number: int = 0) -> AskedRun:
    return AskedRun(table=table, group="default", type=None, process_id=number)


def test_a_second_run_of_a_table_is_refused_until_the_first_has_begun() -> None:
    """The error names the one that waits."""
    runs = AskedRuns()
    runs.add(_run("shop.users", 7))
    with pytest.raises(ConflictError, match="process 7 waits to be begun"):
        runs.check("shop.users")
    assert runs.begin((), {"default": 1}) == _run("shop.users", 7)
    runs.check("shop.users")


def test_a_thousand_may_wait_and_no_more() -> None:
    """Whoever asks for ever does not fill the memory."""
    runs = AskedRuns()
    for number in range(1_000):
        runs.check(f"shop.t{number}")
        runs.add(_run(f"shop.t{number}"))
    with pytest.raises(ConflictError, match="1000 runs wait already"):
        runs.check("shop.one_more")


def test_the_first_that_can_be_begun_goes_first() -> None:
    """A table that is worked on is passed over, and a group begins as many as it has slots."""
    runs = AskedRuns()
    for table in ("a", "b", "c"):
        runs.add(_run(table))
    assert runs.begin({"a"}, {"default": 1}) == _run("b")
    assert runs.begin((), {"default": 1}) is None
    assert runs.begin((), {"default": 2}) == _run("a")

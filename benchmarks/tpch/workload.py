"""One system through TPC-H: load, power run, refreshes, power run, upkeep, power run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from benchmarks.peers.driver import PhaseError
from benchmarks.peers.oracle import Rows, differing_answers
from benchmarks.peers.recorder import Recorder
from benchmarks.tpch.data import CHANGED, KEYS, Tpch

BEFORE, UNMERGED, AFTER = STATES = ("before", "unmerged", "after")
CLOSE = 1e-4
"""Engines divide decimals, and make averages of them, to four to six digits at least."""
EXPORT_SECONDS = 600


def perform(
    recorder: Recorder,
    hello: dict[str, Any],
    *,
    tpch: Tpch,
    queries: Sequence[int],
    repeats: int,
) -> None:
    """Measure everything; compare every answer, and in the end the rows of what was changed.

    A system that changes nothing is given the refreshed tables instead, as the limit of the others.
    """
    for table, source in tpch.load.items():
        recorder.call("turn_to", f"bench.{table}", *KEYS[table])
        recorder.write(f"load {table}", "load", str(source))
    wrong = _power(recorder, BEFORE, tpch, queries, tpch.before, repeats)
    if not hello["merges"]:
        for table, source in tpch.refreshed.items():
            recorder.call("turn_to", f"bench.{table}", *KEYS[table])
            recorder.call("load", str(source))
    else:
        for number, refresh in enumerate(tpch.refreshes, start=1):
            for what, sources in (("upsert", refresh.upserts), ("delete", refresh.deletes)):
                for table, source in sources.items():
                    recorder.call("turn_to", f"bench.{table}", *KEYS[table])
                    recorder.write(f"{what} {table} {number}", what, str(source))
        wrong += _power(recorder, UNMERGED, tpch, queries, tpch.after, repeats)
        for table in CHANGED:
            recorder.call("turn_to", f"bench.{table}", *KEYS[table])
            recorder.write(f"compact {table}", "compact")
    wrong += _power(recorder, AFTER, tpch, queries, tpch.after, repeats)
    recorder.checks.append(f"answers: {'; '.join(wrong) or 'equal'}")
    for table in CHANGED:
        recorder.call("turn_to", f"bench.{table}", *KEYS[table])
        target = recorder.folder / "export"
        recorder.driver.call("export", str(target), limit_seconds=EXPORT_SECONDS)
        recorder.checks.append(f"rows of {table}: {tpch.difference(table, target) or 'equal'}")
        shutil.rmtree(target)


def query_phase(number: int, state: str) -> str:
    """Return the name of a figure."""
    return f"Q{number} {state}"


def _power(
    recorder: Recorder,
    state: str,
    tpch: Tpch,
    queries: Sequence[int],
    expected: dict[int, Rows],
    repeats: int,
) -> list[str]:
    wrong = []
    recorder.stage = STATES.index(state)
    for number in queries:
        name = query_phase(number, state)
        # One that fails leaves the others alone.
        with suppress(PhaseError):
            found = recorder.read(name, "ask", tpch.queries[number], times=1 + repeats)
            said = differing_answers(expected[number], found, close=CLOSE)
            wrong += [f"{name}: {said}"] if said else []
    return wrong

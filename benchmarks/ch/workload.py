"""One system through the rounds: work without upkeep, upkeep, then work with upkeep after each.

Arctic follows the database by its mirror, and is asked while it does; every other system gets what
each batch changed as upserts and deletes by key.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Protocol

from benchmarks.ch.follow import Follower
from benchmarks.ch.queries import QUERIES
from benchmarks.ch.shop import CHANGED, KEYS
from benchmarks.ch.work import SEED, Work
from benchmarks.peers.driver import PhaseError
from benchmarks.peers.oracle import differing_answers
from benchmarks.peers.recorder import Recorder
from benchmarks.peers.result import Phase

NAMESPACE = "bench"
FRESH, UPKEPT, AUTOPILOT = "fresh", "after upkeep", "with upkeep"
AT_WORK = "while at work"
CLOSE = 1e-4
"""Engines make averages of decimals to four to six digits at least."""
EXPORT_SECONDS = 600


def aged(number: int) -> str:
    """Return the state after so many rounds without upkeep."""
    return f"aged {number}"


def states(rounds: int) -> list[str]:
    """Return every state in which answers are compared, in order."""
    return [FRESH, *(aged(number) for number in range(1, rounds + 1)), UPKEPT, AUTOPILOT]


def query_phase(number: int, state: str) -> str:
    """Return the name of a figure."""
    return f"Q{number} {state}"


def perform(
    recorder: Recorder,
    hello: dict[str, Any],
    *,
    work: Work,
    queries: Sequence[int],
    repeats: int,
) -> None:
    """Measure everything; compare every answer, and in the end the rows of what was changed."""
    assert hello["merges"], f"{recorder.name} merges nothing"
    rounds = work.plan.rounds
    wrong: list[str] = []

    def ask(state: str, number: int) -> None:
        for query in queries:
            name = query_phase(query, state)
            # One that fails leaves the others alone.
            with suppress(PhaseError):
                found = recorder.read(name, "ask", QUERIES[query], times=1 + repeats)
                said = differing_answers(work.answers[number][query], found, close=CLOSE)
                wrong.extend([f"{name}: {said}"] if said else [])

    def ask_at_work() -> None:
        for query in queries:
            with suppress(PhaseError):
                recorder.read(query_phase(query, AT_WORK), "ask", QUERIES[query], times=1)

    with ExitStack() as stack:
        feed = _feed(recorder, work, stack)
        recorder.phases["load"] = Phase(seconds=feed.load())
        recorder.call("turn_to", f"{NAMESPACE}.region", *KEYS["region"])
        # What a session compiles and imports at its first queries is no cost of a state.
        for query in queries:
            with suppress(PhaseError):
                recorder.call("ask", QUERIES[query])
        ask(FRESH, 0)
        for number in range(1, rounds + 1):
            feed.bring(number, ask_at_work)
            ask(aged(number), number)
        _keep(recorder, rounds)
        ask(UPKEPT, rounds)
        for number in range(rounds + 1, 2 * rounds + 1):
            feed.bring(number, ask_at_work)
            _keep(recorder, number)
        ask(AUTOPILOT, 2 * rounds)
    recorder.checks.append(f"answers: {'; '.join(wrong) or 'equal'}")
    differing = []
    for table in CHANGED:
        recorder.call("turn_to", f"{NAMESPACE}.{table}", *KEYS[table])
        target = recorder.folder / "export"
        recorder.driver.call("export", str(target), limit_seconds=EXPORT_SECONDS)
        said = work.difference(table, target)
        differing += [f"{table}: {said}"] if said else []
        shutil.rmtree(target)
    # What the exit code goes by says "expected" where rows differ.
    recorder.checks.append(f"rows: {'; '.join(differing) or 'equal'}")


class _Feed(Protocol):
    def load(self) -> float: ...

    def bring(self, number: int, meanwhile: Callable[[], None]) -> None: ...


class _Mirrored:
    """Arctic's own mirror, while the shop is at work."""

    def __init__(self, recorder: Recorder, work: Work, stack: ExitStack) -> None:
        self._recorder = recorder
        self._plan = work.plan
        self._follower = stack.enter_context(
            Follower(
                stack.enter_context(work.live()),
                NAMESPACE,
                str(recorder.folder / "table"),
                size=work.plan.size,
                seed=SEED,
                limit_seconds=recorder.limit_seconds,
            )
        )

    def load(self) -> float:
        self._recorder.say(f"{self._recorder.name}: the mirror copies the tables")
        return self._follower.load()

    def bring(self, number: int, meanwhile: Callable[[], None]) -> None:
        self._recorder.say(f"{self._recorder.name}: round {number}, followed by the mirror")
        count = self._plan.batches * self._plan.transactions
        done = self._follower.work(count, meanwhile)
        self._recorder.phases[f"round {number}"] = Phase(seconds=done.caught_up_seconds)
        self._recorder.phases[f"at work {number}"] = Phase(seconds=done.worked_seconds)
        self._recorder.phases[f"fresh after {number}"] = Phase(
            seconds=max(done.delays, default=None), times=tuple(done.delays)
        )


class _Replayed:
    """What each batch changed, as upserts and deletes."""

    def __init__(self, recorder: Recorder, work: Work) -> None:
        self._recorder = recorder
        self._work = work

    def load(self) -> float:
        total = 0.0
        for table, source in self._work.load.items():
            total += self._write(f"load {table}", "load", table, str(source))
        return total

    def bring(self, number: int, meanwhile: Callable[[], None]) -> None:
        del meanwhile  # Nothing goes on that one could ask beside.
        total = 0.0
        for place, batch in enumerate(self._work.rounds[number - 1], start=1):
            for what, sources in (("upsert", batch.upserts), ("delete", batch.deletes)):
                for table, source in sources.items():
                    name = f"{what} {table} {number}-{place}"
                    total += self._write(name, what, table, str(source))
        self._recorder.phases[f"round {number}"] = Phase(seconds=total)

    def _write(self, name: str, what: str, table: str, source: str) -> float:
        self._recorder.call("turn_to", f"{NAMESPACE}.{table}", *KEYS[table])
        self._recorder.write(name, what, source)
        return self._recorder.phases[name].seconds or 0.0


def _feed(recorder: Recorder, work: Work, stack: ExitStack) -> _Feed:
    if recorder.name.startswith("arctic"):
        return _Mirrored(recorder, work, stack)
    return _Replayed(recorder, work)


def _keep(recorder: Recorder, number: int) -> None:
    total = 0.0
    for table in CHANGED:
        recorder.call("turn_to", f"{NAMESPACE}.{table}", *KEYS[table])
        name = f"upkeep {table} {number}"
        recorder.write(name, "upkeep")
        total += recorder.phases[name].seconds or 0.0
    recorder.phases[f"upkeep {number}"] = Phase(seconds=total)

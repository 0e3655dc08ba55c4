"""One system through the commits: upserts, queries between them, its own upkeep now and then."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from benchmarks.drift.accounts import KEY, Accounts
from benchmarks.drift.expected import ALL_COLUMNS, QUERIES, TABLE, Expected, statement
from benchmarks.peers.driver import PhaseError
from benchmarks.peers.oracle import differing_answers
from benchmarks.peers.recorder import Recorder

EXPORT_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """What comes after how many commits."""

    ask_every: int
    keep_every: int
    repeats: int
    """Of each query, after a first one that is kept by itself."""

    def asked(self, commits: int) -> list[int]:
        """Return after which commits queries are asked; the load alone is 0.

        >>> Rhythm(ask_every=5, keep_every=10, repeats=1).asked(12)
        [0, 5, 10, 12]
        """
        return sorted({*range(0, commits + 1, self.ask_every), commits})

    def kept(self, commits: int) -> list[int]:
        """Return after which commits upkeep comes, before which queries are asked."""
        return list(range(self.keep_every, commits + 1, self.keep_every))


def perform(
    recorder: Recorder,
    hello: dict[str, Any],
    *,
    accounts: Accounts,
    expected: Expected,
    rhythm: Rhythm,
) -> None:
    """Load, commit, ask and keep; then compare every row."""
    assert hello["merges"], f"{recorder.name} merges nothing"
    commits = len(accounts.upserts)
    recorder.call("turn_to", f"bench.{TABLE}", KEY)
    recorder.write("first use", "first_use", *(str(path) for path in accounts.first_use))
    recorder.write("load", "load", str(accounts.load))
    wrong: list[str] = []
    asked, kept = rhythm.asked(commits), rhythm.kept(commits)
    for commit in range(commits + 1):
        if commit:
            source = str(accounts.upserts[commit - 1])
            recorder.write(upsert_phase(commit), "upsert", source)
        if commit in asked:
            wrong += _ask(recorder, accounts, expected, commit, rhythm.repeats)
        if commit in kept:
            recorder.write(upkeep_phase(commit), "upkeep")
    files, size = recorder.stored()
    recorder.checks.append(f"{files} files of {size / 2**20:.1f} MiB at the end")
    recorder.checks.append(f"answers: {'; '.join(wrong) or 'equal'}")
    target = recorder.folder / "export"
    recorder.driver.call("export", str(target), limit_seconds=EXPORT_SECONDS)
    recorder.checks.append(f"rows: {expected.difference(target) or 'equal'}")
    shutil.rmtree(target)


def upsert_phase(commit: int) -> str:
    """Return the name of a figure."""
    return f"upsert {commit}"


def upkeep_phase(commit: int) -> str:
    """Return the name of a figure."""
    return f"upkeep {commit}"


def query_phase(query: str, commit: int) -> str:
    """Return the name of a figure."""
    return f"{query} {commit}"


def _ask(
    recorder: Recorder, accounts: Accounts, expected: Expected, commit: int, repeats: int
) -> Sequence[str]:
    wrong = []
    for query in QUERIES:
        what = "drain" if query == ALL_COLUMNS else "ask"
        # One that fails leaves the others alone.
        with suppress(PhaseError):
            name = query_phase(query, commit)
            found = recorder.read(name, what, statement(query, accounts), times=1 + repeats)
            if (commit, query) in expected.answers:
                said = differing_answers(expected.answers[commit, query], found)
                wrong += [f"{name}: {said}"] if said else []
    return wrong

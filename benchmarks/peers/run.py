"""One system through the whole workload."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.commands import TABLE, first_steps, steps
from benchmarks.peers.driver import Driver, PhaseError, PhaseTimeout
from benchmarks.peers.environments import Peer, interpreter
from benchmarks.peers.inputs import Inputs
from benchmarks.peers.oracle import CHANGED, COMMANDED, Oracle
from benchmarks.peers.result import Phase, SystemResult

READS = ("aggregate", "column_sum", "key_range", "lookup", "dump")
REPEATS = 3
"""Warm ones; the first time of a read comes before them."""
EXPORT_SECONDS = 600


def measure(
    peer: Peer,
    inputs: Inputs,
    oracle: Oracle,
    *,
    folder: Path,
    limit_seconds: float,
    say: Callable[[str], None],
    only_commands: bool = False,
) -> SystemResult:
    """Return the figures of one system; what failed is in the result.

    Args:
        peer: the system.
        inputs: what it is given.
        oracle: what it must hold in the end.
        folder: scratch space, empty.
        limit_seconds: for each phase.
        say: told what goes on.
        only_commands: no reads and no compaction, only what commands are compared with.
    """
    say(f"{peer.name}: environment")
    run = _Run(peer, inputs, oracle, folder=folder, limit_seconds=limit_seconds, say=say)
    try:
        python = interpreter(peer)
        (folder / "table").mkdir(parents=True)
        command = [str(python), "-m", f"benchmarks.peers.systems.{peer.script}"]
        command += [str(folder / "table"), *peer.arguments]
        with Driver(command, log=folder / "log.txt", scratch=folder / "scratch") as driver:
            run.perform(driver, only_commands=only_commands)
    except (PhaseError, PhaseTimeout, RuntimeError) as error:
        run.failure = run.failure or str(error)
    shutil.rmtree(folder / "table", ignore_errors=True)
    return SystemResult(
        name=peer.name,
        versions=run.versions,
        phases=run.phases,
        checked="; ".join(run.checks),
        failure=run.failure,
    )


@dataclass
class _Run:
    peer: Peer
    inputs: Inputs
    oracle: Oracle
    folder: Path = field(kw_only=True)
    limit_seconds: float = field(kw_only=True)
    say: Callable[[str], None] = field(kw_only=True)
    merges: bool = field(default=True, init=False)
    versions: dict[str, str] = field(default_factory=dict, init=False)
    phases: dict[str, Phase] = field(default_factory=dict, init=False)
    checks: list[str] = field(default_factory=list, init=False)
    failure: str = field(default="", init=False)

    def perform(self, driver: Driver, *, only_commands: bool) -> None:
        """Call every phase in order; the first write that fails ends it."""
        hello = driver.hello()
        self.versions = hello["versions"]
        self.merges = hello["merges"]
        if not self.merges:
            self.checks.append("not checked: merges nothing")
        self.write(driver, "first use", "first_use", *(str(path) for path in self.inputs.first_use))
        self.write(driver, "load", "load", str(self.inputs.load))
        for number, path in enumerate(self.inputs.upserts, start=1):
            self.write(driver, f"upsert {number}", "upsert", str(path))
        if not only_commands:
            self.read_and_compact(driver)
        if self.peer.has_commands:
            self.commands(driver)

    def read_and_compact(self, driver: Driver) -> None:
        """Delete by key, then read and check, before compaction and after it."""
        self.write(driver, "delete", "delete", str(self.inputs.delete))
        self.reads(driver, "unmerged")
        self.check(driver, "unmerged")
        if self.write(driver, "compact", "compact"):
            return
        self.reads(driver, "compacted")
        self.check(driver, "compacted")

    def commands(self, driver: Driver) -> None:
        """Run every command of SQL on a table of its own, each once on a small one before."""
        limit = self.limit_seconds
        driver.call("turn_to", "bench.first_use", limit_seconds=limit)
        for step in first_steps(self.inputs):
            driver.call("command", step.statement, str(step.source), limit_seconds=limit)
        driver.call("turn_to", TABLE, limit_seconds=limit)
        driver.call("load", str(self.inputs.load), limit_seconds=limit)
        for step in steps(self.inputs):
            self.write(driver, step.phase, "command", step.statement, str(step.source))
        self.check(driver, "commands", expected=COMMANDED)

    def write(self, driver: Driver, name: str, what: str, *arguments: str) -> str:
        """Measure one change; returns why a system has no such thing, if it says so."""
        before = _files(self.folder / "table")
        with self._phase(name):
            answer, peak = driver.call(what, *arguments, limit_seconds=self.limit_seconds)
        after = _files(self.folder / "table")
        reason = answer["answer"] or ""
        self.phases[name] = Phase(
            seconds=None if reason else answer["seconds"][0],
            bytes_written=sum(file[0] for file in (after - before)),
            peak_bytes=peak,
            reason=reason,
        )
        return str(reason)

    def reads(self, driver: Driver, state: str) -> None:
        """Measure every read; one that fails leaves the others alone."""
        low, high = self.inputs.key_range
        arguments: dict[str, tuple[int, ...]] = {
            "key_range": (low, high),
            "lookup": (self.inputs.key,),
        }
        for what in READS:
            name = f"{what}, {state}"
            try:
                with self._phase(name):
                    answer, peak = driver.call(
                        what,
                        *arguments.get(what, ()),
                        times=1 + REPEATS,
                        limit_seconds=self.limit_seconds,
                    )
            except PhaseError:
                continue
            cold, *warm = answer["seconds"]
            self.phases[name] = Phase(
                seconds=statistics.median(warm or [cold]),
                cold_seconds=cold,
                peak_bytes=peak,
            )
            self._count(name, what, answer)

    def check(self, driver: Driver, state: str, *, expected: str = CHANGED) -> None:
        """Compare the rows of the table with the expected ones."""
        if not self.merges:
            return
        self.say(f"{self.peer.name}: check, {state}")
        target = self.folder / f"export-{state}"
        driver.call("export", str(target), limit_seconds=EXPORT_SECONDS)
        difference = self.oracle.difference(target, expected=expected)
        self.checks.append(f"{state}: {difference or 'equal'}")
        shutil.rmtree(target)

    def _count(self, name: str, what: str, answer: dict[str, Any]) -> None:
        expected = {
            "lookup": self.oracle.rows_between(self.inputs.key, self.inputs.key + 1),
            "key_range": self.oracle.rows_between(*self.inputs.key_range),
            "dump": self.oracle.rows,
        }
        rows = answer["answer"]
        if self.merges and rows is not None and what in expected and rows != expected[what]:
            self.checks.append(f"{name}: {rows:,} rows, expected {expected[what]:,}")

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self.say(f"{self.peer.name}: {name}")
        try:
            yield
        except PhaseTimeout as error:
            self.phases[name] = Phase(reason=str(error))
            self.failure = f"{name}: {error}"
            raise
        except PhaseError as error:
            self.phases[name] = Phase(reason="failed")
            self.failure = f"{name}: {error}"
            raise


def _files(folder: Path) -> set[tuple[int, int, str]]:
    """Return size, time of change and path of every file."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            state = path.stat()
            found.add((state.st_size, state.st_mtime_ns, str(path)))
    return found

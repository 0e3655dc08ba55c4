"""One system through the whole workload."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.commands import TABLE, first_steps, steps
from benchmarks.peers.driver import PhaseError
from benchmarks.peers.environments import Peer
from benchmarks.peers.inputs import Inputs
from benchmarks.peers.oracle import CHANGED, COMMANDED, Oracle
from benchmarks.peers.recorder import Recorder, record
from benchmarks.peers.result import SystemResult

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

    def perform(recorder: Recorder, hello: dict[str, Any]) -> None:
        run = _Run(peer, inputs, oracle, recorder, merges=hello["merges"])
        run.perform(only_commands=only_commands)

    return record(peer, perform, folder=folder, limit_seconds=limit_seconds, say=say)


@dataclass
class _Run:
    peer: Peer
    inputs: Inputs
    oracle: Oracle
    recorder: Recorder
    merges: bool = field(kw_only=True)

    def perform(self, *, only_commands: bool) -> None:
        """Call every phase in order; the first write that fails ends it."""
        if not self.merges:
            self.recorder.checks.append("not checked: merges nothing")
        write = self.recorder.write
        write("first use", "first_use", *(str(path) for path in self.inputs.first_use))
        write("load", "load", str(self.inputs.load))
        for number, path in enumerate(self.inputs.upserts, start=1):
            write(f"upsert {number}", "upsert", str(path))
        if not only_commands:
            self.read_and_compact()
        if self.peer.has_commands:
            self.commands()

    def read_and_compact(self) -> None:
        """Delete by key, then read and check, before compaction and after it."""
        self.recorder.write("delete", "delete", str(self.inputs.delete))
        self.reads("unmerged")
        self.check("unmerged")
        if self.recorder.write("compact", "compact"):
            return
        self.reads("compacted")
        self.check("compacted")

    def commands(self) -> None:
        """Run every command of SQL on a table of its own, each once on a small one before."""
        self.recorder.call("turn_to", "bench.first_use")
        for step in first_steps(self.inputs):
            self.recorder.call("command", step.statement, str(step.source))
        self.recorder.call("turn_to", TABLE)
        self.recorder.call("load", str(self.inputs.load))
        for step in steps(self.inputs):
            self.recorder.write(step.phase, "command", step.statement, str(step.source))
        self.check("commands", expected=COMMANDED)

    def reads(self, state: str) -> None:
        """Measure every read; one that fails leaves the others alone."""
        low, high = self.inputs.key_range
        arguments: dict[str, tuple[int, ...]] = {
            "key_range": (low, high),
            "lookup": (self.inputs.key,),
        }
        for what in READS:
            name = f"{what}, {state}"
            with suppress(PhaseError):
                given = arguments.get(what, ())
                rows = self.recorder.read(name, what, *given, times=1 + REPEATS)
                self._count(name, what, rows)

    def check(self, state: str, *, expected: str = CHANGED) -> None:
        """Compare the rows of the table with the expected ones."""
        if not self.merges:
            return
        self.recorder.say(f"{self.peer.name}: check, {state}")
        target = self.recorder.folder / f"export-{state}"
        self.recorder.driver.call("export", str(target), limit_seconds=EXPORT_SECONDS)
        difference = self.oracle.difference(target, expected=expected)
        self.recorder.checks.append(f"{state}: {difference or 'equal'}")
        shutil.rmtree(target)

    def _count(self, name: str, what: str, rows: int | None) -> None:
        expected = {
            "lookup": self.oracle.rows_between(self.inputs.key, self.inputs.key + 1),
            "key_range": self.oracle.rows_between(*self.inputs.key_range),
            "dump": self.oracle.rows,
        }
        if self.merges and rows is not None and what in expected and rows != expected[what]:
            self.recorder.checks.append(f"{name}: {rows:,} rows, expected {expected[what]:,}")

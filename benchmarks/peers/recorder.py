"""One system from its start to its end: calls measured, failures told, nothing left over."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.driver import Driver, PhaseError, PhaseTimeout
from benchmarks.peers.environments import Peer, interpreter
from benchmarks.peers.result import Phase, SystemResult
from benchmarks.peers.turns import HandOn, alone


@dataclass(kw_only=True)
class Recorder:
    """Calls a system that runs, and keeps what was measured.

    Args:
        name: of the system.
        driver: of its process.
        folder: holds its tables in ``table``.
        limit_seconds: for each phase.
        say: told what goes on.
        hand_on: asked for the next turn before each phase.
    """

    name: str
    driver: Driver
    folder: Path
    limit_seconds: float
    say: Callable[[str], None]
    hand_on: HandOn
    stage: int = 0
    """Which others are to have come to before it goes on."""
    phases: dict[str, Phase] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)
    failure: str = ""

    def call(self, what: str, *arguments: object) -> Any:
        """Call without measuring; return the answer."""
        return self.driver.call(what, *arguments, limit_seconds=self.limit_seconds)[0]["answer"]

    def write(self, name: str, what: str, *arguments: object) -> str:
        """Measure one change; returns why a system has no such thing, if it says so."""
        self.hand_on(self.stage)
        before = _files(self.folder / "table")
        with self._phase(name):
            answer, peak = self.driver.call(what, *arguments, limit_seconds=self.limit_seconds)
        after = _files(self.folder / "table")
        reason = answer["answer"] or ""
        self.phases[name] = Phase(
            seconds=None if reason else answer["seconds"][0],
            bytes_written=sum(file[0] for file in (after - before)),
            peak_bytes=peak,
            reason=reason,
        )
        return str(reason)

    def read(self, name: str, what: str, *arguments: object, times: int) -> Any:
        """Measure a read; the first time is kept by itself. Return the last answer.

        Raises:
            PhaseError: the system failed; others of its reads may not.
        """
        self.hand_on(self.stage)
        with self._phase(name):
            answer, peak = self.driver.call(
                what, *arguments, times=times, limit_seconds=self.limit_seconds
            )
        cold, *warm = answer["seconds"]
        self.phases[name] = Phase(
            seconds=statistics.median(warm or [cold]),
            cold_seconds=cold,
            times=tuple(warm or [cold]),
            peak_bytes=peak,
        )
        return answer["answer"]

    def stored(self) -> tuple[int, int]:
        """Return how many files its tables have, and their bytes."""
        files = _files(self.folder / "table")
        return len(files), sum(size for size, _, _ in files)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self.say(f"{self.name}: {name}")
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


def record(
    peer: Peer,
    perform: Callable[[Recorder, dict[str, Any]], None],
    *,
    folder: Path,
    limit_seconds: float,
    say: Callable[[str], None],
    hand_on: HandOn = alone,
) -> SystemResult:
    """Start a system, let it perform, and return its figures; what failed is in the result.

    Args:
        peer: the system.
        perform: given the recorder, and what the system said when it was ready.
        folder: scratch space, empty.
        limit_seconds: for each phase.
        say: told what goes on.
        hand_on: see ``turns``, where it is not the only one.
    """
    say(f"{peer.name}: environment")
    hello: dict[str, Any] = {"versions": {}}
    recorder = None
    failure = ""
    try:
        python = interpreter(peer)
        (folder / "table").mkdir(parents=True)
        command = [str(python), "-m", f"benchmarks.peers.systems.{peer.script}"]
        command += [str(folder / "table"), *peer.arguments]
        with Driver(command, log=folder / "log.txt", scratch=folder / "scratch") as driver:
            recorder = Recorder(
                name=peer.name,
                driver=driver,
                folder=folder,
                limit_seconds=limit_seconds,
                say=say,
                hand_on=hand_on,
            )
            hello = driver.hello()
            perform(recorder, hello)
    except (PhaseError, PhaseTimeout, RuntimeError) as error:
        failure = str(error)
    shutil.rmtree(folder / "table", ignore_errors=True)
    return SystemResult(
        name=peer.name,
        versions=hello["versions"],
        phases=recorder.phases if recorder else {},
        checked="; ".join(recorder.checks) if recorder else "",
        failure=(recorder.failure if recorder else "") or failure,
    )


def _files(folder: Path) -> set[tuple[int, int, str]]:
    """Return size, time of change and path of every file."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            state = path.stat()
            found.add((state.st_size, state.st_mtime_ns, str(path)))
    return found

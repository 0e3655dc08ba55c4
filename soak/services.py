"""Services of a soak: processes of their own, killed at random and begun again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from soak.report import family

_STOP_SECONDS = 20.0
_OUTLIVE_SECONDS = 10.0
_BEGIN_SECONDS = 60.0
_EXECUTORS = 0.75
"""The share of executors among those that are killed."""
_EXPECTED = ("ConflictError", "CommitConflictError", "LostPlaceError")
"""Kinds of failures that say to try again, which the service does."""
_COST_THREE = "cost three executors"


def serving(warehouse: str, *options: str) -> list[str]:
    """Return the command of a service."""
    command = [sys.executable, "-m", "arctic.cli", "serve", "--warehouse", warehouse]
    return [*command, "--output", "json", *options]


class ServiceProcess:
    """One ``arctic serve``, and what it said over all of its lives."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self._command = command
        self.name = name
        self.events: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        """What it said that it could not do, and does not try again by itself."""
        self.noise: list[str] = []
        """Lines that are no events."""
        self.serves = threading.Event()
        """Set while it is at work, and no longer only begun."""
        self._first: list[dict[str, float]] = []
        """Of each of its lives, after how many seconds it said an event for the first time."""
        self._began = 0.0
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self.begin()

    @property
    def pid(self) -> int | None:
        """Its process; None: it was killed."""
        return None if self._process is None else self._process.pid

    def begin(self) -> None:
        """Begin it."""
        self.serves.clear()
        self._first.append({})
        self._began = time.monotonic()
        process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._process = process
        self._reader = threading.Thread(target=self._listen, args=(process,), daemon=True)
        self._reader.start()

    def executors(self) -> list[int]:
        """Return the processes of its executors."""
        return [] if self.pid is None else [each for each in family(self.pid) if each != self.pid]

    def kill(self) -> list[int]:
        """Kill it, and return its executors, which must not outlive it for long."""
        executors = self.executors()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None
        return executors

    def ended_by_itself(self) -> str | None:
        """Say how it ended, if nobody told it to; None: it runs, or was killed."""
        code = None if self._process is None else self._process.poll()
        return None if code is None else f"{self.name} ended with exit code {code}"

    def end(self) -> str | None:
        """Tell it to end; return what was wrong with its end."""
        if self._process is None:
            return None
        self._process.terminate()
        began = time.monotonic()
        try:
            code = self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"{self.name} had not ended {_STOP_SECONDS:.0f} s after SIGTERM"
        if self._reader is not None:
            self._reader.join(_OUTLIVE_SECONDS)
        self._process = None
        took = time.monotonic() - began
        return f"{self.name} ended with exit code {code} after {took:.0f} s" if code else None

    def beginnings(self) -> str:
        """Say how long it took until it was at work, and until its first run had ended."""
        told = [f"begun {len(self._first)} times"]
        for event, what in (("serving", "at work"), ("optimized", "first run ended")):
            after = sorted(each[event] for each in self._first if event in each)
            if after:
                told.append(f"{what} after {after[0]:.0f} to {after[-1]:.0f} s")
        return ", ".join(told)

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._hear(line)

    def _hear(self, line: str) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            self.noise.append(line.rstrip())
            return
        self.events[said["event"]] += 1
        self._first[-1].setdefault(said["event"], time.monotonic() - self._began)
        if said["event"] == "serving":
            self.serves.set()
        if said["event"] == "failed":
            self._take(said)

    def _take(self, said: dict[str, str]) -> None:
        why = str(said.get("why"))
        is_expected = why.partition(":")[0] in _EXPECTED or _COST_THREE in why
        kind = "tried again" if is_expected else f"{said.get('table')} {said.get('what')}: {why}"
        (self.events if is_expected else self.failures)[kind] += 1


class Havoc:
    """Kills services and executors, and begins services again."""

    def __init__(
        self, services: Sequence[ServiceProcess], *, seed: int, every_seconds: float
    ) -> None:
        self._services = services
        self._draw = random.Random(seed)
        self._every = every_seconds
        self._next = time.monotonic() + every_seconds
        self._begin_at: dict[str, float] = {}
        self._orphaned: dict[int, float] = {}
        """Executors without a service, and until when they may be there."""
        self.killed: Counter[str] = Counter()
        self.failures: list[str] = []

    def tick(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        for service in self._services:
            if now >= self._begin_at.get(service.name, now + 1):
                del self._begin_at[service.name]
                service.begin()
            self._note(service.ended_by_itself())
        if now >= self._next:
            self._next = now + self._every * self._draw.uniform(0.5, 1.5)
            service = self._draw.choice(self._services)
            if self._draw.random() >= _EXECUTORS:
                self.strike(service, executor=None)
            elif executors := service.executors():
                self.strike(service, executor=self._draw.choice(executors))
        self._bury(now)

    def end(self) -> None:
        """Begin again what was killed last, so that somebody is there for what is left.

        One that is told to end before it is at work ends as a command does that was only begun.
        """
        for service in self._services:
            if service.pid is None:
                service.begin()
        self._begin_at.clear()
        for service in self._services:
            if not service.serves.wait(_BEGIN_SECONDS):
                self.failures.append(
                    f"{service.name} was not at work {_BEGIN_SECONDS:.0f} s after it was begun"
                )
        end = time.monotonic() + _OUTLIVE_SECONDS
        while self._orphaned and time.monotonic() < end:
            self._bury(time.monotonic())
            time.sleep(0.1)

    def strike(self, service: ServiceProcess, *, executor: int | None) -> None:
        """Kill an executor of a service; None: the service itself."""
        if executor is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(executor, signal.SIGKILL)
            self.killed["executors"] += 1
        elif service.pid is not None:
            left, now = service.kill(), time.monotonic()
            self._orphaned |= dict.fromkeys(left, now + _OUTLIVE_SECONDS)
            self._begin_at[service.name] = now + self._draw.uniform(0.0, 3.0)
            self.killed["services"] += 1

    def _bury(self, now: float) -> None:
        for pid, until in list(self._orphaned.items()):
            if not _is_alive(pid):
                del self._orphaned[pid]
            elif now > until:
                del self._orphaned[pid]
                self.failures.append(f"executor {pid} outlived its service")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _note(self, failure: str | None) -> None:
        if failure is not None and failure not in self.failures:
            self.failures.append(failure)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")

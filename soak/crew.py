"""The processes of a soak: begun, listened to, and ended group after group.

Rules:
    - Whatever hangs is ended, and counts as a failure: a soak takes as long as it was told, and a
      few minutes.
"""

from __future__ import annotations

import multiprocessing
import queue
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from multiprocessing.context import ForkServerProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event

from soak.report import Report
from soak.workers import Place, Work, run

_PRINT_SECONDS = 5.0
_END_SECONDS = 240.0
_MORE_HANDLES = 8


@dataclass(frozen=True, slots=True)
class Group:
    """Processes that are told to stop together."""

    stop: Event
    processes: tuple[ForkServerProcess, ...]


class Crew:
    """The processes, and what they say."""

    def __init__(self, say: Callable[[str], None]) -> None:
        # To import everything takes seconds of a core: once, and not in each process.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(
            ["arctic.api.tables", "arctic.api.rows", "soak.workers"]
        )
        self._say = say
        self._reports: Queue[Report] = self._context.Queue()
        self._begun: set[str] = set()
        self.heard: dict[str, list[Report]] = defaultdict(list)
        self.failures: list[str] = []

    @property
    def last(self) -> dict[str, Report]:
        """The last word of each process."""
        return {name: reports[-1] for name, reports in self.heard.items() if reports}

    def begin(self, works: Mapping[str, Work], place: Place) -> Group:
        """Begin a process for each work, by its name; the place's ``stop`` is replaced."""
        stop = self._context.Event()
        mine = replace(place, stop=stop)
        processes = tuple(
            self._context.Process(target=run, args=(work, name, mine, self._reports), name=name)
            for name, work in works.items()
        )
        for process in processes:
            process.start()
        self._begun |= works.keys()
        return Group(stop, processes)

    def wait_for_all(self) -> None:
        """Return once every process is at work: Spark takes a minute for it on a busy machine."""
        until = time.monotonic() + _END_SECONDS
        while time.monotonic() < until and not self._begun <= self.heard.keys():
            self._hear(0.2)

    def listen(self, seconds: float, each: Callable[[], None] = lambda: None) -> None:
        """Listen for so long, and print from time to time; ``each`` is called once a second."""
        self._say(" seconds process    operations  retried  RSS MiB  handles")
        until = time.monotonic() + seconds
        printed = called = time.monotonic()
        while (now := time.monotonic()) < until:
            self._hear(min(1.0, until - now))
            if time.monotonic() - called > 1.0:
                called = time.monotonic()
                each()
            if time.monotonic() - printed > _PRINT_SECONDS:
                printed = time.monotonic()
                self.print()

    def end(self, group: Group) -> None:
        """Wait for the last word of each; one that says none is ended."""
        group.stop.set()
        until = time.monotonic() + _END_SECONDS
        names = {process.name for process in group.processes}
        while time.monotonic() < until and any(not self._has_ended(name) for name in names):
            self._hear(0.2)
            if all(not each.is_alive() for each in group.processes) and self._reports.empty():
                break
        for process in group.processes:
            process.join(10)
            if process.is_alive():
                process.kill()
                process.join()
            if not self._has_ended(process.name):
                self.failures.append(
                    f"{process.name} said nothing more; exit code {process.exitcode}"
                )

    def print(self) -> None:
        """Say how far each process is."""
        for name, last in self.last.items():
            self._say(
                f"{last.seconds:8.0f} {name:<10} {last.operations:10,} {last.retried:8,} "
                f"{last.rss_bytes / 2**20:8,.0f} {last.handles:8,}"
                + (f"  begun anew {last.begun_anew}" if last.begun_anew else "")
                + (f"  FAILED {len(last.failures)}" if last.failures else "")
                + "".join(f"  {what} {number:,.2f}" for what, number in last.measures.items())
            )

    def counts(self, writer: str, table: str) -> int:
        """Return how many operations of a writer are in a table, whichever process did them."""
        return sum(
            report.counts.get(table, 0)
            for name, report in self.last.items()
            if name.partition(" ")[0] == writer
        )

    def found(self) -> list[str]:
        """Return everything that was not as it must be, handles that are kept among it."""
        told = [each for report in self.last.values() for each in report.failures]
        return [*self.failures, *told, *self._kept_handles()]

    def _kept_handles(self) -> list[str]:
        """Compare the last quarter of each process with its second one: the first warms up."""
        kept = []
        for name, reports in self.heard.items():
            quarter = len(reports) // 4
            if quarter < 2:
                continue
            early = max(report.handles for report in reports[quarter : 2 * quarter])
            late = min(report.handles for report in reports[-quarter:])
            if late > early + _MORE_HANDLES:
                kept.append(f"{name}: at least {late} handles at the end, at most {early} before")
        return kept

    def _hear(self, timeout: float) -> None:
        try:
            report = self._reports.get(timeout=timeout)
        except queue.Empty:
            return
        self.heard[report.name].append(report)

    def _has_ended(self, name: str) -> bool:
        return bool(self.heard[name]) and self.heard[name][-1].is_last

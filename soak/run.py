"""One soak: processes begun, watched and ended in turn, and what they left compared.

Rules:
    - First the writers stop, then who keeps house and reads, then the follower, which reads to the
      end of the changes.
    - Whatever hangs is ended, and counts as a failure: a soak takes as long as it was told, and a
      few minutes.
"""

from __future__ import annotations

import multiprocessing
import queue
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.context import ForkServerProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path

import arctic
from arctic.table.expire_report import ExpiredKind
from soak.model import SCHEMA, TABLES, WRITERS, Replay, Row, rows_of
from soak.report import Report
from soak.workers import Place, Work, expire, follow, optimize, read, run, stream, write

_PRINT_SECONDS = 5.0
_END_SECONDS = 240.0
_MORE_HANDLES = 8
_PROPERTIES = {"self-optimizing.min-plan-interval": "0"}
_CLEAN = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
}


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a soak found."""

    failures: list[str] = field(default_factory=list)
    orphans: int = 0
    rows: int = 0
    operations: int = 0
    retried: int = 0

    @property
    def is_good(self) -> bool:
        """Whether everything was as it must be."""
        return not self.failures


class Soak:
    """The processes of a soak."""

    def __init__(self, folder: Path, *, seed: int, spark: bool, say: Callable[[str], None]) -> None:
        # To import everything takes seconds of a core: once, and not in each process.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["arctic.api", "soak.workers"])
        self._warehouse = str(folder / "warehouse")
        self._seed = seed
        self._spark = spark
        self._say = say
        self._reports: Queue[Report] = self._context.Queue()
        self._heard: dict[str, list[Report]] = defaultdict(list)
        self._outcome = Outcome()
        stream_work: Work = _by_spark() if spark else stream
        self._groups: list[dict[str, Work]] = [
            {
                **{name: partial(write, writer=name) for name in WRITERS if name != "stream"},
                "stream": stream_work,
            },
            {"optimizer": optimize, "expirer": expire, "reader-1": read, "reader-2": read},
            {"follower": follow},
        ]

    def run(self, seconds: float) -> Outcome:
        """Let everybody work for so long, and compare what is left."""
        for table, partition_by in TABLES.items():
            arctic.create_table(
                table,
                SCHEMA,
                primary_key=["id"],
                partition_by=partition_by,
                properties=_PROPERTIES,
                warehouse=self._warehouse,
            )
        self._say(" seconds process    operations  retried  RSS MiB  handles")
        groups = [self._begun(works) for works in self._groups]
        self._wait_for_all()
        self._listen(time.monotonic() + seconds)
        for stop, processes in groups:
            stop.set()
            self._end(processes)
        self._print()
        self._compare()
        self._check_handles()
        return self._outcome

    def _begun(self, works: dict[str, Work]) -> tuple[Event, list[ForkServerProcess]]:
        stop = self._context.Event()
        place = Place(warehouse=self._warehouse, seed=self._seed, spark=self._spark, stop=stop)
        processes = [
            self._context.Process(target=run, args=(work, name, place, self._reports), name=name)
            for name, work in works.items()
        ]
        for process in processes:
            process.start()
        return stop, processes

    def _wait_for_all(self) -> None:
        """Return once every process is at work: Spark takes a minute for it on a busy machine."""
        names = {name for works in self._groups for name in works}
        until = time.monotonic() + _END_SECONDS
        while time.monotonic() < until and not names <= self._heard.keys():
            self._hear(0.2)

    def _listen(self, until: float) -> None:
        printed = time.monotonic()
        while (now := time.monotonic()) < until:
            self._hear(min(1.0, until - now))
            if time.monotonic() - printed > _PRINT_SECONDS:
                printed = time.monotonic()
                self._print()

    def _hear(self, timeout: float) -> None:
        try:
            report = self._reports.get(timeout=timeout)
        except queue.Empty:
            return
        self._heard[report.name].append(report)

    def _end(self, processes: list[ForkServerProcess]) -> None:
        """Wait for the last word of each; one that says none is ended."""
        until = time.monotonic() + _END_SECONDS
        names = {process.name for process in processes}
        while time.monotonic() < until and any(not self._has_ended(name) for name in names):
            self._hear(0.2)
            if all(not process.is_alive() for process in processes) and self._reports.empty():
                break
        for process in processes:
            process.join(10)
            if process.is_alive():
                process.kill()
                process.join()
            if not self._has_ended(process.name):
                self._outcome.failures.append(
                    f"{process.name} said nothing more; exit code {process.exitcode}"
                )

    def _has_ended(self, name: str) -> bool:
        return bool(self._heard[name]) and self._heard[name][-1].is_last

    def _print(self) -> None:
        for name, reports in self._heard.items():
            if reports:
                last = reports[-1]
                self._say(
                    f"{last.seconds:8.0f} {name:<10} {last.operations:10,} {last.retried:8,} "
                    f"{last.rss_bytes / 2**20:8,.0f} {last.handles:8,}"
                    + (f"  begun anew {last.begun_anew}" if last.begun_anew else "")
                    + (f"  FAILED {len(last.failures)}" if last.failures else "")
                )

    def _compare(self) -> None:
        last = {name: reports[-1] for name, reports in self._heard.items() if reports}
        outcome = self._outcome
        outcome.failures += [each for report in last.values() for each in report.failures]
        outcome.operations = sum(report.operations for report in last.values())
        outcome.retried = sum(report.retried for report in last.values())
        for table in TABLES:
            want: dict[int, Row] = {}
            for writer in WRITERS:
                count = last[writer].counts.get(table, 0) if writer in last else 0
                want |= Replay(seed=self._seed, table=table, writer=writer).to(count)
            self._check_rows(table, want)
            self._check_orphans(table)
            arctic.optimize(table, type="full", warehouse=self._warehouse)
            self._check_rows(table, want)
            outcome.rows += len(want)

    def _check_rows(self, table: str, want: dict[int, Row]) -> None:
        found = rows_of(arctic.read(table, warehouse=self._warehouse).read_all())
        if sorted(found) != sorted(want.values()):
            lost = sorted(set(want.values()) - set(found))
            wrong = sorted(set(found) - set(want.values()))
            self._outcome.failures.append(
                f"{table}: {len(found)} rows where the oracle has {len(want)}; "
                f"lost {lost[:3]}, wrong {wrong[:3]}"
            )

    def _check_orphans(self, table: str) -> None:
        report = arctic.expire(table, options=_CLEAN, dry_run=True, warehouse=self._warehouse)
        orphans = [item.name for item in report.items if item.kind is ExpiredKind.ORPHAN]
        self._outcome.orphans += len(orphans)
        if orphans:
            self._outcome.failures.append(
                f"{table}: {len(orphans)} files that nobody refers to: {orphans[:5]}"
            )

    def _check_handles(self) -> None:
        """Compare the last quarter of each process with its second one: the first warms up."""
        for name, reports in self._heard.items():
            quarter = len(reports) // 4
            if quarter < 2:
                continue
            early = max(report.handles for report in reports[quarter : 2 * quarter])
            late = min(report.handles for report in reports[-quarter:])
            if late > early + _MORE_HANDLES:
                self._outcome.failures.append(
                    f"{name}: at least {late} handles at the end, at most {early} before"
                )


def _by_spark() -> Work:
    # Only where it is asked for: a machine without Java can soak the rest.
    from soak.spark_stream import stream_by_spark  # noqa: PLC0415 - see above

    return stream_by_spark

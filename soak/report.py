"""What a process says of itself, once a second."""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path

from arctic.errors import ConflictError

_EVERY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One process at one moment."""

    name: str
    seconds: float
    """Since it began."""
    operations: int
    retried: int
    """Operations that said with a ``ConflictError`` to try again."""
    begun_anew: int
    """Times that a follower's place had expired."""
    failures: tuple[str, ...]
    rss_bytes: int
    """Of the process and those below it; 0 where the system does not tell."""
    handles: int
    """Open files and the like, of the same processes."""
    counts: dict[str, int]
    """Operations that were committed to each table, by a writer."""
    measures: dict[str, float]
    """What else it measured, by name."""
    is_last: bool


class Reporter:
    """Counts what one process does, and tells it."""

    def __init__(self, name: str, reports: Queue[Report]) -> None:
        self._name = name
        self._reports = reports
        self._began = time.monotonic()
        self._told = 0.0
        self.operations = 0
        self.retried = 0
        self.begun_anew = 0
        self.failures: list[str] = []
        self.counts: dict[str, int] = {}
        self.measures: dict[str, float] = {}

    def failed(self, error: BaseException) -> None:
        """Note what should not have happened, unless it says to try again."""
        if isinstance(error, ConflictError):
            self.retried += 1
        else:
            self.failures.append("".join(traceback.format_exception(error)))

    def tell(self, *, is_last: bool = False) -> None:
        """Say how far this process is, not more often than once a second."""
        now = time.monotonic()
        if not is_last and now - self._told < _EVERY_SECONDS:
            return
        self._told = now
        self._reports.put(
            Report(
                name=self._name,
                seconds=now - self._began,
                operations=self.operations,
                retried=self.retried,
                begun_anew=self.begun_anew,
                failures=tuple(self.failures),
                rss_bytes=_rss_bytes(),
                handles=_handles(),
                counts=dict(self.counts),
                measures=dict(self.measures),
                is_last=is_last,
            )
        )


def family(process: int) -> list[int]:
    """Return a process and those below it, such as a JVM, where the system tells."""
    found, waiting = [], [process]
    while waiting:
        each = waiting.pop()
        found.append(each)
        # The system lists children by the thread that began them; either may end meanwhile.
        listed: list[Path] = []
        with contextlib.suppress(OSError):
            listed += Path(f"/proc/{each}/task").glob("*/children")
        for path in listed:
            with contextlib.suppress(OSError):
                waiting += map(int, path.read_text(encoding="ascii").split())
    return found


def _rss_bytes() -> int:
    pages = 0
    for process in family(os.getpid()):
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _handles() -> int:
    handles = 0
    for process in family(os.getpid()):
        with contextlib.suppress(OSError):
            handles += len(os.listdir(f"/proc/{process}/fd"))
    return handles

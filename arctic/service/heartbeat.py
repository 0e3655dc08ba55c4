"""What a service says again and again while it works, whatever else it is busy with.

Rules:
    - Leases are extended several times before they would expire, also while a look takes long, and
      where the storage of another table hangs.
    - A service that goes on marks the namespaces, so that writers leave their tables to it. One
      that does what is due and ends does not: nobody would look after what is written then.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from arctic.patient_calls import PatientCalls
from arctic.service.ending import Ending
from arctic.service.event_log import why
from arctic.service.table_work import TableWork

_BEATS_A_LEASE = 4
_END_SPARE_SECONDS = 2.0
"""At the end, for calls that are under way and those who are told of it."""
_THREADS = 4
_TABLE_SECONDS = 30.0
"""How long the lease of a table is waited for."""


def _extending() -> PatientCalls[str, None]:
    return PatientCalls(threads=_THREADS, seconds=_TABLE_SECONDS)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A thread that says it."""

    work: TableWork
    busy: Callable[[], list[str]]
    """The tables that are worked on."""
    groups: Callable[[], list[str]]
    """That the service looks after now; none: it marks nothing."""
    ending: Ending
    _extends: PatientCalls[str, None] = field(default_factory=_extending)

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat until the block is left."""
        ended = threading.Event()
        thread = threading.Thread(
            target=self._beat, args=(ended,), name="arctic-heartbeat", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            ended.set()
            self.ending.begin()
            # A catalog that does not answer keeps the marks until they expire.
            thread.join(self.ending.left_seconds(spare=_END_SPARE_SECONDS))

    def _beat(self, ended: threading.Event) -> None:
        while True:
            groups = self.groups()
            if groups:
                self.work.mark(groups)
            if ended.wait(self.work.lease_ms / 1_000 / _BEATS_A_LEASE):
                break
            for table, failure in self._extends.run(self.work.extend, self.busy()):
                if failure is not None:
                    said = why(failure)
                    self.work.say("failed", table=table, what="extending the lease", why=said)
        groups = self.groups()
        if groups:
            self.work.unmark(groups)

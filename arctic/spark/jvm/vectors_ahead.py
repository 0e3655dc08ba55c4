"""Dead rows of files, looked up while a command is planned that is going to ask for them.

Spark asks when the rows are about to be read: after it has planned them, perhaps several times, and
read the source of a MERGE. Who runs a command reads what it plans, so the look-up begins with the
first plan and is over by then, or waited for.

Rules:
    - What goes wrong ahead of time is met again by whoever asks, and is told there.
    - A query that may only be explained looks nothing up.

Must not know: how rows are looked up.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress

from arctic.columns.integers.row_set import RowSet
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.job.vectors.deletion_vectors import DeletionVectors
from arctic.spark.base.handed_on import work_of

_log = logging.getLogger(__name__)


class VectorsAhead:
    """Answers, and remembers; may be asked by several threads."""

    def __init__(self) -> None:
        self._vectors = DeletionVectors()
        self._lock = threading.Lock()
        self._begun: dict[tuple[str, ...], Future[None]] = {}
        self._commands = 0
        # One at a time: each has threads of its own, as many as there are cores.
        self._ahead = ThreadPoolExecutor(max_workers=1, thread_name_prefix="arctic-vectors")

    @contextmanager
    def during_command(self) -> Iterator[None]:
        """Take what is planned meanwhile for something that is going to be read."""
        with self._lock:
            self._commands += 1
        try:
            yield
        finally:
            with self._lock:
                self._commands -= 1

    def planned(self, work: Sequence[str]) -> None:
        """Take note of a plan, and begin its look-up if a command runs.

        Args:
            work: as ``work_texts`` writes it.
        """
        texts = tuple(work)
        with self._lock:
            if self._commands and texts not in self._begun:
                self._begun[texts] = self._ahead.submit(self._prepare, texts)

    def dead_rows(self, work: Sequence[str], runner: TaskRunner) -> list[RowSet]:
        """Return what ``DeletionVectors.dead_rows`` does.

        Args:
            work: as ``work_texts`` writes it.
            runner: looks up what is too much for this process.

        Raises:
            ArcticError: as there.
        """
        with self._lock:
            begun = self._begun.get(tuple(work))
        if begun is not None:
            begun.result()
        return self._vectors.dead_rows(work_of(work), runner)

    def _prepare(self, texts: tuple[str, ...]) -> None:
        try:
            self._vectors.prepare(work_of(texts))
        except Exception as error:  # noqa: BLE001 - who asks meets it again
            _log.debug("dead rows are looked up later: %s", error)
        finally:
            with self._lock, suppress(KeyError):
                del self._begun[texts]

"""Several writes whose commits are asked for at once, so that their rows become visible together.

Each write goes its own way, down to where it asks the catalog for an attempt at its commit. There
it waits until all others have come as far, or have ended. Then the catalog is asked for all of the
attempts, and each goes on with what came of its own: one that lost a race is built anew, and waits
for the others again.

Rules:
    - Only one of them works at a time, though each is a thread: what they need of memory does not
      add up, and nothing of theirs has to bear others beside it.
    - One that fails before anything was asked for ends all of them: nothing of any is committed.
    - Where a catalog cannot commit to all of their stores at once, it is asked for one after the
      other: see ``sending``.

Must not know: what is written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from queue import SimpleQueue

from pyiceberg.exceptions import CommitStateUnknownException

from arctic.iceberg.commits.asking.sending import (
    WITH_OTHERS,
    AbandonedError,
    Outcome,
    sent,
)
from arctic.iceberg.commits.asking.staged_snapshot import StagedSnapshot


def commit_jointly(works: Sequence[Callable[[], None]]) -> None:
    """Carry out writes, and ask for their commits at once.

    Args:
        works: each writes to a table of its own.

    Raises:
        Exception: that of the first one that failed; where others have landed by then, they stay.
    """
    if len(works) < 2:
        for work in works:
            work()
        return
    writes = [_Write(work) for work in works]
    try:
        if all(write.begin() for write in writes):
            _take_turns([write for write in writes if write.attempt is not None])
    finally:
        for write in writes:
            write.abandon()
    failed = [write.error for write in writes if write.error is not None]
    failed.sort(key=lambda error: isinstance(error, AbandonedError))
    if failed:
        raise failed[0]


def _take_turns(waiting: Sequence[_Write]) -> None:
    while waiting:
        try:
            outcomes = sent([write.attempt for write in waiting if write.attempt is not None])
        except BaseException:
            for write in waiting:
                write.go_on(CommitStateUnknownException("interrupted while the catalog was asked"))
            raise
        for write, outcome in zip(waiting, outcomes, strict=True):
            write.go_on(outcome)
        waiting = [write for write in waiting if write.attempt is not None]


class _Write:
    """A thread that works only while it is told to go on."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.attempt: StagedSnapshot | None = None
        """What it waits for; None: it has ended, or works."""
        self.error: BaseException | None = None
        self._work = work
        self._answers: SimpleQueue[Outcome] = SimpleQueue()
        self._steps: SimpleQueue[None] = SimpleQueue()
        self._is_abandoned = False
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._run,), name="arctic-write", daemon=True
        )

    def begin(self) -> bool:
        """Work until there is something to ask for, or until the end; say whether all went well."""
        self._thread.start()
        self._steps.get()
        return self.error is None

    def go_on(self, outcome: Outcome) -> None:
        """Work on with an answer, until there is something to ask for again, or until the end."""
        self.attempt = None
        self._answers.put(outcome)
        self._steps.get()

    def abandon(self) -> None:
        """End it; nothing more is asked for."""
        self._is_abandoned = True
        self._answers.put(_abandoned())
        if self._thread.ident is not None:
            self._thread.join()

    def wait_for_others(self, attempt: StagedSnapshot) -> Outcome:
        """Return what came of an attempt, when it was asked for; called by what it carries out."""
        if self._is_abandoned:
            return _abandoned()
        self.attempt = attempt
        self._steps.put(None)
        return self._answers.get()

    def _run(self) -> None:
        WITH_OTHERS.set(self.wait_for_others)
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the threads meet
            self.error = error
        finally:
            self.attempt = None
            self._steps.put(None)


def _abandoned() -> AbandonedError:
    return AbandonedError(
        "a write to another table, which was to become visible together with this one, failed"
    )

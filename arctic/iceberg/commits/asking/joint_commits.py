"""Several writes whose commits are asked for at once, so that their rows become visible together.

Each write goes its own way, down to where it asks the catalog for an attempt at its commit. There
it waits until all others have come as far, or have ended. Then the catalog is asked for all of the
attempts, and each goes on with what came of its own. Where all were refused because some have lost
a race, those alone are built anew; the others wait as they are, and all are asked for again.

Rules:
    - Only one of them works at a time, though each is a thread: what they need of memory to write
      does not add up, and nothing of theirs has to bear others beside it. One that waits keeps the
      rows that it was given, and what it knows of its files.
    - Each is of a table with a key: an attempt at a branch is not asked for so.
    - Only the attempts that lost are built anew, and only the first of them waits before it tries
      again. If all were built anew, somebody who commits to one of many tables every second would
      be faster every time.
    - One that fails ends all of them: what has not landed by then is not committed.
    - A write deletes the files of its attempt when it is told that nobody has asked for it. So no
      attempt that was asked for is told that, even if its answer is lost, as after an interrupt.
    - Where a catalog cannot commit to all of their stores at once, it is asked for one after the
      other: see ``sending``.

Must not know: what is written.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from queue import SimpleQueue

from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from arctic.iceberg.commits.asking.sending import (
    WITH_OTHERS,
    AbandonedError,
    Outcome,
    is_overtaken,
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
            _take_turns(writes)
    finally:
        for write in writes:
            write.abandon()
    failed = [write.error for write in writes if write.error is not None]
    failed.sort(key=lambda error: isinstance(error, AbandonedError))
    if failed:
        raise failed[0]


def _take_turns(writes: Sequence[_Write]) -> None:
    while all(write.error is None for write in writes):
        attempts = {write: attempt for write in writes if (attempt := write.ask()) is not None}
        if not attempts:
            return
        outcomes = dict(zip(attempts, sent([*attempts.values()]), strict=True))
        told = _lost(attempts, outcomes) or [*attempts]
        told.sort(key=lambda write: outcomes[write] is None)
        for write in attempts.keys() - told:
            write.stay()
        for place, write in enumerate(told):
            write.go_on(outcomes[write], pauses=not place)


def _lost(
    attempts: Mapping[_Write, StagedSnapshot], outcomes: Mapping[_Write, Outcome]
) -> list[_Write]:
    """Return those because of which nothing landed; none where something has, or nobody knows."""
    if not all(isinstance(outcome, CommitFailedException) for outcome in outcomes.values()):
        return []
    return [write for write, attempt in attempts.items() if is_overtaken(attempt)]


class _Write:
    """A thread that works only while it is told to go on."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.error: BaseException | None = None
        self._work = work
        self._attempt: StagedSnapshot | None = None
        """What it waits for; None: it has ended, or works."""
        self._is_asked = False
        """Whether its attempt may have landed, and it was not told yet."""
        self._answers: SimpleQueue[Outcome] = SimpleQueue()
        self._steps: SimpleQueue[None] = SimpleQueue()
        self._is_abandoned = False
        self._pauses = True
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._run,), name="arctic-write", daemon=True
        )

    def begin(self) -> bool:
        """Work until there is something to ask for, or until the end; say whether all went well."""
        self._thread.start()
        self._steps.get()
        return self.error is None

    def ask(self) -> StagedSnapshot | None:
        """Return the attempt that it waits for, which is asked for from now on."""
        self._is_asked = self._attempt is not None
        return self._attempt

    def stay(self) -> None:
        """Wait on: the attempt did not land, and is asked for again as it is."""
        self._is_asked = False

    def go_on(self, outcome: Outcome, *, pauses: bool) -> None:
        """Work on with an answer, until there is something to ask for again, or until the end.

        Args:
            outcome: of its attempt.
            pauses: whether it may wait before the next one.
        """
        self._attempt, self._pauses = None, pauses
        self._answers.put(outcome)
        self._is_asked = False
        self._steps.get()

    def abandon(self) -> None:
        """End it; nothing more is asked for."""
        self._is_abandoned = True
        self._answers.put(_unknown() if self._is_asked else _abandoned())
        if self._thread.ident is not None:
            self._thread.join()

    def wait_for_others(self, attempt: StagedSnapshot) -> Outcome:
        """Return what came of an attempt, when it was asked for; called by what it carries out."""
        if self._is_abandoned:
            return _abandoned()
        self._attempt = attempt
        self._steps.put(None)
        return self._answers.get()

    def pause(self, seconds: float) -> None:
        """Wait, unless another one has just done so; called by what it carries out."""
        if self._pauses:
            time.sleep(seconds)
        self._pauses = True

    def _run(self) -> None:
        WITH_OTHERS.set(self)
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the threads meet
            self.error = error
        finally:
            self._attempt = None
            self._steps.put(None)


def _abandoned() -> AbandonedError:
    return AbandonedError(
        "a write to another table, which was to become visible together with this one, failed"
    )


def _unknown() -> CommitStateUnknownException:
    return CommitStateUnknownException("interrupted before the answer of the catalog was told")

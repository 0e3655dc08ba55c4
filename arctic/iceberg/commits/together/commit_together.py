"""Several commits to one store, as one swap of its metadata that adds a snapshot of each.

Strategy: each is staged on what the one before will have made of the head. So each has its own
snapshot, sequence number and manifests, as if it had been committed alone and in this order, and
who reads changes sees no difference; but metadata is written once, and nobody races.

Rules:
    - All of them land, or none does.
    - One that refuses the head is left out, and the others are staged anew without it.
    - Where nobody knows whether they landed, each is told so.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

from pyiceberg.table import Table

from arctic.errors import ArcticError, CommitStateUnknownError, InternalError, StorageError
from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.catalogs.staged_metadata import with_updates
from arctic.iceberg.commits.asking.staged_snapshot import StagedSnapshot
from arctic.iceberg.commits.commit_loop import CommitResult, Stage, commit_snapshot


@dataclass(slots=True, eq=False)
class WaitingCommit:
    """A commit, and what came of it when another thread has carried it out."""

    table: Table
    stage: Stage
    outcome: CommitResult | ArcticError | None = None

    def landed(self) -> CommitResult:
        """Return the snapshot; raises what a commit alone would have raised."""
        if isinstance(self.outcome, CommitResult):
            return self.outcome
        raise self.outcome or InternalError(
            f"table {'.'.join(self.table.name())!r}: a commit waited, and nobody carried it out"
        )


def commit_together(commits: Sequence[WaitingCommit]) -> None:
    """Carry out commits to one store, in this order; each learns what came of its own.

    An interrupt is raised in this thread alone: the others learn that nobody knows.
    """
    left = list(commits)
    try:
        while left:
            left = _tried(left)
    finally:
        for each in commits:
            if each.outcome is None:
                each.outcome = CommitStateUnknownError(
                    f"table {'.'.join(each.table.name())!r}: the thread that committed for several "
                    "was interrupted; look whether the rows are there before writing again"
                )


def _tried(commits: Sequence[WaitingCommit]) -> list[WaitingCommit]:
    """Commit what can be; return those that are to be tried anew, because another one refused."""
    attempts = _Attempts(commits)
    try:
        commit_snapshot(newest(commits[0].table), attempts.stage)
    except ArcticError as error:
        refused = attempts.refused
        if refused is not None and not isinstance(error, CommitStateUnknownError):
            refused.outcome = error
            return [each for each in commits if each is not refused]
        for each in commits:
            # Each is raised in a thread of its own, and takes its traceback along.
            each.outcome = copy(error)
            each.outcome.__cause__ = error.__cause__
        return []
    for each, staged in zip(commits, attempts.last, strict=True):
        each.outcome = CommitResult(
            snapshot_id=staged.snapshot_id, sequence_number=staged.sequence_number
        )
    return []


class _Attempts:
    """Builds attempts at committing all, with the same snapshot ids every time.

    So the id of the first is that of an attempt: see ``commit_loop``.
    """

    def __init__(self, commits: Sequence[WaitingCommit]) -> None:
        self._commits = commits
        self._ids = [each.table.metadata.new_snapshot_id() for each in commits]
        self.last: list[StagedSnapshot] = []
        """Of the newest attempt, one for each commit."""
        self.refused: WaitingCommit | None = None

    def stage(self, head: Table, snapshot_id: int) -> StagedSnapshot:
        """Build one attempt on a fresh head."""
        self._ids[0] = snapshot_id
        self.last, staged = [], copy(head)
        try:
            for each, number in zip(self._commits, self._ids, strict=True):
                self.last.append(self._staged(each, staged, number))
                staged.metadata = with_updates(staged.metadata, self.last[-1].updates)
        except BaseException:
            _discard(self.last)
            raise
        return replace(
            self.last[0],
            table=copy(head),
            updates=tuple(update for each in self.last for update in each.updates),
            discard=partial(_discard, self.last),
        )

    def _staged(self, commit: WaitingCommit, head: Table, snapshot_id: int) -> StagedSnapshot:
        try:
            staged = commit.stage(copy(head), snapshot_id)
        except StorageError:
            raise  # of the store that all share: the head may be gone by now
        except ArcticError:
            self.refused = commit
            raise
        if staged is None:
            raise InternalError("a commit that adds nothing waits for others")
        return staged


def _discard(staged: Sequence[StagedSnapshot]) -> None:
    for each in staged:
        each.discard()

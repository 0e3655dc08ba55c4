"""What a run of optimizing would cost now, and what it would save later reads.

Rules:
    - Both are predicted from counts of files and bytes; schedulers compare tables by them, so that
      only their ratio between tables matters.
    - A stronger type saves at least what a weaker one does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arctic.optimizing.planning.evaluate import Verdict, strongest
from arctic.optimizing.planning.health import FileCounts, PartitionHealth
from arctic.optimizing.settings import OptimizeType

_READ_BYTES_PER_MS = 200 * 2**20 // 1_000
_REWRITE_BYTES_PER_MS = 50 * 2**20 // 1_000
_RUN_MS = 500
"""Of every run, for looking, planning and two commits."""
_MARK_SHARE = 10
"""Reading the keys of a file costs about a tenth of rewriting it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is due in a table, and what doing it is worth."""

    due: OptimizeType | None
    """The strongest type of any partition; None: nothing is due."""
    work_bytes: int
    """Read and written by the run."""
    saved_bytes: int
    """Opened less by each later read of the whole table."""

    @property
    def work_ms(self) -> int:
        """How long one slot would be at work; above 0."""
        return _RUN_MS + self.work_bytes // _REWRITE_BYTES_PER_MS

    @property
    def saved_ms(self) -> float:
        """How much shorter each later read of the whole table would be."""
        return self.saved_bytes / _READ_BYTES_PER_MS


NOTHING_DUE = Outlook(due=None, work_bytes=0, saved_bytes=0)


def read_ms(health: PartitionHealth) -> float:
    """Predict how long a read of a partition takes as it is: what is unmerged is looked up too."""
    return (health.read_cost_bytes + health.unmerged_bytes) / _READ_BYTES_PER_MS


def predict(
    partitions: Iterable[tuple[PartitionHealth, Verdict]], *, open_file_cost_bytes: int
) -> Outlook:
    """Predict what a run does that works on all partitions where something is due.

    Args:
        partitions: of one table, each with what is due in it.
        open_file_cost_bytes: what opening a file costs at least.
    """
    due = [(health, verdict) for health, verdict in partitions if verdict.type is not None]
    if not due:
        return NOTHING_DUE
    return Outlook(
        due=strongest(verdict for _, verdict in due),
        work_bytes=sum(_work_bytes(health, verdict.type) for health, verdict in due),
        saved_bytes=sum(
            _saved_bytes(health, verdict.type, open_file_cost_bytes) for health, verdict in due
        ),
    )


def _work_bytes(health: PartitionHealth, kind: OptimizeType | None) -> int:
    if kind is OptimizeType.FULL:
        return 2 * (health.base.bytes + health.unmerged_bytes) + health.position_deletes.bytes
    moved = health.fragments.bytes + health.unmerged_bytes
    marked = health.segments.bytes // _MARK_SHARE if health.change_deletes.files else 0
    if kind is OptimizeType.MAJOR:
        worn = health.segments.bytes * health.worn_segments // max(1, health.segments.files)
        joined = health.undersized.bytes if health.joinable_nodes else 0
        moved += min(health.segments.bytes, worn + joined)
    return 2 * moved + marked


def _saved_bytes(health: PartitionHealth, kind: OptimizeType | None, open_cost: int) -> int:
    most = max(0, health.read_cost_bytes - health.ideal_cost_bytes) + health.unmerged_bytes
    if kind is not OptimizeType.MINOR:
        return most
    small = (health.fragments, health.inserts, health.change_deletes)
    opened = sum(_opened_bytes(counts, open_cost) for counts in small)
    return min(most, opened + health.surplus_position_deletes * open_cost)


def _opened_bytes(counts: FileCounts, open_cost: int) -> int:
    return max(counts.bytes, counts.files * open_cost)

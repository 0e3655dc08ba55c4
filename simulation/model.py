"""A table of the simulation: what is written into it, how a read of it is, what a run does to it.

Rules:
    - What is due, and what a run and a read cost, is asked of the package, never decided here.
    - A commit adds one file of inserts and one of deletes to the change store. Nobody who writes
      waits for anybody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from arctic.optimizing.planning.evaluate import LastTimes, Verdict, evaluate
from arctic.optimizing.planning.health import FileCounts, PartitionHealth
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.service.scheduling.outlook import Outlook, predict, read_ms
from arctic.service.scheduling.table_state import TableTerms

HOUR_MS = 3_600_000
MIB = 2**20
_ROW_BYTES = 100
_UPDATES = 0.3
"""Share of the written rows that replace one of base."""


@dataclass(slots=True, kw_only=True)
class SimTable:
    """One table with a key, and one partition."""

    name: str
    commits_per_hour: float
    commit_bytes: int
    base_bytes: int
    terms: TableTerms
    settings: OptimizeSettings
    is_poisoned: bool = False

    small_bytes: int = 0
    """In base files below the size of a segment, one for each node."""
    dead_bytes: int = 0
    """Of base, that position deletes remove."""
    files: float = 0.0
    """Commits that base does not hold."""
    oldest_ms: int | None = None
    """The first of them."""
    any_ms: int | None = None
    full_ms: int | None = None
    read_seconds: float = 0.0
    """That readers have spent so far."""
    wasted_seconds: float = 0.0
    """The part of them that a read right after a full would not have spent."""
    _at_ms: int = 0
    _health: PartitionHealth | None = None
    _health_of: tuple[int, ...] = ()

    def advance(self, now_ms: int, pace: float) -> None:
        """Let time go by: commits come, and readers read.

        Args:
            now_ms: the time.
            pace: of the writers since the last time; 1 is the usual one.
        """
        hours = (now_ms - self._at_ms) / HOUR_MS
        if not hours:
            return
        before = int(self.files)
        self.files += self.commits_per_hour * pace * hours
        if self.oldest_ms is None and int(self.files) > before:
            self.oldest_ms = now_ms
        reads, health = self.terms.reads_per_hour * hours, self.health()
        self.read_seconds += reads * read_ms(health) / 1_000
        ideal = replace(health, read_cost_bytes=health.ideal_cost_bytes, inserts=_counts(0, 0))
        ideal_ms = read_ms(replace(ideal, change_deletes=_counts(0, 0)))
        self.wasted_seconds += reads * max(0.0, read_ms(health) - ideal_ms) / 1_000
        self._at_ms = now_ms

    def health(self) -> PartitionHealth:
        """Return what the partition consists of."""
        state = (int(self.files), self.small_bytes, self.base_bytes, self.dead_bytes)
        if self._health is None or self._health_of != state:
            self._health, self._health_of = self._counted(), state
        return self._health

    def _counted(self) -> PartitionHealth:
        files, nodes = int(self.files), self.settings.base_buckets
        segments = -(-self.base_bytes // self.settings.target_bytes)
        cost = self.settings.open_file_cost_bytes
        inserts = _counts(files, files * self.commit_bytes)
        deletes = _counts(files, files * self.commit_bytes // 20)
        small = _counts(nodes if self.small_bytes else 0, self.small_bytes)
        marks = _counts(segments if self.dead_bytes else 0, self.dead_bytes // 20)
        is_worn = self.dead_bytes > self.base_bytes * self.settings.duplicate_ratio
        parts = (inserts, deletes, small, marks, _counts(segments, self.base_bytes))
        live = self.base_bytes + self.small_bytes + inserts.bytes - self.dead_bytes
        return PartitionHealth(
            partition=(),
            fragments=small,
            segments=parts[-1],
            undersized=_counts(0, 0),
            inserts=inserts,
            change_deletes=deletes,
            position_deletes=marks,
            surplus_position_deletes=0,
            joinable_nodes=0,
            worn_segments=segments if is_worn else 0,
            read_cost_bytes=sum(max(each.bytes, each.files * cost) for each in parts),
            ideal_cost_bytes=max(live, nodes * cost),
        )

    def outlook(self, now_ms: int, *, with_full: bool) -> Outlook:
        """Say what is due, as the service does."""
        settings = self.settings
        health = self.health()
        times = LastTimes(any_ms=self.any_ms, full_ms=self.full_ms, first_ms=0)
        verdict = evaluate(health, times=times, settings=settings, is_keyed=True, now_ms=now_ms)
        if verdict.type is OptimizeType.FULL and not with_full:
            verdict = Verdict(type=OptimizeType.MINOR, reason=verdict.reason)
        return predict([(health, verdict)], open_file_cost_bytes=settings.open_file_cost_bytes)

    def optimized(self, kind: OptimizeType, files: int, now_ms: int) -> None:
        """Let a run commit that was planned on some of the commits."""
        moved = min(files, int(self.files)) * self.commit_bytes
        self.files -= min(files, int(self.files))
        self.oldest_ms = now_ms if self.files >= 1 else None
        self.small_bytes += moved
        self.dead_bytes += int(moved * _UPDATES)
        segment = self.settings.fragment_bytes * self.settings.base_buckets
        if self.small_bytes > segment or kind is OptimizeType.FULL:
            self.base_bytes, self.small_bytes = self.base_bytes + self.small_bytes, 0
        if kind is not OptimizeType.MINOR:
            self.base_bytes = max(0, self.base_bytes - self.dead_bytes)
            self.dead_bytes = 0
        self.any_ms = now_ms
        if kind is OptimizeType.FULL:
            self.full_ms = now_ms


def _counts(files: int, size: int) -> FileCounts:
    return FileCounts(files=files, rows=size // _ROW_BYTES, bytes=size)

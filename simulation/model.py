"""A table of the simulation: what is written into it, how a read of it is, what a run does to it.

Rules:
    - What is due, and what a run and a read are predicted to cost, is asked of the package, never
      decided here. What they cost in truth is that by a factor of the table that nobody predicts.
    - A commit adds one file of inserts and one of deletes to the change store. Nobody who writes
      waits for anybody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from arctic.optimizing.planning.evaluate import LastTimes, evaluate
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
    reads_per_hour: float = 0.0
    told_share: float = 1.0
    """Of its reads, that the service is told of."""
    is_poisoned: bool = False
    read_factor: float = 1.0
    """By which reads take longer than predicted."""
    work_factor: float = 1.0
    """By which tasks do."""

    small_bytes: int = 0
    """In base files below the size of a segment, one for each node."""
    dead_bytes: int = 0
    """Of base, that position deletes remove."""
    files: int = 0
    """Commits that base does not hold."""
    oldest_ms: int | None = None
    """The first of them."""
    any_ms: int = 0
    full_ms: int = 0
    reads: int = 0
    read_seconds: float = 0.0
    """That readers have spent so far."""
    wasted_seconds: float = 0.0
    """The part of them that a read right after a full would not have spent."""
    _health: PartitionHealth | None = None
    _costs: tuple[float, float] = (0.0, 0.0)
    _seen: tuple[int, int] = (-1, 0)
    """Commits at the last look, and when time alone changes what it said."""

    def commit(self, now_ms: int) -> None:
        """Take what a writer adds."""
        self.files += 1
        self.oldest_ms = now_ms if self.oldest_ms is None else self.oldest_ms
        self._health = None

    def read(self) -> None:
        """Let somebody read the whole of it."""
        self.health()
        self.reads += 1
        self.read_seconds += self._costs[0]
        self.wasted_seconds += self._costs[1]

    def health(self) -> PartitionHealth:
        """Return what the partition consists of."""
        if self._health is None:
            self._health = self._counted()
            ideal = replace(
                self._health,
                read_cost_bytes=self._health.ideal_cost_bytes,
                inserts=_counts(0, 0),
                change_deletes=_counts(0, 0),
            )
            now, best = (self.read_factor * read_ms(each) / 1_000 for each in (self._health, ideal))
            self._costs = (now, max(0.0, now - best))
        return self._health

    def _counted(self) -> PartitionHealth:
        files, nodes = self.files, self.settings.base_buckets
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
            fragment_nodes=small.files,
            least_nodes=nodes,
            joinable_nodes=0,
            overlapping=0,
            worn_segments=segments if is_worn else 0,
            read_cost_bytes=sum(max(each.bytes, each.files * cost) for each in parts),
            ideal_cost_bytes=max(live, nodes * cost),
        )

    def is_new_to_look(self, now_ms: int) -> bool:
        """Say whether a look could tell anything else than the last one did."""
        return self.files != self._seen[0] or now_ms > self._seen[1]

    def looked(self, now_ms: int) -> None:
        """Take note of a look."""
        settings = self.settings
        turns = [
            self.any_ms + (settings.min_plan_interval_ms or 0),
            self.any_ms + (settings.minor_interval_ms or 0),
            self.full_ms + (settings.full_interval_ms or 0),
        ]
        self._seen = (self.files, min((each for each in turns if each >= now_ms), default=2**63))

    def outlook(self, now_ms: int, *, with_full: bool) -> Outlook:
        """Say what is due, as the service does."""
        settings = self.settings
        if not with_full:
            settings = replace(settings, full_interval_ms=None)
        health = self.health()
        times = LastTimes(any_ms=self.any_ms, full_ms=self.full_ms, first_ms=0)
        verdict = evaluate(health, times=times, settings=settings, is_keyed=True, now_ms=now_ms)
        return predict([(health, verdict)], open_file_cost_bytes=settings.open_file_cost_bytes)

    def optimized(self, kind: OptimizeType, files: int, now_ms: int) -> None:
        """Let a run commit that was planned on some of the commits."""
        moved = min(files, self.files) * self.commit_bytes
        self.files -= min(files, self.files)
        self.oldest_ms = now_ms if self.files else None
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
        self._health = None
        self._seen = (-1, 0)


def _counts(files: int, size: int) -> FileCounts:
    return FileCounts(files=files, rows=size // _ROW_BYTES, bytes=size)

"""What a run of optimizing did, and how a table is: values for people and programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arctic.optimizing.planning.evaluate import LastTimes, Verdict, strongest
from arctic.optimizing.planning.health import FileCounts, PartitionHealth, health_score
from arctic.optimizing.planning.partition_files import PartitionFiles
from arctic.optimizing.planning.plan_run import PartitionPlan
from arctic.optimizing.settings import OptimizeType
from arctic.optimizing.sizing_choices import SizingChoice
from arctic.table.files import FileKind, TableFile, WrittenFile

SHOWN_PARTITIONS = 20
"""How many partitions a text lists before it only counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatus:
    """The health of one partition, and which optimizing is due in it."""

    partition: str
    """``name=value/...``; empty for a table without partitions."""
    health: PartitionHealth
    verdict: Verdict
    merged_up_to: int
    """The optimized sequence: changes up to this number, inclusive, are in base."""
    times: LastTimes
    nodes: str
    """How many it is divided into from now on, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatus:
    """The health of a table, and which optimizing is due."""

    table: str
    partitions: tuple[PartitionStatus, ...]
    """In planning order."""
    sizing: tuple[SizingChoice, ...] = ()
    """What the table goes by because it chose so."""

    @property
    def score(self) -> int:
        """Health, 0 to 100: what a read would open after a full, in percent of what it does now."""
        return health_score(each.health for each in self.partitions)

    @property
    def due(self) -> OptimizeType | None:
        """The strongest type that is due in any partition."""
        return strongest(each.verdict for each in self.partitions)

    @property
    def reason(self) -> str:
        """Why that type is due, or why nothing is."""
        if not self.partitions:
            return "the table is empty"
        chosen = next(each for each in self.partitions if each.verdict.type is self.due)
        return f"{chosen.verdict}{f' ({chosen.partition})' if chosen.partition else ''}"

    @property
    def worst_first(self) -> tuple[PartitionStatus, ...]:
        """The partitions: those where something is due first, each part by rising health."""
        return tuple(
            sorted(self.partitions, key=lambda each: (each.verdict.type is None, each.health.score))
        )

    def __str__(self) -> str:
        """Return a few lines for a terminal."""
        shown = self.worst_first[:SHOWN_PARTITIONS]
        more = len(self.partitions) - len(shown)
        lines = [f"{self.table}: health {self.score} of 100; {self.reason}"]
        if any(each.partition for each in shown):
            lines += [
                f"  {each.partition}: health {each.health.score}; {each.verdict}" for each in shown
            ]
        return "\n".join([*lines, *([f"  ... and {more:,} more"] if more else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedPartition:
    """What a run did in one partition."""

    partition: str
    type: OptimizeType
    reason: str
    merged_up_to: int
    """The optimized sequence afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCounts:
    """The files that a read of some partitions opens."""

    base: FileCounts
    position_deletes: FileCounts
    inserts: FileCounts
    change_deletes: FileCounts

    @classmethod
    def before(cls, partitions: Iterable[PartitionFiles]) -> StoreCounts:
        """Count what there was when a run was planned."""
        found = list(partitions)
        return cls(
            base=FileCounts.of(task.file for files in found for task in files.base),
            position_deletes=FileCounts.of(
                delete for files in found for delete in files.position_deletes
            ),
            inserts=FileCounts.of(task.file for files in found for task in files.inserts),
            change_deletes=FileCounts.of(
                delete for files in found for delete in files.change_deletes
            ),
        )

    @classmethod
    def after(
        cls, partitions: Sequence[PartitionPlan], written: Sequence[WrittenFile]
    ) -> StoreCounts:
        """Count what a run left of what it was planned on."""
        removed = frozenset[str]().union(*(plan.removed_paths for plan in partitions))
        before = [plan.files for plan in partitions]
        base = (task.file for files in before for task in files.base)
        deletes = (delete for files in before for delete in files.position_deletes)
        nothing = FileCounts.of(())
        return cls(
            base=_left(base, removed) + _written(written, FileKind.BASE),
            position_deletes=_left(deletes, removed) + _written(written, FileKind.POS_DELETE),
            inserts=nothing,
            change_deletes=nothing,
        )

    @property
    def files(self) -> int:
        """Number of files of all kinds."""
        return (
            self.base.files
            + self.position_deletes.files
            + self.inserts.files
            + self.change_deletes.files
        )

    @property
    def bytes(self) -> int:
        """Bytes of files of all kinds."""
        return (
            self.base.bytes
            + self.position_deletes.bytes
            + self.inserts.bytes
            + self.change_deletes.bytes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeReport:
    """What one run of optimizing did."""

    table: str
    snapshot_id: int | None
    """The base snapshot it made; None when nothing was due."""
    partitions: tuple[OptimizedPartition, ...]
    """Those that were worked on."""
    before: StoreCounts
    """What a read of those partitions opened when the run was planned."""
    after: StoreCounts
    """What a read opens of them after the run."""
    rows_written: int
    """Rows in new base files."""
    rows_deleted: int
    """Rows in new position-delete files."""
    bytes_written: int
    files_waiting: int
    """Change files of the table that a later run merges, because there are more than
    ``self-optimizing.max-file-count``."""
    tasks: int
    attempts: int
    """How often the run was planned; above 1 because other writers won."""
    seconds: float

    @property
    def type(self) -> OptimizeType | None:
        """The strongest type that was run; None when nothing was due."""
        return strongest(Verdict(type=each.type, reason=each.reason) for each in self.partitions)

    def __str__(self) -> str:
        """Return a few lines for a terminal."""
        if self.type is None:
            return f"{self.table}: nothing to optimize"
        where = f"{len(self.partitions):,} partition{'' if len(self.partitions) == 1 else 's'}"
        waiting = f"  waiting           {self.files_waiting:,} change files, for the next run"
        return "\n".join(
            [
                f"{self.table}: {self.type.value} of {where} in {self.seconds:.1f} s, "
                f"{self.tasks:,} tasks",
                _line("base files", self.before.base, self.after.base),
                _line(
                    "position deletes", self.before.position_deletes, self.after.position_deletes
                ),
                _line("unmerged inserts", self.before.inserts, self.after.inserts),
                _line("unmerged deletes", self.before.change_deletes, self.after.change_deletes),
                f"  written           {self.rows_written:,} rows, {self.rows_deleted:,} positions, "
                f"{self.bytes_written / 2**20:,.1f} MiB",
                *([waiting] if self.files_waiting else []),
            ]
        )


def _left(files: Iterable[TableFile], removed: frozenset[str]) -> FileCounts:
    return FileCounts.of(file for file in files if file.path not in removed)


def _written(files: Iterable[WrittenFile], kind: FileKind) -> FileCounts:
    found = [file for file in files if file.kind is kind]
    return FileCounts(
        files=len(found),
        rows=sum(file.record_count for file in found),
        bytes=sum(file.size_bytes for file in found),
    )


def _line(name: str, before: FileCounts, after: FileCounts) -> str:
    return (
        f"  {name:<17} {before.files:,} files of {before.rows:,} rows -> "
        f"{after.files:,} of {after.rows:,}"
    )

"""What a finished write or optimize asks the catalog to do, as values.

Each plan becomes exactly one snapshot of one store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic.table.files import Partition, WrittenFile
from arctic.table.filters.predicate import Predicate
from arctic.table.snapshot import TableSnapshot
from arctic.table.streams.stream_batch import StreamBatch
from arctic.table.streams.watermark import Watermark
from arctic.tree.node_tree import NodeTree


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendFiles:
    """Add files: changes of a keyed table (change store), or rows of an unkeyed one (base)."""

    files: tuple[WrittenFile, ...]
    on_top_of: TableSnapshot | None = None
    """Commit only while base is in this state; with a change store, while nobody has changed a row
    since. None: in whatever state they are."""
    removed_paths: frozenset[str] = frozenset()
    """Files of base that go in the same snapshot; only without a primary key."""
    batch: StreamBatch | None = None
    """Commit only if this batch has not landed; None: it is none, and always commits."""
    watermark: Watermark | None = None
    """How far event time has come with these files; None: they do not say."""

    @property
    def moves(self) -> bool:
        """Whether it says where somebody stands, so that it is committed without files too."""
        return self.batch is not None and self.batch.moves


@dataclass(frozen=True, slots=True, kw_only=True)
class OverwriteBase:
    """Replace the base files of whole partitions, and with them every change merged so far."""

    files: tuple[WrittenFile, ...]
    dynamic: bool
    """True: only the partitions of ``files``; False: the whole table, or what ``where`` says."""
    where: Predicate | None = None
    """Only partitions for which it holds, and every one of them; its tests are of columns whose
    values partitions have."""
    planned_at: int | None
    """The base snapshot that it began with; None: there was none. Rows that came to what it
    replaces since are refused."""
    change_sequence_number: int | None
    """Change files up to this sequence number, inclusive, are replaced too. None: unkeyed."""
    must_be_newest_change: bool = False
    """Refuse once the change store is beyond ``change_sequence_number``."""
    change_partitions: frozenset[Partition] = frozenset()
    """Partitions with change files up to that sequence number."""
    batch: StreamBatch | None = None
    """Commit only if this batch has not landed; None: it is none, and always commits."""
    watermark: Watermark | None = None
    """How far event time has come with these files; None: they do not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRows:
    """Take rows out of base by leaving out files and whole partitions."""

    partitions: frozenset[Partition]
    """Everything in them goes, and every change up to ``change_sequence_number``."""
    known_paths: frozenset[str] | None = None
    """The data files of base that may lie in them; with others it is refused. None: whatever does,
    because every row that can lie there is meant."""
    removed_paths: frozenset[str]
    """Files of other partitions that go."""
    files: tuple[WrittenFile, ...] = ()
    """Base files with what is left of those; only without a primary key."""
    change_sequence_number: int | None
    """None: unkeyed."""
    known_deletes: frozenset[str]
    """Position deletes that were there when it was planned, in each partition of a single file that
    goes; with others in it the plan is refused."""
    planned_at: int | None
    """The base snapshot that it was planned on."""
    summary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreBase:
    """Let base begin again with the files of an earlier snapshot, and hide every change so far."""

    base_snapshot_id: int | None
    """The snapshot of base that comes back; None: base was empty then."""
    files: tuple[WrittenFile, ...] = ()
    """Base files and position deletes: the changes that lay on that snapshot, merged."""
    removed_paths: frozenset[str] = frozenset()
    """Files of that snapshot that they stand for."""
    change_sequence_number: int | None
    """Changes up to this sequence number, inclusive, are hidden. None: unkeyed."""
    must_be_newest_change: bool = False
    """Refuse once the change store is beyond ``change_sequence_number``."""
    change_partitions: frozenset[Partition] = frozenset()
    """Partitions with change files up to that sequence number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRewrite:
    """What an optimizing commit finds in one partition, and what it makes of it."""

    partition: Partition
    found_paths: frozenset[str]
    """Every data and delete file of base in it when the rewrite was planned."""
    found_sequence: int
    """Its optimized sequence then."""
    merged_up_to: int
    """Its optimized sequence afterwards."""
    is_full: bool
    """Whether everything in it was rewritten."""
    path: str
    """``name=value/...`` of the partition."""
    tree: NodeTree
    """The nodes that new files of the partition go to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteBase:
    """Replace base files, and mark changes as merged: the rows of the merged view stay."""

    files: tuple[WrittenFile, ...]
    """Base files and position deletes."""
    removed_paths: frozenset[str]
    """Base files and position deletes that the new ones stand for."""
    partitions: tuple[PartitionRewrite, ...]
    planned_at: int | None
    """The base snapshot that all this was planned on; None: there was none."""
    changes_rows: bool
    """Whether changes are merged, so that base shows other rows than before."""
    summary: Mapping[str, str] = field(default_factory=dict)
    merged_ms: int | None = None
    """Watermark of the changes that base holds afterwards; None: not known to have moved."""
    run_ms: int | None = None
    """What the rewriting took; None: it tells nothing of later runs."""
    base_bytes: int | None = None
    """Of all base files before; None: only some were looked at."""

"""What one snapshot does to a store, and one attempt to commit it; staged, it is sent once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.statistics import StatisticsFile
from pyiceberg.table.update import TableRequirement, TableUpdate

from arctic.iceberg.catalogs.in_database.transaction_end import LookAgain
from arctic.iceberg.catalogs.staged_metadata import WrittenMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFrom:
    """The snapshot whose files a new one begins with, instead of those of the head."""

    snapshot_id: int | None
    """None: it begins with none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPlan:
    """What one snapshot does to a store."""

    operation: Operation
    added: tuple[DataFile, ...] = ()
    removed_paths: frozenset[str] = frozenset()
    """Data and delete files, as their manifest entries spell them."""
    summary: Mapping[str, str] = field(default_factory=dict)
    statistics: StatisticsFile | None = None
    properties: Mapping[str, str | None] = field(default_factory=dict)
    """Table properties that change in the same commit; None removes one."""
    start: StartFrom | None = None
    """An earlier state that comes back; None: the snapshot goes on from the head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherStore:
    """A store that an attempt at a commit to another one was decided by, or is noticed in."""

    store: Table
    """As it was looked at."""
    look_again: LookAgain | None = None
    """Says whether the attempt holds as well on the store as it is by then; None: nobody can."""
    may_move: bool = False
    """Whether the attempt holds whatever the store is by then, which is only to be marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedSnapshot:
    """One attempt: its manifests are written, and nobody refers to them yet."""

    table: Table
    snapshot_id: int
    sequence_number: int
    parent_id: int | None
    updates: tuple[TableUpdate, ...]
    requirements: tuple[TableRequirement, ...]
    discard: Callable[[], None]
    """Deletes what was written; only for an attempt that is known not to have landed."""
    other: OtherStore | None = None
    """What must be as it was, if the catalog can compare it; None: this store alone."""
    metadata: WrittenMetadata = field(default_factory=WrittenMetadata)
    """What is written of it once it is asked for along with others; ``discard`` deletes it too."""


def commit_metadata(
    head: Table, *, updates: Iterable[TableUpdate], requirements: Iterable[TableRequirement]
) -> None:
    """Commit changes that make no snapshot; the head then has the new metadata.

    Exceptions of PyIceberg come through.
    """
    head._do_commit(updates=tuple(updates), requirements=tuple(requirements))

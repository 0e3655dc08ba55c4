"""What the page of one table is made of.

Rules:
    - Times are milliseconds since 1970-01-01 UTC. None is what is not known, never what is nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from arctic.optimizing.report import TableStatus
from arctic.page.facts.read_facts import LastRead, ReadFacts
from arctic.table.expire_report import ExpireReport
from arctic.table.table_description import SchemaVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """One node of one partition."""

    partition: str
    """``name=value/...``; empty for a table without partitions."""
    node_id: int
    base_files: int
    base_bytes: int
    position_deletes: int
    """Files of them."""
    unmerged_files: int
    unmerged_bytes: int
    unmerged_since_ms: int | None
    """When the oldest change was committed that base does not hold; None also where nothing is."""
    why: str
    """Why it is as deep as it is, and what would change that; empty where nothing would."""

    @property
    def bytes(self) -> int:
        """Of base and what is unmerged."""
        return self.base_bytes + self.unmerged_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How far base, the merged view and event time are behind the clock."""

    view_ms: int | None
    """The newest commit that brought rows: what a read sees."""
    base_ms: int | None
    """Base holds every commit before this one."""
    unmerged_commits: int
    merged_ms: int | None
    """When optimizing last committed."""
    table_watermark_ms: int | None
    base_watermark_ms: int | None
    writers: tuple[tuple[str, int], ...]
    """The watermark of each writer, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """One commit of one store."""

    store: str
    at_ms: int
    snapshot_id: int
    operation: str
    added_rows: int
    data_files: int | None
    """In the store after it; None: its summary does not say."""
    delete_files: int | None
    optimized: str | None
    """The types of the run of optimizing that it is of; None: it is of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of optimizing, as a snapshot of base remembers it."""

    at_ms: int
    types: str
    files_removed: int
    files_added: int
    bytes_added: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One run of optimizing or cleaning, as the service remembers it that ran it."""

    at_ms: int
    """When it was asked for."""
    kind: str
    type: str
    status: str
    files_before: int | None
    files_after: int | None
    predicted_seconds: float | None
    """Slot time."""
    seconds: float | None
    """Slot time that it took."""
    why: str
    """Why it was, or why it failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a run would do that began now."""

    type: str
    is_due: bool
    partitions: int
    tasks: int
    rewritten_files: int
    marked_files: int
    moved_bytes: int
    """Read and written, as predicted."""
    seconds: float
    """Of one slot, as predicted."""
    saved_ms: float
    """By which each later read of the whole table is shorter, as predicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A number that optimizing or reading goes by, and where it is from."""

    name: str
    value: str
    source: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One table."""

    name: str
    at_ms: int
    """When it was looked at."""
    primary_key: tuple[str, ...]
    partition_by: tuple[str, ...]
    status: TableStatus
    group: str
    quota: float
    nodes: tuple[NodeFacts, ...]
    freshness: Freshness
    commits: tuple[CommitFacts, ...]
    """Oldest first."""
    read: ReadFacts
    choices: tuple[Choice, ...]
    """What is due comes first, then each type for the whole table."""
    runs: tuple[Run, ...]
    """Newest first."""
    schemas: tuple[SchemaVersion, ...]
    """Oldest first."""
    settings: tuple[Setting, ...]
    cleaning: ExpireReport | None
    """What a cleaning would remove; None: nobody asked."""
    processes: tuple[Process, ...] | None = None
    """Newest first; None: no service was asked."""
    last_read: LastRead | None = None
    """None: nobody told of one."""

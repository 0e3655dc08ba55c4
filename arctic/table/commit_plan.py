"""What a finished write asks the catalog to do, as values.

Each plan becomes exactly one snapshot of one store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic.table.files import Partition, WrittenFile
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendFiles:
    """Add files: changes of a keyed table (change store), or rows of an unkeyed one (base)."""

    files: tuple[WrittenFile, ...]
    on_top_of: TableSnapshot | None = None
    """Commit only while both stores are in this state; None: in whatever state they are."""
    summary: Mapping[str, str] = field(default_factory=dict)
    """Extra snapshot summary entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverwriteBase:
    """Replace the base files of whole partitions, and with them every change merged so far."""

    files: tuple[WrittenFile, ...]
    dynamic: bool
    """True: only the partitions of ``files``; False: the whole table."""
    change_sequence_number: int | None
    """Change files up to this sequence number, inclusive, are replaced too. None: unkeyed."""
    must_be_newest_change: bool = False
    """Refuse once the change store is beyond ``change_sequence_number``."""
    change_partitions: frozenset[Partition] = frozenset()
    """Partitions with change files up to that sequence number."""
    summary: Mapping[str, str] = field(default_factory=dict)

"""What a finished write asks the catalog to do, as values.

Each plan becomes exactly one snapshot of one store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic.table.files import Partition, WrittenFile


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendFiles:
    """Add files: changes of a keyed table (change store), or rows of an unkeyed one (base)."""

    files: tuple[WrittenFile, ...]
    expected_sequence_number: int | None = None
    """Commit only while the store's newest snapshot has this sequence number (0: it has none);
    None: on top of whatever is there."""
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
    change_partitions: frozenset[Partition] = frozenset()
    """Partitions with change files up to that sequence number."""
    summary: Mapping[str, str] = field(default_factory=dict)

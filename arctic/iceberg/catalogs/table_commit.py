"""What is committed to one of several tables, of which all change or none does."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from pyiceberg.table import StagedTable, Table
from pyiceberg.table.update import TableRequirement, TableUpdate


@dataclass(slots=True)
class WrittenMetadata:
    """The metadata file of one commit, where it is written before the catalog is asked.

    A commit that may be asked for again, because only another table of it has moved on, finds its
    file there: nothing is written then while those who wait are overtaken again.
    """

    staged: StagedTable | None = None
    """None: it is not written."""

    def discard(self) -> None:
        """Delete it; only for a commit that is known not to have landed."""
        if self.staged is not None:
            with contextlib.suppress(Exception):  # a leftover costs space, never rows
                self.staged.io.delete(self.staged.metadata_location)
            self.staged = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """What is committed to one of several tables."""

    table: Table
    requirements: tuple[TableRequirement, ...]
    updates: tuple[TableUpdate, ...]
    metadata: WrittenMetadata = field(default_factory=WrittenMetadata)

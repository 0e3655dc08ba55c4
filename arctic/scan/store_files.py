"""What was listed of both stores: the files that a plan is made of."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.scan.task import PruneCounts
from arctic.table.files import TableFile


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFiles:
    """The files of both stores that a read may need."""

    base: tuple[TableFile, ...]
    """Every live data file."""
    position_deletes: tuple[TableFile, ...]
    """Those of base."""
    change: tuple[TableFile, ...]
    """Every live insert and change-delete file, merged ones too."""
    pruned: PruneCounts
    """What was left out while the files were listed."""

    def of_base(self) -> StoreFiles:
        """Return what a look at base alone reads."""
        return StoreFiles(
            base=self.base,
            position_deletes=self.position_deletes,
            change=(),
            pruned=self.pruned,
        )

    def of_change(self) -> StoreFiles:
        """Return what a look at the change store alone reads: all its files as data."""
        return StoreFiles(base=self.change, position_deletes=(), change=(), pruned=self.pruned)

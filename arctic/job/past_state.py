"""Which state of a table a call means: the newest, or one of the past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arctic import options as opt
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class PastState:
    """Which state is meant: at most one of these is given, and none means the newest."""

    version: str | None = None
    snapshot_id: int | None = None
    as_of_ms: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> PastState:
        """Read the options that name a state."""
        return cls(
            version=opt.VERSION.value(options),
            snapshot_id=opt.SNAPSHOT_ID.value(options),
            as_of_ms=opt.AS_OF_TIMESTAMP.value(options),
        )

    def pinned(self, opened: OpenTable, *, is_fresh: bool = False) -> TableSnapshot:
        """Return the state; raises as ``pin``."""
        return pin(
            opened,
            version=self.version,
            snapshot_id=self.snapshot_id,
            as_of_ms=self.as_of_ms,
            is_fresh=is_fresh,
        )

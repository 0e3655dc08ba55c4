"""The pinned state of a table: one snapshot of each store, read together once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic.table.files import Partition

NOTHING_MERGED = 0
"""The optimized sequence of a partition that no snapshot mentions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSnapshot:
    """Both stores at one moment; nothing downstream reads "latest" again."""

    base_snapshot_id: int | None
    """None: the base store has no snapshot."""
    change_snapshot_id: int | None
    """None: no change store, or it has no snapshot."""
    change_sequence_number: int
    """Sequence number of the change snapshot; 0 without one."""
    optimized_sequence: Mapping[Partition, int] = field(default_factory=dict)
    """Change files of the partition with a sequence number up to this one, inclusive, are
    already in base."""

    def merged_up_to(self, partition: Partition) -> int:
        """Return the optimized sequence of a partition; 0 when nothing is merged yet."""
        return self.optimized_sequence.get(partition, NOTHING_MERGED)

"""What is merged, and when each partition was optimized, as one snapshot of base says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from arctic.table.files import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedState:
    """What is merged, as one snapshot of the base store says."""

    sequence: Mapping[Partition, int] = field(default_factory=dict)
    """Greatest merged sequence number of the change store, inclusive."""
    time_ms: Mapping[Partition, int] = field(default_factory=dict)
    """When that was, by a rewrite or an overwrite."""
    full_time_ms: Mapping[Partition, int] = field(default_factory=dict)
    """When everything in the partition was rewritten."""
    amoro_reads: bool = False
    """Whether Amoro's own marker is in use: its readers then ignore the legacy property."""

    def advanced(
        self, partitions: Collection[Partition], sequence_number: int, time_ms: int
    ) -> OptimizedState:
        """Return the state in which exactly this sequence number holds for some partitions."""
        return replace(
            self,
            sequence={**self.sequence, **dict.fromkeys(partitions, sequence_number)},
            time_ms={**self.time_ms, **dict.fromkeys(partitions, time_ms)},
        )

    def rewritten(
        self, merged_up_to: Mapping[Partition, int], full: Collection[Partition], time_ms: int
    ) -> OptimizedState:
        """Return the state after some partitions were optimized, and some of them in full."""
        return replace(
            self,
            sequence={**self.sequence, **merged_up_to},
            time_ms={**self.time_ms, **dict.fromkeys(merged_up_to, time_ms)},
            full_time_ms={**self.full_time_ms, **dict.fromkeys(full, time_ms)},
        )

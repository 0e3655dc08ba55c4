"""When the partitions of a table were optimized."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from arctic.iceberg.catalogs.pair import created_ms
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import partition_keys
from arctic.iceberg.values.partition_times import PartitionTimes
from arctic.table.files import Partition
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedTimes:
    """Milliseconds since 1970-01-01 UTC."""

    any_ms: Mapping[Partition, int]
    """By any type; a partition that never was is absent."""
    full_ms: Mapping[Partition, int]
    first_ms: int
    """When the table was made; if it does not say, the oldest snapshot that is known."""


def optimized_times(
    opened: OpenTable, snapshot: TableSnapshot, partitions: Iterable[Partition]
) -> OptimizedTimes:
    """Read when partitions of a table were optimized.

    Raises:
        FormatError: a property or file that does not hold what it should.
        StorageError: the file cannot be read.
    """
    base = opened.base
    stores = [base] if opened.change is None else [base, opened.change]
    known = [each.timestamp_ms for store in stores for each in store.metadata.snapshots]
    made_ms = created_ms(base.properties)
    first_ms = min([*known, *([] if made_ms is None else [made_ms])], default=0)
    if opened.change is None:
        told = PartitionTimes.of(base.properties, table_name=opened.table.name)
        times = {each: told.times(each) for each in partitions}
        return OptimizedTimes(
            any_ms={each: last for each, (last, _) in times.items() if last is not None},
            full_ms={each: full for each, (_, full) in times.items() if full is not None},
            first_ms=first_ms,
        )
    state = read_state(
        base.metadata, base.io, snapshot.base_snapshot_id, partition_keys(opened.table)
    )
    return OptimizedTimes(any_ms=state.time_ms, full_ms=state.full_time_ms, first_ms=first_ms)

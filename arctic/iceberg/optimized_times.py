"""When the partitions of a table were optimized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.table import Table

from arctic.errors import FormatError
from arctic.iceberg.commit_rewrite import FULL_OPTIMIZED_TIME, OPTIMIZED_TIME
from arctic.iceberg.open_table import OpenTable
from arctic.iceberg.partition_key import partition_keys
from arctic.iceberg.sequence_file import read_state
from arctic.table.files import Partition
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizedTimes:
    """Milliseconds since 1970-01-01 UTC."""

    any_ms: Mapping[Partition, int]
    full_ms: Mapping[Partition, int]
    table_any_ms: int | None
    """Of all partitions alike: what a table without a primary key knows."""
    table_full_ms: int | None
    first_ms: int
    """Of the oldest snapshot that is known."""


def optimized_times(opened: OpenTable, snapshot: TableSnapshot) -> OptimizedTimes:
    """Read when a table was optimized.

    Raises:
        FormatError: a property or file that does not hold what it should.
        StorageError: the file cannot be read.
    """
    base = opened.base
    stores = [base] if opened.change is None else [base, opened.change]
    first_ms = min(
        (each.timestamp_ms for store in stores for each in store.metadata.snapshots), default=0
    )
    if opened.change is None:
        return OptimizedTimes(
            any_ms={},
            full_ms={},
            table_any_ms=_milliseconds(base, OPTIMIZED_TIME),
            table_full_ms=_milliseconds(base, FULL_OPTIMIZED_TIME),
            first_ms=first_ms,
        )
    state = read_state(
        base.metadata, base.io, snapshot.base_snapshot_id, partition_keys(opened.table)
    )
    return OptimizedTimes(
        any_ms=state.time_ms,
        full_ms=state.full_time_ms,
        table_any_ms=None,
        table_full_ms=None,
        first_ms=first_ms,
    )


def _milliseconds(base: Table, name: str) -> int | None:
    text = base.properties.get(name)
    if text is None:
        return None
    if not text.isdecimal():
        raise FormatError(
            f"table {'.'.join(base.name())!r}: property {name} = {text!r}; expected milliseconds"
        )
    return int(text)

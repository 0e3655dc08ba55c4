"""The versions of a table: each state that a commit to one of its stores made, by a small number.

Rules:
    - The number of a state is the sum of the sequence numbers of its two snapshots. Every commit
      adds one to one of them, so numbers ascend by one, from what is committed anyway.
    - The order of commits to two stores is that of their times; a base snapshot that holds changes
      comes after them whatever the clocks say.
    - A state is a version for as long as both of its snapshots are known, and what came between
      them: nothing is guessed for history that has expired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from arctic.iceberg.metadata.history import lineage, reaches_beginning
from arctic.iceberg.metadata.sequence_file import read_state, tells_merged
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import partition_keys
from arctic.table.property_names import MERGED_UP_TO
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersion:
    """A state of the table, and the commit that made it."""

    number: int
    committed_ms: int
    store: str
    """``base`` or ``change``: where the commit was made."""
    operation: str
    base_snapshot_id: int | None
    change_snapshot_id: int | None


def table_versions(opened: OpenTable) -> tuple[TableVersion, ...]:
    """Return the versions of a table, oldest first, as its stores were loaded.

    Raises:
        FormatError: what is merged is not readable.
        StorageError: a file that says so cannot be read.
    """
    base = _Timeline.of(opened.base)
    change = _Timeline.of(opened.change)
    merged = _merged(opened, base.snapshots) if change.snapshots else [0] * len(base.snapshots)
    found: list[TableVersion] = []
    for store, places in _in_time(base.snapshots, change.snapshots, merged):
        of_base, of_change = base.at(places[0]), change.at(places[1])
        if not (base.is_known(places[0]) and change.is_known(places[1])):
            continue
        made = of_base if store == "base" else of_change
        if made is None or made.summary is None:
            continue
        found.append(
            TableVersion(
                number=_sequence(of_base) + _sequence(of_change),
                committed_ms=made.timestamp_ms,
                store=store,
                operation=made.summary.operation.value,
                base_snapshot_id=None if of_base is None else of_base.snapshot_id,
                change_snapshot_id=None if of_change is None else of_change.snapshot_id,
            )
        )
    return tuple(found)


def version_number(opened: OpenTable, state: TableSnapshot) -> int:
    """Return the number of the version that a state of the table is."""
    return sum(
        _sequence(store.metadata.snapshot_by_id(snapshot_id))
        for store, snapshot_id in (
            (opened.base, state.base_snapshot_id),
            (opened.change, state.change_snapshot_id),
        )
        if store is not None and snapshot_id is not None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timeline:
    snapshots: Sequence[Snapshot]
    """Those that were current one after the other, the oldest first."""
    is_whole: bool
    """Whether nothing is missing before the first."""

    @classmethod
    def of(cls, store: Table | None) -> _Timeline:
        if store is None:
            return cls(snapshots=(), is_whole=True)
        ancestry = lineage(store.metadata, store.current_snapshot())
        return cls(snapshots=ancestry[::-1], is_whole=reaches_beginning(store.metadata, ancestry))

    def at(self, place: int) -> Snapshot | None:
        """Return the snapshot after so many commits."""
        return self.snapshots[place - 1] if place else None

    def is_known(self, place: int) -> bool:
        """Say whether it is certain what the store was after so many known commits."""
        return place > 0 or self.is_whole


def _in_time(
    base: Sequence[Snapshot], change: Sequence[Snapshot], merged: Sequence[int]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each commit, with how many of each store there were after it."""
    bases = changes = 0
    while bases < len(base) or changes < len(change):
        if changes == len(change):
            is_base = True
        elif bases == len(base):
            is_base = False
        else:
            # Of the next, not of the last one: those before may have expired.
            held = _sequence(change[changes]) - 1
            is_base = (
                base[bases].timestamp_ms <= change[changes].timestamp_ms and merged[bases] <= held
            )
        bases, changes = bases + is_base, changes + (not is_base)
        yield "base" if is_base else "change", (bases, changes)


def _merged(opened: OpenTable, snapshots: Sequence[Snapshot]) -> list[int]:
    """Return the greatest merged sequence number of each base snapshot."""
    metadata, keys = opened.base.metadata, partition_keys(opened.table)
    found: list[int] = []
    for snapshot in snapshots:
        told = None if snapshot.summary is None else snapshot.summary[MERGED_UP_TO]
        if told is not None:
            found.append(int(told))
        elif tells_merged(snapshot):
            state = read_state(metadata, opened.base.io, snapshot.snapshot_id, keys)
            found.append(max(state.sequence.values(), default=0))
        else:
            found.append(found[-1] if found else 0)
    return found


def _sequence(snapshot: Snapshot | None) -> int:
    return 0 if snapshot is None else snapshot.sequence_number or 0

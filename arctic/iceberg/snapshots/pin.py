"""Pinning: one snapshot of each store and what is merged between them, fixed for a whole read.

Rules:
    - The stores are taken as they were loaded. Whoever has opened the table a while ago, and means
      the newest state, calls its ``refreshed`` before.
    - The change store is loaded first, by both. Base first could miss change files that were merged
      and expired in between: lost rows.
    - If base says that more is merged than the change store has, the change store is loaded again.
    - The stores share no snapshot, so a look into the past pairs them by time; the optimized
      sequence of the base snapshot then hides what it holds already. What replaced the rows of a
      change came after it, whatever the clocks say.
    - A past that is only half there is refused: an expired snapshot is not an empty one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from arctic.errors import FormatError, InvalidInputError, NotFoundError, UnsupportedError
from arctic.iceberg.metadata.history import current_at, lineage, reaches_beginning
from arctic.iceberg.metadata.sequence_file import read_state
from arctic.iceberg.snapshots.state_between import base_beneath
from arctic.iceberg.snapshots.tags import TagState, find_tag, tags_of
from arctic.iceberg.snapshots.versions import table_versions
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partition_key import partition_keys
from arctic.options import AS_OF_TIMESTAMP, SNAPSHOT_ID, VERSION
from arctic.retry import AT_ONCE
from arctic.table.files import Partition
from arctic.table.snapshot import NOTHING_MERGED, TableSnapshot

_NAMED_SNAPSHOTS = 5
"""How many snapshots of each store an error lists."""


def pin(
    opened: OpenTable,
    *,
    snapshot_id: int | None = None,
    as_of_ms: int | None = None,
    version: str | None = None,
) -> TableSnapshot:
    """Fix the state of the table that a read sees.

    Args:
        opened: the table; its stores are refreshed where what they say does not fit.
        snapshot_id: of the change store: the table right after that commit; of the base store:
            that snapshot, with the changes that had been committed by then.
        as_of_ms: the state of both stores at this time, in milliseconds since 1970-01-01 UTC.
            Without any of these, the newest state.
        version: a number of ``table_versions``, the name of a tag, or what ``snapshot_id`` takes.

    Raises:
        InvalidInputError: two of these arguments.
        NotFoundError: a snapshot or time that is unknown or has expired.
        FormatError: what is merged is contradictory or not readable.
        StorageError: the catalog or a file cannot be reached.
    """
    given = ((SNAPSHOT_ID, snapshot_id), (AS_OF_TIMESTAMP, as_of_ms), (VERSION, version))
    said = [f"{option.name} = {value}" for option, value in given if value is not None]
    if len(said) > 1:
        raise InvalidInputError(f"{' and '.join(said)}: give only one of them")
    if version is not None:
        return _at_version(_Stores.of(opened), version.strip())
    if snapshot_id is not None:
        return _at_snapshot(_Stores.of(opened), snapshot_id)
    if as_of_ms is not None:
        return _at_time(_Stores.of(opened), as_of_ms)
    return _newest(opened)


def changes_under(opened: OpenTable, base_ids: Collection[int]) -> frozenset[int]:
    """Return the change snapshots that a look at these base snapshots reads.

    Args:
        opened: a keyed table; its stores are refreshed.
        base_ids: snapshots of the base store; those that are refused already need nothing.

    Raises:
        FormatError: what is merged is contradictory or not readable.
        StorageError: the catalog or a file cannot be reached.
    """
    stores = _Stores.of(opened.refreshed())
    found = set()
    for base_id in base_ids:
        with suppress(NotFoundError, UnsupportedError):
            found.add(_at_snapshot(stores, base_id).change_snapshot_id)
    return frozenset(each for each in found if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stores:
    """Both stores as they were loaded together."""

    name: str
    base: Table
    change: Table | None
    opened: OpenTable

    @classmethod
    def of(cls, opened: OpenTable) -> _Stores:
        """Take the stores of a table as they are."""
        return cls(name=opened.table.name, base=opened.base, change=opened.change, opened=opened)

    def merged(self, base: Snapshot | None) -> Mapping[Partition, int]:
        """Return the optimized sequence of a base snapshot."""
        if self.change is None:
            return {}
        return read_state(
            self.base.metadata,
            self.base.io,
            None if base is None else base.snapshot_id,
            partition_keys(self.opened.table),
        ).sequence

    def pinned(
        self, base: Snapshot | None, change: Snapshot | None, merged: Mapping[Partition, int]
    ) -> TableSnapshot:
        """Return the pair as a value."""
        return TableSnapshot(
            base_snapshot_id=None if base is None else base.snapshot_id,
            change_snapshot_id=None if change is None else change.snapshot_id,
            change_sequence_number=0 if change is None else change.sequence_number or 0,
            optimized_sequence=merged,
        )

    def existing(self) -> str:
        """Say which snapshots there are, for errors."""
        parts = [f"base store: {_listed(self.base)}"]
        if self.change is not None:
            parts.append(f"change store: {_listed(self.change)}")
        return "; ".join(parts)


def _newest(opened: OpenTable) -> TableSnapshot:
    for attempt in AT_ONCE.tries():
        stores = _Stores.of(opened.refreshed() if attempt else opened)
        base, change = stores.base.current_snapshot(), stores.change
        merged = stores.merged(base)
        if change is None:
            return stores.pinned(base, None, merged)
        if _greatest(merged) <= change.last_sequence_number:
            return stores.pinned(base, change.current_snapshot(), merged)
    raise FormatError(
        f"table {opened.table.name!r}: base says that change files up to sequence number "
        f"{_greatest(merged)} are merged, which the change store has not reached"
    )


def _at_snapshot(stores: _Stores, snapshot_id: int) -> TableSnapshot:
    if stores.change is not None:
        change = stores.change.metadata.snapshot_by_id(snapshot_id)
        if change is not None:
            base, merged = _base_under(stores, change)
            return stores.pinned(base, change, merged)
    base = stores.base.metadata.snapshot_by_id(snapshot_id)
    if base is None:
        raise NotFoundError(
            f"table {stores.name!r} has no snapshot {snapshot_id}; {stores.existing()}"
        )
    merged = stores.merged(base)
    return stores.pinned(base, _change_over(stores, base.timestamp_ms, merged), merged)


def _at_version(stores: _Stores, version: str) -> TableSnapshot:
    opened = stores.opened
    if not version.isdecimal():
        tagged = find_tag(opened, version)
        if isinstance(tagged, TagState):
            return _pair(stores, tagged.base_snapshot_id, tagged.change_snapshot_id)
        if tagged is not None:
            return _at_snapshot(stores, tagged)
        known = ", ".join(map(repr, tags_of(opened.base.properties))) or "none"
        raise NotFoundError(f"table {stores.name!r} has no tag {version!r}; its tags: {known}")
    number = int(version)
    tables = [table for table in (stores.base, stores.change) if table is not None]
    if any(table.metadata.snapshot_by_id(number) is not None for table in tables):
        return _at_snapshot(stores, number)
    versions = table_versions(opened)
    for each in versions:
        if each.number == number:
            return _pair(stores, each.base_snapshot_id, each.change_snapshot_id)
    span = f"{versions[0].number} to {versions[-1].number}" if versions else "none"
    raise NotFoundError(
        f"table {stores.name!r} has no version and no snapshot {version}; its versions: {span}"
    )


def _pair(stores: _Stores, base_id: int | None, change_id: int | None) -> TableSnapshot:
    """Return the state of these two snapshots, which must both be there."""
    found: list[Snapshot | None] = []
    for table, snapshot_id in ((stores.base, base_id), (stores.change, change_id)):
        snapshot = None
        if table is not None and snapshot_id is not None:
            snapshot = table.metadata.snapshot_by_id(snapshot_id)
            if snapshot is None:
                raise NotFoundError(
                    f"table {stores.name!r}: snapshot {snapshot_id} of {'.'.join(table.name())!r} "
                    f"has expired; {stores.existing()}"
                )
        found.append(snapshot)
    base, change = found
    return stores.pinned(base, change, stores.merged(base) if base is not None else {})


def _at_time(stores: _Stores, as_of_ms: int) -> TableSnapshot:
    base = _current_at(stores, stores.base, as_of_ms)
    change = None if stores.change is None else _current_at(stores, stores.change, as_of_ms)
    if base is None and change is None:
        raise NotFoundError(
            f"table {stores.name!r} had no snapshot at {as_of_ms}; {stores.existing()}"
        )
    merged = {} if base is None else stores.merged(base)
    if _greatest(merged) > (0 if change is None else change.sequence_number or 0):
        # The clocks of two writers differ: base already holds a change that seems younger.
        change = _change_over(stores, as_of_ms, merged)
    return stores.pinned(base, change, merged)


def _base_under(
    stores: _Stores, change: Snapshot
) -> tuple[Snapshot | None, Mapping[Partition, int]]:
    """Return the newest base snapshot that a change snapshot can lie on, with what it holds."""
    found, _ = base_beneath(stores.opened, change)
    if found is None:
        _check_complete(stores, stores.base, f"change snapshot {change.snapshot_id}")
    return found or (None, {})


def _change_over(
    stores: _Stores, timestamp_ms: int, merged: Mapping[Partition, int]
) -> Snapshot | None:
    """Return the newest change snapshot that is not younger, or that base holds anyway."""
    if stores.change is None:
        return None
    held = _greatest(merged)
    for change in _lineage(stores.change):
        if change.timestamp_ms <= timestamp_ms or (change.sequence_number or 0) <= held:
            return change
    _check_complete(stores, stores.change, f"time {timestamp_ms}")
    return None


def _current_at(stores: _Stores, table: Table, as_of_ms: int) -> Snapshot | None:
    """Return the snapshot that a store was at; None when it had none yet."""
    snapshot, is_certain = current_at(table.metadata, as_of_ms)
    if not is_certain:
        raise NotFoundError(
            f"table {stores.name!r}: the snapshot of {as_of_ms} has expired; {stores.existing()}"
        )
    return snapshot


def _check_complete(stores: _Stores, table: Table, subject: str) -> None:
    """Refuse to take an expired history for an empty one."""
    if not reaches_beginning(table.metadata, _lineage(table)):
        raise NotFoundError(
            f"table {stores.name!r}: the snapshots of {'.'.join(table.name())!r} that belong to "
            f"{subject} have expired; {stores.existing()}"
        )


def _greatest(merged: Mapping[Partition, int]) -> int:
    return max(merged.values(), default=NOTHING_MERGED)


def _lineage(table: Table) -> list[Snapshot]:
    return lineage(table.metadata, table.current_snapshot())


def _listed(table: Table) -> str:
    newest = [f"{each.snapshot_id} (at {each.timestamp_ms})" for each in _lineage(table)]
    if not newest:
        return "no snapshots"
    more = len(newest) - _NAMED_SNAPSHOTS
    return ", ".join(newest[:_NAMED_SNAPSHOTS]) + (f" and {more} older" if more > 0 else "")

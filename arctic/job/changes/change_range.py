"""Where a reader of changes begins and ends.

Rules:
    - A start is exclusive and an end inclusive, so ranges that touch neither lose nor repeat a
      commit.
    - Base commits are placed between changes by their time: the stores share no number. One that
      replaced the rows of a change comes after it, whatever the clocks say.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.snapshots.change_log import (
    change_snapshot,
    head_sequence,
    sequence_at,
    stream_store,
)
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.snapshots.state_between import replaced_over
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.newest_state import on_newest_state
from arctic.table.streams.stream_position import StreamPin, StreamPosition

_BEFORE_ALL = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePlace:
    """How far both stores were, inclusive."""

    sequence_number: int
    """Of the store where changes arrive."""
    base_sequence_number: int

    def version(self, opened: OpenTable) -> int:
        """Return the number of the state."""
        both = self.sequence_number + self.base_sequence_number
        return both if opened.table.is_keyed else self.base_sequence_number


def start_position(opened: OpenTable, asked: AskedChanges) -> StreamPosition:
    """Return where a reader begins; the stores are refreshed.

    Raises:
        InvalidInputError: a time that is still to come.
        NotFoundError: a snapshot or time whose history has expired.
    """
    _refresh(opened)
    if asked.start_version is not None:
        after = version_place(opened, asked.start_version)
        return _position(opened, after.sequence_number, after.base_sequence_number)
    if asked.start_snapshot_id is not None:
        snapshot = change_snapshot(opened, asked.start_snapshot_id)
        base_sequence = _base_under(opened, snapshot.snapshot_id, snapshot.timestamp_ms, asked)
        return _position(opened, snapshot.sequence_number or 0, base_sequence)
    after_ms = asked.start_after_ms
    if after_ms is not None:
        return _position(opened, _sequence_at(opened, after_ms), _base_at(opened, after_ms, asked))
    if asked.starts_at_latest:
        return _position(opened, head_sequence(stream_store(opened)), head_sequence(opened.base))
    return _earliest(opened)


def range_end(opened: OpenTable, asked: AskedChanges) -> ChangePlace:
    """Return where a batch ends; raises as ``start_position``."""
    if asked.end_version is not None:
        return version_place(opened, asked.end_version)
    if asked.end_snapshot_id is not None:
        snapshot = change_snapshot(opened, asked.end_snapshot_id)
        return ChangePlace(
            sequence_number=snapshot.sequence_number or 0,
            base_sequence_number=_base_under(
                opened, snapshot.snapshot_id, snapshot.timestamp_ms, asked
            ),
        )
    if asked.end_ms is not None:
        return ChangePlace(
            sequence_number=_sequence_at(opened, asked.end_ms),
            base_sequence_number=_base_at(opened, asked.end_ms, asked),
        )
    return ChangePlace(
        sequence_number=head_sequence(stream_store(opened)),
        base_sequence_number=head_sequence(opened.base),
    )


def settled_heads(opened: OpenTable) -> ChangePlace:
    """Return how far both stores were at one moment; they are refreshed."""
    while True:
        base_sequence = head_sequence(refresh(opened.base))
        sequence = head_sequence(refresh(stream_store(opened)))
        if head_sequence(refresh(opened.base)) == base_sequence:
            return ChangePlace(sequence_number=sequence, base_sequence_number=base_sequence)


def version_place(opened: OpenTable, version: str) -> ChangePlace:
    """Return where a version is: its number, a tag or a snapshot; 0 comes before the first.

    Raises:
        NotFoundError: there is none, or it has expired.
    """
    if version.strip() == _BEFORE_ALL:
        return ChangePlace(sequence_number=0, base_sequence_number=0)
    state = pin(opened.refreshed(), version=version)
    base = opened.base.metadata.snapshot_by_id(state.base_snapshot_id or 0)
    base_sequence = 0 if base is None else base.sequence_number or 0
    keyed = opened.change is not None
    return ChangePlace(
        sequence_number=state.change_sequence_number if keyed else base_sequence,
        base_sequence_number=base_sequence,
    )


def _earliest(opened: OpenTable) -> StreamPosition:
    state = on_newest_state(opened.refreshed(), pin)
    base = opened.base.metadata.snapshot_by_id(state.base_snapshot_id or 0)
    base_sequence = 0 if base is None else base.sequence_number or 0
    sequence = base_sequence if opened.change is None else state.change_sequence_number
    position = _position(opened, sequence, base_sequence)
    if state.base_snapshot_id is None and state.change_snapshot_id is None:
        return position
    return replace(
        position,
        pin=StreamPin(
            base_snapshot_id=state.base_snapshot_id,
            change_snapshot_id=state.change_snapshot_id,
            files_done=0,
        ),
    )


def _position(opened: OpenTable, sequence: int, base_sequence: int) -> StreamPosition:
    return StreamPosition(
        table_uuid=str(opened.base.metadata.table_uuid),
        sequence_number=sequence,
        base_sequence_number=base_sequence,
    )


def _sequence_at(opened: OpenTable, timestamp_ms: int) -> int:
    now_ms = time.time_ns() // 1_000_000
    if timestamp_ms > now_ms:
        raise InvalidInputError(
            f"time {timestamp_ms} is still to come; expected milliseconds since 1970-01-01 UTC, at "
            f"most {now_ms}"
        )
    return sequence_at(opened, stream_store(opened), timestamp_ms)


def _base_at(opened: OpenTable, timestamp_ms: int, asked: AskedChanges) -> int:
    """Return how far base was then; where nobody will look at its commits, how far it is."""
    if opened.change is None or asked.skips_overwrites:
        return head_sequence(opened.base)
    return sequence_at(opened, opened.base, timestamp_ms)


def _base_under(opened: OpenTable, snapshot_id: int, timestamp_ms: int, asked: AskedChanges) -> int:
    """Return how far base was at a snapshot of the stream's store; else as ``_base_at``."""
    base_sequence = _base_at(opened, timestamp_ms, asked)
    if opened.change is None or asked.skips_overwrites:
        return base_sequence
    over = replaced_over(opened, snapshot_id)
    return base_sequence if over is None else min(base_sequence, over - 1)


def _refresh(opened: OpenTable) -> None:
    for store in (opened.change, opened.base):
        if store is not None:
            refresh(store)

"""Chunks of events: what is left of each key, which is at most one delete and one insert.

Rules:
    - Only a key's last event says whether it has a row afterwards; only its first event says
      what it had before.
    - The first event's before-image, if it is one, is what the change delete shows.
    - A key that an earlier chunk of the task inserted gets a delete before its next insert.
    - Offsets rise with the survivors. A change of unknown old row is a delete at n and an insert
      at n + 1; a known one carries n twice, since a delete kills only what is strictly older.

    - Where a table keeps all events none is left out: each becomes a delete, an insert or both. An
      event shows the row that it replaces, where an earlier one of its chunk put it there.

Must not know: files, partitions, how rows arrive.

Source: amoro ChangeTaskWriter, FlinkChangeTaskWriter @96a4d781a. Differs: events of one key are
collapsed, so a file holds at most one row of it for each chunk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from arctic.errors import InternalError
from arctic.writing.rows.actions import Action, is_insert
from arctic.writing.target import TaskId
from arctic.writing.write_request import WriteMode

_COUNTER_BITS = 40
_TASK_BITS = 63 - _COUNTER_BITS
_SLOTS = 1 << 22
"""Keys that a task may insert before most of its later inserts get a delete for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivors:
    """One entry for each key of a chunk, ordered by its last event."""

    first: np.ndarray
    """Row number of the key's first event."""
    last: np.ndarray
    """Row number of its last event."""
    deletes: np.ndarray
    """Whether older rows of the key must be deleted."""
    images: np.ndarray
    """Whether row ``first`` is the row as it was before."""
    inserts: np.ndarray
    """Whether row ``last`` is the row as it is afterwards."""
    renewed: np.ndarray
    """Whether row ``last`` comes after a delete of the key, if that was asked for."""

    def also_deleting(self, keys: np.ndarray) -> Survivors:
        """Return them with deletes for further keys, given as booleans."""
        return replace(self, deletes=self.deletes | keys)


def collapse(
    codes: np.ndarray,
    key_count: int,
    actions: np.ndarray | None,
    *,
    order: np.ndarray | None,
    mode: WriteMode,
    upsert_inserts: bool,
    finds_renewed: bool,
) -> Survivors:
    """Decide what is left of each key.

    Args:
        codes: one number for each row, equal for equal keys, dense from 0.
        key_count: how many different keys there are.
        actions: ``Action`` codes of the rows; None: all upserted or all deleted, by the mode.
        order: row numbers in event order; None: as they stand.
        mode: upsert or delete; with actions, anything.
        upsert_inserts: an insert replaces a row of its key that is there already.
        finds_renewed: say which keys are deleted before their last event, which costs a sort.
    """
    if order is not None:
        codes = codes[order]
    places = np.arange(len(codes), dtype=np.int64)
    last = np.empty(key_count, dtype=np.int64)
    last[codes] = places  # of a repeated index, the last assignment stays
    first = np.empty(key_count, dtype=np.int64)
    first[codes[::-1]] = places[::-1]
    if key_count == len(codes):
        first = last = places
    else:
        first_by_last = np.full(len(codes), -1, dtype=np.int64)
        first_by_last[last] = first
        last = np.flatnonzero(first_by_last >= 0)
        first = first_by_last[last]
    last_codes = codes[last]
    if order is not None:
        first, last = order[first], order[last]
    if actions is None:
        everything, nothing = np.ones(key_count, dtype=bool), np.zeros(key_count, dtype=bool)
        upserts = mode is WriteMode.UPSERT
        return Survivors(
            first=first,
            last=last,
            deletes=everything,
            images=nothing,
            inserts=everything if upserts else nothing,
            renewed=nothing,
        )
    began, ended = actions[first], actions[last]
    # Not the first event alone: an insert that is replayed is followed by a delete that counts.
    changed = np.zeros(key_count, dtype=bool)
    in_order = actions if order is None else actions[order]
    changed[codes[in_order != Action.INSERT]] = True
    renewed = np.zeros(key_count, dtype=bool)
    if finds_renewed:
        renewed[_deleted_before(codes, in_order)] = True
    return Survivors(
        first=first,
        last=last,
        deletes=np.ones(key_count, dtype=bool) if upsert_inserts else changed[last_codes],
        images=(began == Action.UPDATE_BEFORE) | (began == Action.DELETE),
        inserts=is_insert(ended),
        renewed=renewed[last_codes],
    )


def _deleted_before(codes: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the code of each event that leaves its key without a row, and is not the last of it.

    Args:
        codes: of the events, in event order.
        actions: what they do.
    """
    by_key = np.argsort(codes, kind="stable")
    codes, actions = codes[by_key], actions[by_key]
    updated = (actions[:-1] == Action.UPDATE_BEFORE) & (actions[1:] == Action.UPDATE_AFTER)
    gone = ~is_insert(actions[:-1]) & ~updated & (codes[1:] == codes[:-1])
    deleted: np.ndarray = codes[:-1][gone]
    return deleted


def first_offset(task: TaskId) -> int:
    """Return the offset that the first event of a task may carry.

    The input partition's number stands above the counter, so tasks of one write never overlap.

    >>> first_offset(TaskId(partition_id=2, task_id=7, operation_id=0)) == 2 * 2**40 + 1
    True

    Raises:
        InternalError: more input partitions than offsets can tell apart.
    """
    if not 0 <= task.partition_id < 1 << _TASK_BITS:
        raise InternalError(
            f"input partition {task.partition_id}: expected 0 to 2**{_TASK_BITS} - 1"
        )
    return (task.partition_id << _COUNTER_BITS) + 1


def assign_offsets(
    survivors: Survivors, next_offset: int, *, apart: bool = False
) -> tuple[np.ndarray, np.ndarray, int]:
    """Number the events that are left.

    Args:
        survivors: of a chunk.
        next_offset: where it starts.
        apart: leave a number out between a delete and its insert, so that they are two events.

    Returns:
        The delete's and the insert's offset of each key, meaningful where it has one, each
        strictly rising; then the offset that the next chunk starts at.
    """
    pairs = (survivors.deletes & survivors.inserts & ~survivors.images).astype(np.int64)
    if apart:
        pairs *= 2
    counts = (survivors.deletes | survivors.inserts).astype(np.int64) + pairs
    ends = np.cumsum(counts)
    delete_offsets = next_offset + ends - counts
    total = int(ends[-1]) if len(ends) else 0
    return delete_offsets, delete_offsets + pairs, next_offset + total


class SeenKeys:
    """Remembers which keys were inserted, from chunk to chunk; 4 MiB, however many keys.

    Keys of one slot are taken for each other: that makes a delete too many, never too few. The
    slots are made for the second chunk: a small write has one, and would take some hundredths of
    its time for them.
    """

    def __init__(self) -> None:
        self._first: np.ndarray | None = None
        self._seen: np.ndarray | None = None

    def with_deletes(self, survivors: Survivors, hashes: np.ndarray) -> Survivors:
        """Return what is left of a chunk, with a delete before each key that was inserted before.

        Args:
            survivors: of the chunk.
            hashes: the key hash of each of its rows.
        """
        slots = hashes[survivors.last] & (_SLOTS - 1)
        inserted = slots[survivors.inserts]
        if self._first is None:
            self._first = inserted
            return survivors
        if self._seen is None:
            self._seen = np.zeros(_SLOTS, dtype=bool)
            self._seen[self._first] = True
        repeated = self._seen[slots]
        self._seen[inserted] = True
        return survivors.also_deleting(repeated)


def keep_events(
    codes: np.ndarray,
    actions: np.ndarray | None,
    *,
    order: np.ndarray | None,
    upsert_inserts: bool,
) -> Survivors:
    """Return one entry for each event, in their order; an old row and its new one are one event.

    Args:
        codes: one number for each row, equal for equal keys.
        actions: ``Action`` codes of the rows; None: all upserted.
        order: row numbers in event order; None: as they stand.
        upsert_inserts: an insert replaces a row of its key that is there already.
    """
    rows = np.arange(len(codes), dtype=np.int64) if order is None else order
    given = np.full(len(codes), Action.UPDATE_AFTER, np.int8) if actions is None else actions
    by_key = np.argsort(codes[rows], kind="stable")
    rows = rows[by_key]
    keys, acts = codes[rows], given[rows]
    follows = np.append(False, keys[1:] == keys[:-1])[: len(rows)]
    before = np.append(Action.DELETE, acts[:-1])[: len(rows)]
    previous = np.append(0, rows[:-1])[: len(rows)]
    puts = is_insert(acts)
    joins = follows & (acts == Action.UPDATE_AFTER) & (before == Action.UPDATE_BEFORE)
    replaces = follows & is_insert(before)
    images = joins | replaces | ~puts
    kept = ~np.append(joins[1:], False)[: len(rows)]
    in_order = np.flatnonzero(kept)[np.argsort(by_key[kept])]
    # What an earlier event of the chunk deleted is gone: an insert after it replaces nothing.
    unknown = ~follows & (upsert_inserts | (acts != Action.INSERT))
    deletes = (unknown | joins | replaces | ~puts)[in_order]
    return Survivors(
        first=np.where(joins | replaces, previous, rows)[in_order],
        last=rows[in_order],
        deletes=deletes,
        images=images[in_order],
        inserts=puts[in_order],
        renewed=np.zeros(len(in_order), dtype=bool),
    )

"""Where a reader of changes begins and ends, from what its options say.

Rules:
    - A start is exclusive and an end inclusive, so ranges that touch neither lose nor repeat a
      commit. ``stream-from-timestamp`` alone counts its own moment in.
    - Base commits are placed between changes by their time: the stores share no number.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from numbers import Integral
from typing import Any

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.snapshots.change_log import (
    change_snapshot,
    head_sequence,
    sequence_at,
    stream_store,
)
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.newest_state import on_newest_state
from arctic.options import Option
from arctic.table.streams.stream_position import StreamPin, StreamPosition

Moment = int | datetime | str
"""A snapshot id, or a time with a zone, in ISO 8601 if it is a text."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_STARTS: tuple[Option[Any], ...] = (
    opt.START_SNAPSHOT_ID,
    opt.START_TIMESTAMP,
    opt.STREAM_FROM_TIMESTAMP,
    opt.STREAM_FROM,
)
_ENDS: tuple[Option[Any], ...] = (opt.END_SNAPSHOT_ID, opt.END_TIMESTAMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEnd:
    """Where a batch ends, both inclusive."""

    sequence_number: int
    base_sequence_number: int


def asks_for_changes(options: Mapping[str, str]) -> bool:
    """Say whether a batch read wants a range of changes, not a state of the table.

    >>> asks_for_changes({"END-timestamp": "5"}), asks_for_changes({"snapshot-id": "5"})
    (True, False)
    """
    return any(_is_given(option, options) for option in (*_STARTS[:2], *_ENDS))


def range_options(*, start: Moment | None, end: Moment | None) -> dict[str, str]:
    """Return the options that say the same as two moments.

    >>> range_options(start=77, end=datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc))
    {'start-snapshot-id': '77', 'end-timestamp': '1000'}

    Raises:
        InvalidInputError: a time without a zone.
    """
    return {
        **moment_options("start", start, opt.START_SNAPSHOT_ID, opt.START_TIMESTAMP),
        **moment_options("end", end, opt.END_SNAPSHOT_ID, opt.END_TIMESTAMP),
    }


def moment_options(
    name: str, moment: Moment | None, snapshot: Option[Any], timestamp: Option[Any]
) -> dict[str, str]:
    """Return the option that says the same as a moment; none for None.

    Args:
        name: of the argument, for messages.
        moment: what was given for it.
        snapshot: the option for the id of a snapshot.
        timestamp: the option for a time.

    Raises:
        InvalidInputError: a time without a zone, or another thing.
    """
    if moment is None:
        return {}
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return {timestamp.name: str((moment - _EPOCH) // timedelta(milliseconds=1))}
    if isinstance(moment, str) and not moment.strip().lstrip("-").isdigit():
        timestamp.value({timestamp.name: moment})
        return {timestamp.name: moment}
    if is_whole(moment):
        return {snapshot.name: str(moment)}
    raise InvalidInputError(
        f"{name} = {moment!r}: expected the id of a snapshot as a number, or a time with a zone, "
        "as a datetime or a text such as '2024-02-29T12:00:00Z'"
    )


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number, NumPy's too, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def start_position(opened: OpenTable, options: Mapping[str, str]) -> StreamPosition:
    """Return where a reader begins; the stores are refreshed.

    Raises:
        InvalidInputError: options that contradict each other, or a time that is still to come.
        NotFoundError: a snapshot or time whose history has expired.
    """
    _check_one_of(_STARTS, options)
    _refresh(opened)
    snapshot_id = opt.START_SNAPSHOT_ID.value(options)
    if snapshot_id is not None:
        snapshot = change_snapshot(opened, snapshot_id)
        return _position(
            opened, snapshot.sequence_number or 0, _base_at(opened, snapshot.timestamp_ms, options)
        )
    after_ms = opt.START_TIMESTAMP.value(options)
    from_ms = opt.STREAM_FROM_TIMESTAMP.value(options)
    if from_ms is not None:
        after_ms = from_ms - 1
    if after_ms is not None:
        return _position(
            opened, _sequence_at(opened, after_ms), _base_at(opened, after_ms, options)
        )
    if opt.STREAM_FROM.value(options) == "latest":
        return _position(opened, head_sequence(stream_store(opened)), head_sequence(opened.base))
    return _earliest(opened)


def batch_end(opened: OpenTable, options: Mapping[str, str]) -> ChangeEnd:
    """Return where a batch ends; raises as ``start_position``."""
    _check_one_of(_ENDS, options)
    given = [option.name for option in _ENDS if _is_given(option, options)]
    if given and not any(_is_given(option, options) for option in _STARTS):
        raise InvalidInputError(
            f"option {given[0]} without a start; expected start-snapshot-id or start-timestamp too"
        )
    snapshot_id = opt.END_SNAPSHOT_ID.value(options)
    if snapshot_id is not None:
        snapshot = change_snapshot(opened, snapshot_id)
        return ChangeEnd(
            sequence_number=snapshot.sequence_number or 0,
            base_sequence_number=_base_at(opened, snapshot.timestamp_ms, options),
        )
    until_ms = opt.END_TIMESTAMP.value(options)
    if until_ms is not None:
        return ChangeEnd(
            sequence_number=_sequence_at(opened, until_ms),
            base_sequence_number=_base_at(opened, until_ms, options),
        )
    return ChangeEnd(
        sequence_number=head_sequence(stream_store(opened)),
        base_sequence_number=head_sequence(opened.base),
    )


def _earliest(opened: OpenTable) -> StreamPosition:
    state = on_newest_state(opened, lambda _: pin(opened))
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


def _base_at(opened: OpenTable, timestamp_ms: int, options: Mapping[str, str]) -> int:
    """Return how far base was then; where nobody will look at its commits, how far it is."""
    if opened.change is None or opt.SKIP_OVERWRITES.value(options):
        return head_sequence(opened.base)
    return sequence_at(opened, opened.base, timestamp_ms)


def _refresh(opened: OpenTable) -> None:
    for store in (opened.change, opened.base):
        if store is not None:
            refresh(store)


def _check_one_of(choices: tuple[Option[Any], ...], options: Mapping[str, str]) -> None:
    given = [option.name for option in choices if _is_given(option, options)]
    if len(given) > 1:
        raise InvalidInputError(f"options {' and '.join(given)}: give only one of them")


def _is_given(option: Option[Any], options: Mapping[str, str]) -> bool:
    known = {name.lower() for name in option.names}
    return any(name.lower() in known for name in options)

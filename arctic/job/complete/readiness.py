"""Whether a table is complete up to a moment of event time, and who it waits for.

Rules:
    - A writer that is expected and has never written keeps the table from being complete: its
      watermark is not known, and that of the others says nothing of it.
    - What says that rows are complete has them: the state that is looked at is pinned from the
      same metadata, or from newer.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.commits.commit_notes import watermarks
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.reference import TableReference

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST = datetime.min.replace(tzinfo=timezone.utc)
_LAST = datetime.max.replace(tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """How far event time has come in a table; true where it has come far enough."""

    table: str
    until: datetime
    watermark: datetime | None
    """Of the table; None: nobody has written an event time yet."""
    behind: Mapping[str, datetime | None]
    """The writers that are not there yet, each with its own watermark; None: it never wrote."""

    def __bool__(self) -> bool:
        """Say whether every row before ``until`` is there."""
        return self.watermark is not None and self.watermark >= self.until and not self.behind


def wait_until_ready(
    reference: TableReference,
    until_ms: int,
    *,
    writers: Sequence[str],
    wait_seconds: float,
    poll_seconds: float,
) -> Readiness:
    """Look whether a table is complete up to a moment, and again until it is or time is over.

    Args:
        reference: the table.
        until_ms: milliseconds since 1970-01-01 UTC.
        writers: that must have written, beside those that have.
        wait_seconds: how long to wait; 0 looks once.
        poll_seconds: between two looks.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a table without an event time, or a time to wait below 0.
    """
    check_wait(wait_seconds, poll_seconds)
    give_up = time.monotonic() + wait_seconds
    while True:
        found = readiness(opened_with_times(reference, writers), until_ms, writers)
        left = give_up - time.monotonic()
        if found or left <= 0:
            return found
        time.sleep(min(poll_seconds, left))


def opened_with_times(reference: TableReference, writers: Sequence[str]) -> OpenTable:
    """Open a table, and refuse one of which nobody says how far event time has come."""
    opened = reference.open()
    has_column = opt.EVENT_TIME_FIELD.value({}, opened.table.properties) is not None
    if not has_column and not writers and watermarks(opened).table_ms is None:
        raise InvalidInputError(
            f"table {opened.table.name!r} has no event time, so nothing says how far it has come; "
            f"name the column in its property {opt.EVENT_TIME_FIELD.name}, or let its writers say "
            f"it by their option {opt.TOLD_WATERMARK.name}"
        )
    return opened


def readiness(opened: OpenTable, until_ms: int, writers: Sequence[str]) -> Readiness:
    """Say how far a table is, as it was opened."""
    known = watermarks(opened)
    of_writers = {**dict.fromkeys(writers), **known.writers}
    return Readiness(
        table=opened.table.name,
        until=as_moment(until_ms),
        watermark=None if known.table_ms is None else as_moment(known.table_ms),
        behind={
            name: None if ms is None else as_moment(ms)
            for name, ms in sorted(of_writers.items())
            if ms is None or ms < until_ms
        },
    )


def check_wait(wait_seconds: float, poll_seconds: float) -> None:
    """Refuse times that nobody can wait for.

    Raises:
        InvalidInputError: one is not a number of seconds, or is below 0.
    """
    if not wait_seconds >= 0:
        raise InvalidInputError(f"wait {wait_seconds!r}: expected seconds, 0 or more")
    if not poll_seconds > 0:
        raise InvalidInputError(f"poll {poll_seconds!r}: expected seconds, more than 0")


def as_moment(ms: int) -> datetime:
    """Return milliseconds since 1970 as a time in UTC; beyond the calendar, its first or last."""
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return _LAST if ms > 0 else _FIRST

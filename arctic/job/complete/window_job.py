"""Each complete window of a table once, to whoever asks for them under a name.

Rules:
    - The name's place is a property of base, committed when the work on a window is done, so a
      window whose work failed is given again. Where two work under one name, the second of them to
      finish is refused.
    - A name's windows all have one length: another one would leave some out or give them twice.
    - Rows that come after their window was complete are in none: the lateness of the table's
      watermark is what waits for them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from arctic.errors import FormatError, InvalidInputError
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.commit_notes import watermarks
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.snapshots.versions import version_number
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.job.complete.readiness import as_moment, check_wait, opened_with_times
from arctic.job.reference import TableReference
from arctic.table.property_names import WINDOW_PREFIX
from arctic.table.streams.watermark import check_writer
from arctic.table.streams.window import complete_windows, window_begin
from arctic.writing.conform.event_time import rows_between


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A span of event time that is complete, and the state of the table that has it."""

    table: str
    begin: datetime
    end: datetime
    """The first moment after it."""
    version: int
    """Of the table: a read of it gives the same rows whenever it is run."""
    base_snapshot_id: int | None
    change_snapshot_id: int | None
    row_filter: str | None
    """Its rows; None: no column of the table tells them, its event time is that of the commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsWanted:
    """What a caller asks for."""

    length_ms: int
    consumer: str
    start_ms: int | None
    """Where the first window of a new name begins; None: at the last one that is complete."""
    writers: Sequence[str]
    """Those that must have written, beside those that have."""
    wait_seconds: float
    """How long to wait for another window after the last."""
    poll_seconds: float

    def __post_init__(self) -> None:
        """Check them.

        Raises:
            InvalidInputError: naming what no window can have.
        """
        check_writer(self.consumer)
        check_wait(self.wait_seconds, self.poll_seconds)
        if self.length_ms <= 0:
            raise InvalidInputError("every: expected a duration above 0, such as '10min'")


def windows(reference: TableReference, wanted: WindowsWanted) -> Iterator[Window]:
    """Yield each window that is complete; the work on one is done when the next is asked for.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a table without an event time, or a name whose windows are of another
            length.
        ConflictError: somebody else has finished a window under this name meanwhile.
    """
    give_up = time.monotonic() + wanted.wait_seconds
    while True:
        opened = opened_with_times(reference, wanted.writers)
        told = opened.base.properties.get(_name(wanted))
        place = _place(opened, wanted, told)
        for begin_ms in () if place is None else _complete(opened, place, wanted):
            # The table is loaded anew for each window, so what it says then is no proof that nobody
            # has finished this one since it was chosen.
            yield _window(opened, begin_ms, wanted.length_ms)
            told = _move_on(reference, opened, wanted, begin_ms + wanted.length_ms, told=told)
            give_up = time.monotonic() + wanted.wait_seconds
        left = give_up - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(wanted.poll_seconds, left))


def _place(opened: OpenTable, wanted: WindowsWanted, told: str | None) -> int | None:
    """Return where the next window begins, by what the table says; None: nobody can say yet."""
    if told is not None:
        length_ms, place = _read(_name(wanted), told)
        if length_ms != wanted.length_ms:
            raise InvalidInputError(
                f"windows of {length_ms} ms are given to {wanted.consumer!r} of table "
                f"{opened.table.name!r}, not of {wanted.length_ms} ms; take another name for these"
            )
        return place
    if wanted.start_ms is not None:
        return window_begin(wanted.start_ms, wanted.length_ms)
    watermark_ms = watermarks(opened).table_ms
    if watermark_ms is None:
        return None
    return window_begin(watermark_ms, wanted.length_ms) - wanted.length_ms


def _complete(opened: OpenTable, place: int, wanted: WindowsWanted) -> Iterator[int]:
    known = watermarks(opened)
    if known.table_ms is None or not known.writers.keys() >= set(wanted.writers):
        return iter(())
    return complete_windows(place, known.table_ms, wanted.length_ms)


def _window(opened: OpenTable, begin_ms: int, length_ms: int) -> Window:
    state = pin(opened.refreshed())
    return Window(
        table=opened.table.name,
        begin=as_moment(begin_ms),
        end=as_moment(begin_ms + length_ms),
        version=version_number(opened, state),
        base_snapshot_id=state.base_snapshot_id,
        change_snapshot_id=state.change_snapshot_id,
        row_filter=rows_between(opened.table, begin_ms, begin_ms + length_ms),
    )


def _move_on(
    reference: TableReference,
    opened: OpenTable,
    wanted: WindowsWanted,
    place: int,
    *,
    told: str | None,
) -> str:
    """Put the name behind a window, and return what the table says of it then.

    Args:
        reference: the table.
        opened: the same, as it was when the window was given.
        wanted: whose windows they are.
        place: where the next one begins.
        told: what the table said when the window was chosen.

    Raises:
        ConflictError: it says something else by now.
    """
    name, text = _name(wanted), f"{wanted.length_ms} {place}"
    commit_properties(
        open_catalog(reference.config),
        refresh(opened.base),  # a catalog that compares no properties leaves it to this process
        {name: text},
        (),
        expected={name: told},
        subject=f"windows of {wanted.consumer!r} in table {opened.table.name!r}",
    )
    return text


def _name(wanted: WindowsWanted) -> str:
    return f"{WINDOW_PREFIX}{wanted.consumer}"


def _read(name: str, text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d*) (-?\d+)", text)
    if match is None:
        raise FormatError(f"table property {name} = {text!r}: expected two counts of milliseconds")
    return int(match[1]), int(match[2])

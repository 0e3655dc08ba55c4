"""The verbs that wait until a table is complete up to a moment of event time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta, timezone

from arctic.errors import InvalidInputError
from arctic.job.complete.readiness import Readiness, wait_until_ready
from arctic.job.complete.window_job import Window, WindowsWanted
from arctic.job.complete.window_job import windows as given_windows
from arctic.job.reference import Catalog, as_names, call_options, table_reference
from arctic.options.option_values import duration_ms, moment_ms

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def ready(
    identifier: str,
    until: str | datetime,
    *,
    wait: float = 0,
    writers: str | Iterable[str] = (),
    poll: float = 5,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Readiness:
    """Say whether every row before a moment of event time is in a table, or wait until it is.

    A table is complete up to its watermark: the least of the watermarks of its named writers, none
    of which brings an earlier row any more.

    Args:
        identifier: ``namespace.table``; its property ``table.event-time-field`` names a column.
        until: a time with a zone; without one it is UTC; a text such as ``12:10`` is of today.
        wait: how many seconds at most; 0 looks once.
        writers: names of writers that count even if they have never written.
        poll: seconds between two looks.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Returns:
        A report that is true if the table is complete; else it says which writers are behind.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a table without an event time, or a moment that is none.
    """
    return wait_until_ready(
        table_reference(call_options(identifier, warehouse, catalog)),
        _moment_ms(until),
        writers=as_names(writers),
        wait_seconds=wait,
        poll_seconds=poll,
    )


def windows(
    identifier: str,
    every: str | timedelta,
    *,
    consumer: str,
    start: str | datetime | None = None,
    wait: float = 0,
    writers: str | Iterable[str] = (),
    poll: float = 5,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Iterator[Window]:
    """Yield each window of event time once, when it is complete.

    A window is done when the next one is asked for: if the work on it fails, or the process ends,
    it is given again. Its place is kept with the table, under the name of the consumer.

    Args:
        identifier: ``namespace.table``; its property ``table.event-time-field`` names a column.
        every: how long a window is, such as ``10min``; the first of them began with 1970, in UTC.
        consumer: a name for whoever works on the windows; every consumer gets all of them.
        start: where a new consumer begins: with the window that this moment lies in; None: with the
            last one that is complete.
        wait: how many seconds to wait for another window; 0 yields those that are complete now.
        writers: names of writers that count even if they have never written.
        poll: seconds between two looks.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        InvalidInputError: a table without an event time, or a consumer whose windows have another
            length.
        NotFoundError: no such table.
        ConflictError: another process has finished a window under this name meanwhile.
    """
    wanted = WindowsWanted(
        length_ms=_length_ms(every),
        consumer=consumer,
        start_ms=None if start is None else _moment_ms(start),
        writers=as_names(writers),
        wait_seconds=wait,
        poll_seconds=poll,
    )
    return given_windows(table_reference(call_options(identifier, warehouse, catalog)), wanted)


def _moment_ms(given: str | datetime) -> int:
    if isinstance(given, str):
        try:
            return _text_ms(given)
        except ValueError:
            raise InvalidInputError(
                f"time {given!r}: expected one such as '12:10' (of today), '2024-02-29 12:10' "
                "(UTC) or '2024-02-29T12:10:00+02:00'"
            ) from None
    zoned = given if given.tzinfo is not None else given.replace(tzinfo=timezone.utc)
    return (zoned - _EPOCH) // timedelta(milliseconds=1)


def _text_ms(text: str) -> int:
    try:
        today = time.fromisoformat(text.strip())
    except ValueError:
        pass
    else:
        zone = today.tzinfo or timezone.utc
        day: date = datetime.now(zone).date()
        return _moment_ms(datetime.combine(day, today.replace(tzinfo=None), zone))
    try:
        return moment_ms(text)
    except ValueError:
        return _moment_ms(datetime.fromisoformat(text.strip()))


def _length_ms(every: str | timedelta) -> int:
    if isinstance(every, timedelta):
        return every // timedelta(milliseconds=1)
    try:
        return duration_ms(every)
    except ValueError as error:
        raise InvalidInputError(f"every = {every!r}: {error}") from None

"""How far event time has come in the rows of a write: the watermark of its table.

The watermark of a write is the latest event time in its files, less the lateness that the table
allows. It is taken from the statistics in their footers, so it costs no look at rows.

Rules:
    - Milliseconds since 1970-01-01 UTC, whatever the column counts in.
    - A column that cannot tell is refused before the first row, a value that is no time before any
      file of it, not ignored: somebody would wait for a watermark that never comes.

Must not know: where a watermark is kept.

Source: amoro WatermarkGenerator @96a4d781a. Differs: timestamps are taken as the microseconds
that they are, int seconds do not overflow, and without an event-time field there is no watermark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.table.files import WrittenFile
from arctic.table.table_description import TableDescription

_TEXT_FORMAT = "%Y-%m-%d %H:%M:%S"
_LAST_SECOND = (2**63 - 1) // 1000
_TEXT_PATTERN = "yyyy-MM-dd HH:mm:ss"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTime:
    """The event time of a table's rows."""

    column: str
    """``_ingest_time`` stands for the moment of the commit."""
    to_ms: Callable[[Any], int | None]
    """A greatest value, as Parquet statistics hold it, to milliseconds; None: it says nothing."""
    lateness_ms: int

    @classmethod
    def of(cls, table: TableDescription) -> EventTime | None:
        """Return what the table's properties say; None: it has no event time.

        Raises:
            InvalidInputError: a column that is missing or cannot tell a time.
        """
        column = opt.EVENT_TIME_FIELD.value({}, table.properties)
        if column is None:
            return None
        return cls(
            column=column,
            to_ms=_reading(table, column),
            lateness_ms=opt.WATERMARK_LATENESS.value({}, table.properties) * 1000,
        )

    def check(self, rows: pa.RecordBatch, describe_row: Callable[[int], str]) -> None:
        """Refuse a value that is no time.

        Args:
            rows: of the table; those without the column pass.
            describe_row: how a message names a row by its number.

        Raises:
            InvalidInputError: naming the column, the first such row and its value.
        """
        if self.column not in rows.schema.names:
            return
        values = rows.column(self.column)
        if pt.is_string(values.type):
            wrong, expected = (
                _no_times(values),
                f"a time such as '2024-02-29 12:00:00', {_TEXT_PATTERN}",
            )
        elif self.to_ms is _from_seconds and pt.is_int64(values.type):
            wrong, expected = _beyond(values), "seconds since 1970-01-01"
        else:
            return
        row = pc.index(wrong, True).as_py()
        if row >= 0:
            raise InvalidInputError(
                f"column {self.column!r} is {values[row].as_py()!r} in {describe_row(row)}, but it "
                f"tells the event time ({opt.EVENT_TIME_FIELD.name}); expected {expected}"
            )

    def watermark_ms(self, files: Iterable[WrittenFile]) -> int | None:
        """Return the watermark of written files; None: they have no event times."""
        if self.column == opt.INGEST_TIME:
            return time.time_ns() // 1_000_000 - self.lateness_ms
        found = [
            ms
            for file in files
            for greatest in _greatest(file.footer, self.column)
            if (ms := self.to_ms(greatest)) is not None
        ]
        return max(found) - self.lateness_ms if found else None


def watermark_of(table: TableDescription, files: Iterable[WrittenFile]) -> int | None:
    """Return the watermark that a commit of these files brings; None: none."""
    event_time = EventTime.of(table)
    return None if event_time is None else event_time.watermark_ms(files)


def rows_between(table: TableDescription, begin_ms: int, end_ms: int) -> str | None:
    """Return a filter of the rows whose event time is from ``begin_ms`` on and before ``end_ms``.

    None where no column tells it: the event time is that of the commit, or there is none.
    """
    column = opt.EVENT_TIME_FIELD.value({}, table.properties)
    if column is None or column == opt.INGEST_TIME:
        return None
    kind = {each.name: each.type for each in table.columns}[column]
    in_seconds = opt.EVENT_TIME_NUMBERS.value({}, table.properties) == "timestamp_s"
    begin, end = (_literal(ms, kind, in_seconds=in_seconds) for ms in (begin_ms, end_ms))
    name = "`{}`".format(column.replace("`", "``"))
    return f"{name} >= {begin} AND {name} < {end}"


def _literal(ms: int, kind: str, *, in_seconds: bool) -> str:
    if kind in ("int", "long"):
        # The first whole second from then on.
        return str(-(-ms // 1000) if in_seconds else ms)
    moment = datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=ms)
    if kind == "string":
        # Texts of whole seconds order as their times do.
        return f"'{moment + timedelta(microseconds=999_999):{_TEXT_FORMAT}}'"
    zone = "+00:00" if kind == "timestamptz" else ""
    return f"'{moment:%Y-%m-%dT%H:%M:%S.%f}{zone}'"


def _beyond(seconds: pa.Array) -> pa.Array:
    return pc.or_(pc.greater(seconds, _LAST_SECOND), pc.less(seconds, -_LAST_SECOND))


def _no_times(texts: pa.Array) -> pa.Array:
    """Say of each text whether it is no time; of a null nothing."""
    moments = pc.strptime(texts, format=_TEXT_FORMAT, unit="s", error_is_null=True)
    again = pc.strftime(moments, format="%Y-%m-%d %H:%M:%S")
    return pc.and_not(pc.is_valid(texts), pc.fill_null(pc.equal(again, texts), False))


def _greatest(footer: bytes, column: str) -> Iterator[Any]:
    metadata = pq.read_metadata(pa.BufferReader(footer))
    paths = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    if column not in paths:
        return
    place = paths.index(column)
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(place).statistics
        if statistics is not None and statistics.has_min_max:
            is_text = statistics.physical_type == "BYTE_ARRAY"
            yield statistics.max if is_text else statistics.max_raw


def _reading(table: TableDescription, column: str) -> Callable[[Any], int | None]:
    if column == opt.INGEST_TIME:
        return _milliseconds
    types: Mapping[str, str] = {each.name: each.type for each in table.columns}
    if column not in types:
        raise InvalidInputError(
            f"table {table.name!r}: property {opt.EVENT_TIME_FIELD.name} = {column!r} names no "
            f"column; it has {', '.join(types)}"
        )
    in_seconds = opt.EVENT_TIME_NUMBERS.value({}, table.properties) == "timestamp_s"
    pattern = opt.EVENT_TIME_TEXTS.value({}, table.properties)
    kind = types[column]
    if kind in ("timestamp", "timestamptz"):
        return _from_microseconds
    if kind == "long" or (kind == "int" and in_seconds):
        return _from_seconds if in_seconds else _milliseconds
    if kind == "string" and pattern == _TEXT_PATTERN:
        return _from_text
    raise InvalidInputError(
        f"table {table.name!r}: property {opt.EVENT_TIME_FIELD.name} = {column!r} names a column "
        f"of type {kind}; expected timestamp, timestamptz, long, int in TIMESTAMP_S, or string in "
        f"{_TEXT_PATTERN!r}"
    )


def _milliseconds(value: int) -> int:
    return value


def _from_seconds(value: int) -> int:
    return value * 1000


def _from_microseconds(value: int) -> int:
    return value // 1000


def _from_text(value: str) -> int | None:
    try:
        moment = datetime.strptime(value, _TEXT_FORMAT).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000

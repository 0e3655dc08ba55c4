"""Rows of a binary log, table by table, as change events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from arctic.cdc.events import BROKEN, EVENTS, NAMES, Events
from arctic.mysql.characters import BinlogColumn
from arctic.mysql.column_values import texts
from arctic.mysql.row_images import Integers, RowImages, row_images


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRows:
    """One event of the log: rows of one table, all changed in one way."""

    source: str
    """``schema.table``."""
    kind: str
    """I insert, U update, D delete, T truncate."""
    columns: tuple[BinlogColumn, ...]
    payload: bytes
    ends: int = 0
    """Where the log is once the transaction is complete."""


def change_events(logged: Sequence[LoggedRows], *, ends: int) -> Events:
    """Return the events of a piece of the log, a row each.

    Memory: a few times the events.
    """
    groups: dict[tuple[str, tuple[BinlogColumn, ...]], list[int]] = {}
    for number, each in enumerate(logged):
        groups.setdefault((each.source, each.columns), []).append(number)
    parts = [_events_of(columns, logged, numbers) for (_, columns), numbers in groups.items()]
    order = np.concatenate([numbers for numbers, _ in parts]) if parts else np.empty(0, np.int64)
    # Rows of one event are in order already.
    places = np.argsort(order, kind="stable")
    events = pa.concat_tables([EVENTS.empty_table(), *(table for _, table in parts)])
    events = events.take(pa.array(places))
    seq = pa.array(np.arange(len(places), dtype=np.int64))
    events = events.set_column(0, "seq", seq).cast(EVENTS)
    return Events(events=events, broken=BROKEN.empty_table(), ignored=0, ends=ends)


def _events_of(
    columns: tuple[BinlogColumn, ...], logged: Sequence[LoggedRows], numbers: Sequence[int]
) -> tuple[Integers, pa.Table]:
    """Return events of one table, and the number of the logged event that each is of."""
    given = [logged[number] for number in numbers]
    images = row_images([each.payload for each in given], [column.extent for column in columns])
    kinds = np.array([each.kind for each in given])
    rows = _rows(images, kinds)
    if not columns:
        # Of a truncate, which has no rows.
        every = np.arange(len(given))
        nothing = np.full(len(given), -1)
        rows = _Rows(event=every, new=nothing, old=nothing)
    values = [
        texts(images.buffer, starts, lengths, column)
        for starts, lengths, column in zip(images.starts, images.lengths, columns, strict=True)
    ]
    names = [column.name for column in columns]
    count = len(rows.event)
    shape = json.dumps([[column.name, column.type] for column in columns]) if columns else None
    table = pa.table(
        {
            "seq": pa.nulls(count, pa.int64()),
            "ends": np.array([each.ends for each in given], np.int64)[rows.event],
            "source": pa.repeat(given[0].source, count),
            "kind": pa.array(kinds[rows.event].astype(object), pa.string()),
            "names": _names(names, rows.new),
            "vals": _lists(values, rows.new),
            "old_names": _names(names, rows.old),
            "old_vals": _lists(values, rows.old),
            "numbers": pa.nulls(count, NAMES),
            "shape": pa.array([shape], pa.string()).take(pa.array(np.zeros(count, np.int64))),
            "message": pa.nulls(count, pa.string()),
        }
    )
    return np.array(numbers, np.int64)[rows.event], table.cast(EVENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Which images rows are: numbers of images, -1 for none."""

    event: Integers
    new: Integers
    old: Integers


def _rows(images: RowImages, kinds: np.ndarray[tuple[int], np.dtype[np.str_]]) -> _Rows:
    """An update has two images, the one before and the one after it."""
    every = np.arange(len(images.event), dtype=np.int64)
    kind = kinds[images.event]
    firsts = np.searchsorted(images.event, images.event)
    begins = (kind != "U") | ((every - firsts) % 2 == 0)
    first, kind = every[begins], kind[begins]
    return _Rows(
        event=images.event[begins],
        new=np.where(kind == "I", first, np.where(kind == "U", first + 1, -1)),
        old=np.where(kind == "I", -1, first),
    )


def _lists(columns: Sequence[pa.Array], rows: Integers) -> pa.Array:
    """Return a list of the values of each row; null for a row that is none."""
    there = rows[rows >= 0]
    if not columns or not len(there):
        return pa.nulls(len(rows), NAMES)
    length = len(columns[0])
    flat = pa.concat_arrays(list(columns))
    places = there[:, None] + np.arange(len(columns), dtype=np.int64) * length
    return _listed(flat.take(pa.array(places.ravel())), rows, len(columns))


def _names(names: Sequence[str], rows: Integers) -> pa.Array:
    count = int((rows >= 0).sum())
    if not names or not count:
        return pa.nulls(len(rows), NAMES)
    flat = pa.array(names, pa.string()).take(pa.array(np.tile(np.arange(len(names)), count)))
    return _listed(flat, rows, len(names))


def _listed(flat: pa.Array, rows: Integers, width: int) -> pa.Array:
    is_there = rows >= 0
    offsets = np.concatenate([[0], np.cumsum(is_there * width)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), flat, mask=pa.array(~is_there))

"""Rows of a binary log, table by table, as change events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.events import BROKEN, EVENTS, NAMES, Events
from arctic.cdc.unread import Image, ReadColumn
from arctic.mysql.characters import BinlogColumn
from arctic.mysql.column_values import texts
from arctic.mysql.row_images import Integers, RowImages, row_images
from arctic.mysql.typed_values import values


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Which images rows are: numbers of images, -1 for none."""

    event: Integers
    new: Integers
    old: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Events of one table with the same columns."""

    columns: tuple[BinlogColumn, ...]
    images: RowImages
    rows: _Rows

    def side(self, chosen: Integers, columns: Sequence[ReadColumn]) -> dict[str, pa.Array]:
        """Return values of images that a table wants."""
        numbers = {column.name: number for number, column in enumerate(self.columns)}
        return {
            wanted.source: values(
                self.images.buffer,
                self.images.starts[numbers[wanted.source]][chosen],
                self.images.lengths[numbers[wanted.source]][chosen],
                self.columns[numbers[wanted.source]],
                wanted,
            )
            for wanted in columns
            if wanted.source in numbers
        }

    def texts(self, chosen: Integers) -> list[pa.Array]:
        """Return all values of images."""
        parts = zip(self.images.starts, self.images.lengths, self.columns, strict=True)
        return [
            texts(self.images.buffer, starts[chosen], lengths[chosen], column)
            for starts, lengths, column in parts
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedImages:
    """Rows of a piece of the log whose values are not read yet."""

    groups: tuple[_Group, ...]
    events: pa.Table
    """``EVENTS``, group after group, with places that are their numbers here."""

    def images(self, places: Integers, columns: Sequence[ReadColumn]) -> Iterator[Image]:
        """Yield an image for each group and kind of change."""
        for at, group, chosen in self._grouped(places):
            new, old = group.rows.new[chosen], group.rows.old[chosen]
            for has_new, has_old in ((True, True), (True, False), (False, True)):
                here = np.flatnonzero(((new >= 0) == has_new) & ((old >= 0) == has_old))
                if len(here):
                    yield Image(
                        at=at[here],
                        new=group.side(new[here], columns) if has_new else None,
                        old=group.side(old[here], columns) if has_old else None,
                    )

    def listed(self, places: Integers) -> tuple[pa.Table, pa.Table]:
        """Return events with lists."""
        parts = []
        for at, group, chosen in self._grouped(places):
            new, old = group.rows.new[chosen], group.rows.old[chosen]
            used, numbers = np.unique(np.concatenate([new, old]), return_inverse=True)
            numbers = numbers - (used < 0).sum()
            each = group.texts(used[used >= 0])
            names = [column.name for column in group.columns]
            found = self.events.take(pa.array(places[at]))
            lists = {
                "seq": pa.array(at),
                "names": _names(names, new),
                "vals": _lists(each, numbers[: len(new)]),
                "old_names": _names(names, old),
                "old_vals": _lists(each, numbers[len(new) :]),
                "place": pa.nulls(len(at), pa.int64()),
            }
            for name, array in lists.items():
                found = found.set_column(EVENTS.get_field_index(name), name, array)
            parts.append(found.cast(EVENTS))
        events = pa.concat_tables([EVENTS.empty_table(), *parts]).sort_by("seq")
        return events, BROKEN.empty_table()

    def _grouped(self, places: Integers) -> Iterator[tuple[Integers, _Group, Integers]]:
        """Yield which of the places are of a group, and which of its events they are."""
        ends = np.cumsum([len(group.rows.event) for group in self.groups])
        of = np.searchsorted(ends, places, side="right")
        for number, group in enumerate(self.groups):
            at = np.flatnonzero(of == number)
            if len(at):
                yield at, group, places[at] - (ends[number] - len(group.rows.event))


def change_events(logged: Sequence[LoggedRows], *, ends: int) -> Events:
    """Return the events of a piece of the log, a row each.

    Memory: a few times the events.
    """
    together: dict[tuple[str, tuple[BinlogColumn, ...]], list[int]] = {}
    for number, each in enumerate(logged):
        together.setdefault((each.source, each.columns), []).append(number)
    groups, parts, numbers = [], [], [np.empty(0, np.int64)]
    for (_, columns), which in together.items():
        given = [logged[number] for number in which]
        group = _group(columns, given)
        groups.append(group)
        parts.append(_events_of(group, given))
        numbers.append(np.array(which, np.int64)[group.rows.event])
    events = pa.concat_tables([EVENTS.empty_table(), *parts])
    count = events.num_rows
    # What has no rows, as a truncate, has no place.
    is_read = pa.array(events["shape"].is_valid().to_numpy())
    every = pa.array(np.arange(count, dtype=np.int64))
    events = events.set_column(
        EVENTS.get_field_index("place"), "place", pc.if_else(is_read, every, None)
    ).cast(EVENTS)
    # Rows of one event are in order already.
    order = np.argsort(np.concatenate(numbers), kind="stable")
    unread = LoggedImages(groups=tuple(groups), events=events)
    events = events.take(pa.array(order)).set_column(0, "seq", every).cast(EVENTS)
    return Events(events=events, broken=BROKEN.empty_table(), ignored=0, ends=ends, unread=unread)


def _group(columns: tuple[BinlogColumn, ...], given: Sequence[LoggedRows]) -> _Group:
    images = row_images([each.payload for each in given], [column.extent for column in columns])
    if columns:
        rows = _rows(images, np.array([each.kind for each in given]))
    else:
        # Of a truncate, which has no rows.
        nothing = np.full(len(given), -1)
        rows = _Rows(event=np.arange(len(given)), new=nothing, old=nothing)
    return _Group(columns=columns, images=images, rows=rows)


def _events_of(group: _Group, given: Sequence[LoggedRows]) -> pa.Table:
    """Return events of one table, without their values."""
    event, count = group.rows.event, len(group.rows.event)
    shape = json.dumps([[column.name, column.type] for column in group.columns])
    kinds = np.array([each.kind for each in given])
    arrays = {
        "ends": np.array([each.ends for each in given], np.int64)[event],
        "source": pa.repeat(given[0].source, count),
        "kind": pa.array(kinds.astype(object), pa.string()).take(pa.array(event)),
    }
    if group.columns:
        arrays["shape"] = pa.repeat(shape, count)
    return pa.table(
        [arrays.get(field.name, pa.nulls(count, field.type)) for field in EVENTS], schema=EVENTS
    )


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

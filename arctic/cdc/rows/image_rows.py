"""Images of rows become rows with an action column, as ``event_rows`` makes them of lists.

Rules:
    - Only what is certain is taken. Whatever would be broken, or depends on more than its values,
      is left to ``event_rows``: this skips work, and never decides otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.decode import Encoding, decode
from arctic.cdc.engine import engine, in_pieces
from arctic.cdc.events import BROKEN
from arctic.cdc.rows.certain_texts import certain_values
from arctic.cdc.rows.event_rows import ACTION, ORDER, TypedRows
from arctic.cdc.unread import Image, ReadColumn

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Values:
    """Values of a column in the table's type."""

    values: pa.Array
    is_null: Flags
    """There is none; what could not be read is not null."""
    is_unreadable: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Each column after and before; empty: no such row."""

    new: tuple[_Values, ...]
    old: tuple[_Values, ...]


def image_rows(
    events: pa.Table,
    image: Image,
    columns: Sequence[ReadColumn],
    key: Sequence[str],
    ordering: Sequence[str],
) -> tuple[TypedRows, Flags]:
    """Read the rows of events.

    Args:
        events: ``EVENTS`` that the image is of, in its order.
        image: their rows.
        columns: all columns of the table, in its order.
        key: its key columns.
        ordering: its ordering columns.

    Returns:
        The rows, and which of the events they are of.
    """
    kind = events["kind"].combine_chunks()
    is_delete = _flags(pc.equal(kind, "D"))
    is_update = _flags(pc.equal(kind, "U"))
    sides = _sides(image, columns)
    has_old = (is_delete | is_update) if image.old is not None else np.zeros(len(kind), np.bool_)
    clear = np.ones(len(kind), np.bool_)
    if image.new is None:
        clear &= is_delete
    if image.old is None:
        clear &= ~is_delete
    changed = np.zeros(len(kind), np.bool_)
    for number, column in enumerate(columns):
        named = column.field.name
        is_needed = named in key or named in ordering
        if sides.new:
            after = sides.new[number]
            clear &= is_delete | ~after.is_unreadable
            if is_needed or not column.field.nullable:
                clear &= is_delete | ~after.is_null
            if column.absent_is_broken and not _mentions(image, column):
                clear &= ~is_update
        if sides.old and is_needed:
            before = sides.old[number]
            clear &= ~has_old | ~(before.is_null | before.is_unreadable)
        if sides.old and sides.new and named in key:
            differ = pc.not_equal(sides.old[number].values, sides.new[number].values)
            changed |= _flags(pc.fill_null(differ, True))
    is_full = image.old is not None and all(
        column.source in image.old for column in columns if column.source is not None
    )
    shows_old = has_old & (is_delete | changed | (is_full and not ordering))
    before_rows = _part(
        events, sides.old, clear & shows_old, columns,
        action=pc.if_else(pa.array(is_delete), "D", "D" if ordering else "-U"), offset=0,
    )  # fmt: skip
    after_rows = _part(
        events, sides.new, clear & ~is_delete, columns,
        action=pc.if_else(pc.equal(kind, "I"), "I", "+U"), offset=1,
    )  # fmt: skip
    live = clear & ~is_delete
    made = TypedRows(
        rows=pa.concat_tables([before_rows, after_rows]),
        broken=BROKEN.empty_table(),
        lacking=frozenset(_lacking(image, columns) if live.any() else ()),
        nulls=frozenset(
            column.field.name
            for column, after in zip(columns, sides.new, strict=False)
            if (after.is_null & live).any()
        ),
    )
    return made, clear


def _mentions(image: Image, column: ReadColumn) -> bool:
    return any(side is not None and column.source in side for side in (image.new, image.old))


def _lacking(image: Image, columns: Sequence[ReadColumn]) -> list[str]:
    return [
        column.field.name
        for column in columns
        if not column.absent_is_null and not _mentions(image, column)
    ]


def _part(
    events: pa.Table,
    side: Sequence[_Values],
    chosen: Flags,
    columns: Sequence[ReadColumn],
    *,
    action: pa.Array,
    offset: int,
) -> pa.Table:
    """Return the rows of one side of the chosen events."""
    names = [*(column.field.name for column in columns), ACTION, ORDER]
    order = pc.add(pc.multiply(events["seq"].combine_chunks(), 2), offset)
    arrays = [each.values for each in side] or [
        pa.nulls(events.num_rows, column.field.type) for column in columns
    ]
    whole = pa.table([*arrays, action, order], names=names)
    return whole if chosen.all() else whole.filter(pa.array(chosen))


def _sides(image: Image, columns: Sequence[ReadColumn]) -> _Sides:
    """Read both sides; texts of all columns go to DuckDB at once."""
    after = [_found(image.new, column, image.old) for column in columns]
    before = [_found(image.old, column) for column in columns]
    given = {
        f"{side}{number}": (array, column)
        for side, arrays in (("n", after), ("o", before))
        for number, (array, column) in enumerate(zip(arrays, columns, strict=True))
        if array is not None and not _is_typed(array, column)
    }
    read = decoded_texts(given)

    return _Sides(
        new=() if image.new is None else _side("n", after, read, columns, len(image.at)),
        old=() if image.old is None else _side("o", before, read, columns, len(image.at)),
    )


def _side(
    name: str,
    arrays: Sequence[pa.Array | None],
    read: Mapping[str, pa.Array],
    columns: Sequence[ReadColumn],
    count: int,
) -> tuple[_Values, ...]:
    return tuple(
        _values(array, read.get(f"{name}{number}"), column, count)
        for number, (array, column) in enumerate(zip(arrays, columns, strict=True))
    )


def _found(
    side: Mapping[str, pa.Array] | None,
    column: ReadColumn,
    instead: Mapping[str, pa.Array] | None = None,
) -> pa.Array | None:
    """Return the values of a column; what a row after does not mention is as it was before."""
    if side is None or column.source is None:
        return None
    if column.source in side:
        return side[column.source]
    return None if instead is None else instead.get(column.source)


def _is_typed(array: pa.Array, column: ReadColumn) -> bool:
    is_plain = column.decoding.encoding is Encoding.TEXT
    return array.type == column.field.type and (is_plain or not pa.types.is_string(array.type))


def decoded_texts(
    given: Mapping[str, tuple[pa.Array, ReadColumn]],
) -> Mapping[str, pa.Array]:
    """Return texts as the values that they are, null where they are none.

    Args:
        given: name -> texts of a column, and where they go.
    """
    certain = {name: certain_values(array, column) for name, (array, column) in given.items()}
    known = {name: values for name, values in certain.items() if values is not None}
    return {**known, **_decoded({name: given[name] for name in given if name not in known})}


def _decoded(given: Mapping[str, tuple[pa.Array, ReadColumn]]) -> Mapping[str, pa.Array]:
    if not given:
        return {}
    parts = [
        f"{decode(name, column.field.type, column.decoding, column=column.field.name)} AS {name}"
        for name, (_, column) in given.items()
    ]
    texts = pa.table({name: array for name, (array, _) in given.items()})
    with engine() as connection:
        connection.register("texts", in_pieces(texts))
        found = connection.sql(f"SELECT {', '.join(parts)} FROM texts").to_arrow_table()
    return {
        name: found[name].cast(column.field.type).combine_chunks()
        for name, (_, column) in given.items()
    }


def _values(
    array: pa.Array | None, read: pa.Array | None, column: ReadColumn, count: int
) -> _Values:
    nothing = np.zeros(count, np.bool_)
    if array is None:
        nulls = pa.nulls(count, column.field.type)
        return _Values(values=nulls, is_null=~nothing, is_unreadable=nothing)
    values = array if read is None else read
    is_null = _flags(array.is_null()) if array.null_count else nothing
    unreadable = nothing
    if read is not None and read.null_count:
        unreadable = _flags(read.is_null()) & ~is_null
    return _Values(values=values, is_null=is_null, is_unreadable=unreadable)


def _flags(array: pa.Array | pa.ChunkedArray) -> Flags:
    found: Flags = np.asarray(array.to_numpy(zero_copy_only=False), np.bool_)
    return found

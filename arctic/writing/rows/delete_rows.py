"""Rows of change-delete files: the key that dies, and as much of the old row as is known.

Rules:
    - With a before-image the row is the old row. Without one it holds the key, the partition
      source columns and the required columns, and null in every optional column.
    - All columns but the key are nullable in the file, and so is what is nested in them, also
      where the table requires a value: a delete by key has none.
    - In the table's ordering columns it holds the values of the event that it is of, whatever the
      old row had: they say which rows it removes.
    - A key dies once in each partition where it may have a row.

Must not know: how events became deletes, how files are written.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from arctic.columns.nullable import nullable_throughout
from arctic.mor.request import FILE_OFFSET_FIELD
from arctic.writing.route import Places
from arctic.writing.rows.collapse import Survivors
from arctic.writing.target import WriteTarget


def insert_schema(target: WriteTarget) -> pa.Schema:
    """Return the columns of an insert file."""
    return pa.schema([*target.schema, FILE_OFFSET_FIELD])


def change_delete_schema(target: WriteTarget) -> pa.Schema:
    """Return the columns of a change-delete file: all but the key may be null."""
    fields = [
        field if field.name in target.key else nullable_throughout(field) for field in target.schema
    ]
    return pa.schema([*fields, FILE_OFFSET_FIELD])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeDeletes:
    """The deletes of one chunk; the arrays have one entry for each, in offset order."""

    content: np.ndarray
    """Row of the chunk that tells the key."""
    images: np.ndarray
    """Whether that row is the old row."""
    found: np.ndarray | None
    """Row of the located rows that tells the partition, or -1; None: nothing was located."""
    offsets: np.ndarray
    places: Places
    events: np.ndarray
    """Row of the chunk that is the event, or the last of those that made the delete."""


def deletes_in_place(survivors: Survivors, offsets: np.ndarray, places: Places) -> ChangeDeletes:
    """Delete each key in the partition that the key decides.

    Args:
        survivors: of the chunk.
        offsets: the delete offset of each survivor.
        places: of all rows of the chunk.
    """
    wanted = survivors.deletes
    content = np.where(survivors.images, survivors.first, survivors.last)[wanted]
    return ChangeDeletes(
        content=content,
        images=survivors.images[wanted],
        found=None,
        offsets=offsets[wanted],
        places=places.take(content),
        events=survivors.last[wanted],
    )


def delete_table(
    deletes: ChangeDeletes,
    rows: np.ndarray,
    *,
    chunk: pa.Table,
    located: pa.Table | None,
    target: WriteTarget,
) -> pa.Table:
    """Build the rows of a change-delete file.

    Args:
        deletes: all deletes of the chunk.
        rows: which of them go into the file.
        chunk: the rows that ``content`` points to; may lack columns that are not known.
        located: the rows that ``found`` points to, with the partition source columns.
        target: the table.

    Returns:
        The columns of ``change_delete_schema``, in order.
    """
    content = deletes.content[rows]
    images = deletes.images[rows]
    known = pa.array(content)
    # An index that is null takes a null, for every type there is.
    only_images = pa.array(content, mask=~images) if images.any() else None
    columns = []
    for field, written in zip(target.schema, change_delete_schema(target), strict=False):
        if field.name in target.table.ordering_columns:
            columns.append(chunk.column(field.name).take(pa.array(deletes.events[rows])))
        elif field.name in target.partition_sources and field.name not in target.key:
            columns.append(_source_column(deletes, rows, field, chunk, located))
        elif field.name not in chunk.column_names:
            columns.append(pa.nulls(len(rows), written.type))
        elif field.name in target.key or not field.nullable:
            columns.append(chunk.column(field.name).take(known))
        elif only_images is not None:
            columns.append(chunk.column(field.name).take(only_images))
        else:
            columns.append(pa.nulls(len(rows), written.type))
    columns.append(pa.array(deletes.offsets[rows]))
    return pa.table(columns, names=[*target.schema.names, FILE_OFFSET_FIELD.name])


def _source_column(
    deletes: ChangeDeletes,
    rows: np.ndarray,
    field: pa.Field,
    chunk: pa.Table,
    located: pa.Table | None,
) -> pa.ChunkedArray:
    content = deletes.content[rows]
    given = chunk.column(field.name).chunks if field.name in chunk.column_names else []
    if deletes.found is None or located is None:
        return pa.chunked_array(given, field.type).take(pa.array(content))
    found = deletes.found[rows]
    # One list of values, the chunk's and then the located ones: each row points into it.
    given_count = sum(len(part) for part in given)
    values = [*given, *located.column(field.name).chunks]
    places = np.where(found >= 0, given_count + found, content)
    return pa.chunked_array(values, field.type).take(pa.array(places))

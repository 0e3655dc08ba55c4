"""Whole rows that come as texts, such as those of a copy, become rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.decode import can_decode
from arctic.cdc.events import BROKEN
from arctic.cdc.rows.event_rows import TypedRows, typed_values
from arctic.cdc.rows.image_rows import decoded_texts
from arctic.cdc.unread import ReadColumn


def copied_texts(texts: pa.Table, columns: Sequence[ReadColumn]) -> TypedRows:
    """Read rows.

    Args:
        texts: one column of texts for each of ``columns``, under its source name.
        columns: all columns of the table, in its order.

    Returns:
        Rows without ``ACTION`` and ``ORDER``; broken ones with the texts as their message, which
        are all of them where a column can never be read.
    """
    if not all(can_decode(column.field.type, column.decoding) for column in columns):
        return typed_values(texts, columns)
    count = texts.num_rows
    given = {
        f"t{number}": (texts[column.source].combine_chunks(), column)
        for number, column in enumerate(columns)
        if column.source is not None
    }
    read = decoded_texts(given)
    rows = pa.table(
        [
            read.get(f"t{number}", pa.nulls(count, column.field.type))
            for number, column in enumerate(columns)
        ],
        names=[column.field.name for column in columns],
    )
    unreadable = [
        pc.and_(array.is_valid(), read[name].is_null())
        for name, (array, _) in given.items()
        if read[name].null_count > array.null_count
    ]
    if not unreadable:
        return TypedRows(rows=rows, broken=BROKEN.empty_table())
    is_broken = reduce(pc.or_, unreadable)
    broken = typed_values(texts.filter(is_broken), columns).broken
    return TypedRows(rows=rows.filter(pc.invert(is_broken)), broken=broken)

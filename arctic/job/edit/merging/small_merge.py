"""A MERGE that is asked of an engine, carried out by this process where source and table are small.

It updates the rows that have the keys of a source, and does nothing else. The keys come first, so
of the table only what can hold them is read.

Rules:
    - As for ``small_edit``: where rows or refusals might differ from those of the engine's command,
      nothing is committed, and the engine is asked.

Memory: the source and an index of its keys; as ``update_where``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.key_codes import KeyIndex
from arctic.job.edit.commit_edit import EditedTable
from arctic.job.edit.edit_report import DoneEdit, EditReport
from arctic.job.edit.rows_among import rows_among
from arctic.job.edit.small_edit import NewRows, NotHereError, done_here, small
from arctic.job.edit.update_job import update_by_key
from arctic.job.reference import TableReference
from arctic.job.write.beside.read_rows import ReadRows
from arctic.writing.write_request import KeyRule


def small_merge(
    reference: TableReference, command: str, source: pa.Table, updates: NewRows
) -> DoneEdit | None:
    """Update the rows with the keys of a source, in one commit; None: ask the engine.

    Args:
        reference: the table.
        command: the name of it, for messages.
        source: the columns of the key in key order, and then others, whatever their names are.
        updates: what becomes of a stored row with the columns of its row of the source.

    Raises:
        RepeatedKeyError: an update of a key that is stored several times.
        ArcticError: as ``update_where``.
    """

    def change(table: EditedTable, rule: KeyRule) -> EditReport:
        keys, values = _divided(source, table)
        index = KeyIndex(keys)
        # Whether a key that comes twice is an error depends on what is stored.
        if index.count < keys.num_rows:
            raise NotHereError
        job = rows_among(
            table.opened,
            table.asked,
            table.opened.arrow_schema.names,
            dict(zip(keys.column_names, keys.columns, strict=True)),
            snapshot=table.state,
        )
        pairs = _paired(small(job).batches(), keys.column_names, index, values, updates)
        read = ReadRows(sees=None, keys=lambda: keys)
        return update_by_key(table, pairs, read=read, key_rule=rule, tells_old=False)

    return done_here(reference, command, change)


def _divided(source: pa.Table, table: EditedTable) -> tuple[pa.Table, pa.Table]:
    """Return keys without nulls, which equal no key, and the other columns of their rows."""
    names = table.opened.table.primary_key
    places = range(len(names))
    has_key = reduce(pc.and_, (pc.is_valid(source.column(place)) for place in places))
    known = source.filter(has_key)
    keys = known.select(places).rename_columns(list(names))
    try:
        # Spark lets a text hold any bytes, which no stored one does.
        known.validate(full=True)
        keys = keys.cast(pa.schema([table.opened.arrow_schema.field(name) for name in names]))
    except pa.ArrowException as error:
        raise NotHereError from error
    return keys, known.select(range(len(names), known.num_columns))


def _paired(
    batches: Iterable[pa.RecordBatch],
    key: Sequence[str],
    index: KeyIndex,
    values: pa.Table,
    updates: NewRows,
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield the rows with one of the keys, and what becomes of them."""
    row_of_code = np.argsort(index.take_codes())
    for batch in batches:
        places, codes = index.match([batch.column(name) for name in key])
        old = pa.Table.from_batches([batch]).take(pa.array(places))
        yield old, updates(old, values.take(pa.array(row_of_code[codes])))

"""Setting columns of the rows that a condition is true of.

Rules:
    - A row whose key stays is an update with both images. One whose key changes is a delete and an
      insert; inserts come after all deletes, so that keys may change places.
    - Two rows never get one key: it is refused, whether the other is updated too or not.
    - In a table with ordering columns a row keeps their values unless they are set, and of equal
      ones the later commit wins; smaller ones are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from arctic.errors import InvalidInputError
from arctic.job.edit.commit_edit import (
    EditedTable,
    commit_events,
    edited,
    event_schema,
    events,
    key_and_partition,
)
from arctic.job.edit.commit_places import change_places, has_place_names
from arctic.job.edit.delete_job import rewritten
from arctic.job.edit.edit_report import DoneEdit, EditReport
from arctic.job.edit.key_changes import NewKeys, refuse_older, update_events
from arctic.job.edit.sql_rows import fitted, literal, values
from arctic.job.edit.where import Where
from arctic.job.edit.whole_files import coverage
from arctic.job.reference import TableReference
from arctic.job.write.beside.read_rows import ReadRows, compared
from arctic.writing.write_request import KeyRule


def update_where(reference: TableReference, set: Mapping[str, Any], where: Any) -> DoneEdit:
    """Set columns of the rows that a condition is true of, in one commit.

    Args:
        reference: the table.
        set: column -> an expression of SQL over the row as it is, or a Python value.
        where: a filter as reads take it, or SQL; None: every row.

    Raises:
        InvalidInputError: a condition or expression that cannot be understood, a value that does
            not fit, two rows that would have one key, or smaller values in ordering columns.
        UnsupportedError: a key that changes, in a table with ordering columns.
        ConflictError: others committed during every attempt; nothing was updated.
        CommitStateUnknownError: the catalog did not answer; look before updating again.

    Memory: as a read; the new keys and rows of those whose key changes.
    """
    return edited(reference, lambda table: _updated(table, set, Where.of(table.opened, where)))


def _updated(table: EditedTable, set: Mapping[str, Any], where: Where) -> EditReport:
    assignments = checked_assignments(set, table.opened.arrow_schema, table.opened.table.name)
    if table.opened.table.is_keyed:
        matching = where.matching(table.read(None, where.predicate).batches())
        pairs = ((rows, _new_rows(rows, assignments)) for rows in matching)
        return update_by_key(table, pairs, read=where.read)
    found = coverage(table.opened, table.state, None if where.sql else where.predicate)
    parts = {file.path: file for file in (*found.partly, *found.files)}
    parts |= {f.path: f for f in found.listed.base if f.partition in found.partitions}
    touched = tuple(parts.values())
    plain = replace(found, partitions=frozenset(), files=(), partly=touched, rows=0)
    if table.attempt and not has_place_names(table):
        report = change_places(table, where, lambda rows: _new_rows(rows, assignments))
    else:
        report = rewritten(table, plain, where, lambda rows, mask: _set(rows, mask, assignments))
    return EditReport(
        table=report.table,
        snapshot_id=report.snapshot_id,
        rows_updated=report.rows_deleted,
        rows_written=report.rows_written,
    )


def checked_assignments(
    given: Mapping[str, Any], schema: pa.Schema, table_name: str
) -> dict[str, str]:
    """Return new values as SQL, by the column's name in the table.

    Raises:
        InvalidInputError: an unknown column, one twice, or a value that has no SQL.
    """
    known = {name.lower(): name for name in schema.names}
    found: dict[str, str] = {}
    for given_name, value in given.items():
        name = known.get(str(given_name).lower())
        if name is None or name in found:
            raise InvalidInputError(
                f"set of column {given_name!r}: table {table_name!r} has "
                + ("no such column" if name is None else "it twice here")
            )
        text = value if isinstance(value, str) else literal(value)
        if text is None:
            raise InvalidInputError(
                f"set of column {given_name!r} to {value!r}: expected an expression of SQL, such "
                "as \"DATE '2024-02-29'\" or \"'Rome'\""
            )
        found[name] = text
    if not found:
        raise InvalidInputError("set of no column: expected column -> new value")
    return found


def update_by_key(
    table: EditedTable,
    pairs: Iterable[tuple[pa.Table, pa.Table]],
    *,
    read: ReadRows,
    key_rule: KeyRule | None = None,
    tells_old: bool = True,
) -> EditReport:
    """Commit both images of updated rows.

    Args:
        table: with a key.
        pairs: rows as they are, and the same rows as they are to be.
        read: what they were made of.
        key_rule: what is demanded of the keys of the new rows.
        tells_old: as for ``update_events``.
    """
    opened = table.opened
    schema, count = event_schema(opened), 0
    moved = NewKeys(table)

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal count
        for old, new in pairs:
            if not old.num_rows:
                continue
            count += old.num_rows
            stays, changes = moved.split(old, new)
            refuse_older(table, *stays)
            yield from update_events(table, *stays, tells_old=tells_old)
            gone = changes[0] if tells_old else changes[0].select(key_and_partition(opened))
            yield from events(gone, "D", schema).to_batches()
        yield from events(moved.checked(), "I", schema).to_batches()

    compares = compared(read, opened.table.properties)
    snapshot_id, written_rows = commit_events(table, batches(), read=compares, key_rule=key_rule)
    return EditReport(
        table=opened.table.name,
        snapshot_id=snapshot_id,
        rows_updated=count,
        rows_written=written_rows,
    )


def _new_rows(rows: pa.Table, assignments: Mapping[str, str]) -> pa.Table:
    found = values(rows, assignments)
    for name, column in found.items():
        place = rows.schema.get_field_index(name)
        field = rows.schema.field(name)
        rows = rows.set_column(place, field, fitted(column, field, what="new value"))
    return rows


def _set(rows: pa.Table, mask: np.ndarray, assignments: Mapping[str, str]) -> pa.Table:
    changed = _new_rows(rows.filter(pa.array(mask)), assignments)
    return pa.concat_tables([rows.filter(pa.array(~mask)), changed.cast(rows.schema)])

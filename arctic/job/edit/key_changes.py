"""Rows that get another key: held until all old ones are deleted, and checked against the table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from arctic.columns.event_order import compare, order_numbers
from arctic.columns.key_codes import KeyIndex, factorise, first_repeated
from arctic.errors import InvalidInputError, UnsupportedError
from arctic.job.edit.commit_edit import EditedTable, event_schema, events
from arctic.job.read.locate import locate_rows


class NewKeys:
    """The new rows whose keys were not there as theirs, and the keys that went for them.

    Memory: these rows, and the keys.
    """

    def __init__(self, table: EditedTable) -> None:
        self._table = table
        self._key = list(table.opened.table.primary_key)
        self._rows: list[pa.Table] = []
        self._gone: list[pa.Table] = []

    def split(
        self, old: pa.Table, new: pa.Table
    ) -> tuple[tuple[pa.Table, pa.Table], tuple[pa.Table, pa.Table]]:
        """Divide updated rows by whether their key stays; those where it does not are held.

        Returns:
            Old and new rows with the same key, then those with another.

        Raises:
            UnsupportedError: a key that changes, in a table with ordering columns.
        """
        if all(_is_same(old.column(name), new.column(name)) for name in self._key):
            nothing = old.slice(0, 0)
            return (old, new), (nothing, nothing)
        both = {name: _joined(old.column(name), new.column(name)) for name in self._key}
        codes, _ = factorise(pa.table(both))
        same = codes[: old.num_rows] == codes[old.num_rows :]
        if same.all():
            nothing = old.slice(0, 0)
            return (old, new), (nothing, nothing)
        table = self._table.opened.table
        if table.ordering_columns:
            # What a deleted row of the new key had would be held against the row: it could vanish.
            raise UnsupportedError(
                f"table {table.name!r}: a key cannot change where a table has ordering columns "
                f"({', '.join(table.ordering_columns)}); delete the row, and write it anew"
            )
        stays, changes = pa.array(same), pa.array(~same)
        moved = old.filter(changes), new.filter(changes)
        self.forget(moved[0])
        self.hold(moved[1])
        return (old.filter(stays), new.filter(stays)), moved

    def hold(self, rows: pa.Table) -> None:
        """Keep rows back whose key must be new."""
        if rows.num_rows:
            self._rows.append(rows)

    def forget(self, rows: pa.Table) -> None:
        """Take note of stored rows that are deleted, so that their keys are free."""
        if rows.num_rows:
            self._gone.append(rows.select(self._key))

    def checked(self) -> pa.Table:
        """Return the rows that were held, once no two rows of the table share a key.

        Raises:
            InvalidInputError: two would.
            ConflictError: the state that is edited has expired.
        """
        schema = self._table.opened.arrow_schema
        if not self._rows:
            return schema.empty_table()
        rows = pa.concat_tables([each.cast(_nullable(schema)) for each in self._rows])
        keys = rows.select(self._key)
        refuse_twice(keys, why="two rows would get it", name=self._table.opened.table.name)
        locator = locate_rows(self._table.opened, state=self._table.state)
        of_key = pa.schema([schema.field(name) for name in self._key])
        for name in self._key:
            if keys.column(name).null_count:
                raise InvalidInputError(f"key column {name!r} would be null")
        found = locator(keys.cast(of_key)).select(self._key)
        if found.num_rows and self._gone:
            gone = pa.concat_tables(self._gone).cast(of_key)
            columns = [found.column(name).combine_chunks() for name in self._key]
            found = found.filter(pa.array(KeyIndex(gone).lookup(columns) < 0))
        if found.num_rows:
            raise InvalidInputError(
                f"table {self._table.opened.table.name!r}: key {found.slice(0, 1).to_pylist()[0]} "
                "is that of a stored row, which another row would get too; nothing was changed"
            )
        return rows


def refuse_twice(keys: pa.Table, *, why: str, name: str) -> None:
    """Refuse keys of which one comes twice.

    Raises:
        InvalidInputError: naming the key.
    """
    repeated = first_repeated(keys)
    if repeated is not None:
        key = keys.slice(repeated, 1).to_pylist()[0]
        raise InvalidInputError(f"table {name!r}: key {key}: {why}; nothing was changed")


def update_events(
    table: EditedTable, old: pa.Table, new: pa.Table, *, tells_old: bool
) -> Iterator[pa.RecordBatch]:
    """Yield both images of updated rows, in turn.

    In a table with ordering columns an old row is no event, so there are new ones alone.

    Args:
        table: with a key.
        old: rows as they are; in all columns, where both images are yielded.
        new: the same rows as they are to be, with the same keys.
        tells_old: False: new ones alone, where the key tells which row goes.
    """
    count, schema = old.num_rows, event_schema(table.opened)
    if not count:
        return
    described = table.opened.table
    if described.ordering_columns or (described.partition_follows_key and not tells_old):
        yield from events(new, "U", schema).to_batches()
        return
    images = [events(old, "-U", schema), events(new, "+U", schema)]
    order = np.arange(2 * count).reshape(2, count).T.ravel()
    yield from pa.concat_tables(images).take(pa.array(order)).to_batches()


def refuse_older(table: EditedTable, old: pa.Table, new: pa.Table) -> None:
    """Refuse updates that would lose against the rows that they update.

    Raises:
        InvalidInputError: with the first of them.
    """
    described = table.opened.table
    names = list(described.ordering_columns)
    if not names or not old.num_rows:
        return
    before, after = (
        order_numbers([rows.column(name).combine_chunks() for name in names]) for rows in (old, new)
    )
    loses = np.flatnonzero(compare(before, after)[0])
    if len(loses):
        row = int(loses[0])
        key = old.select(list(described.primary_key)).slice(row, 1).to_pylist()[0]
        was, given = (rows.select(names).slice(row, 1).to_pylist()[0] for rows in (old, new))
        raise InvalidInputError(
            f"table {described.name!r}: update of the row with key {key} from {was} to {given}: "
            "the greatest values of the ordering columns win, so the row would stay as it is; set "
            "values that are not smaller; nothing was changed"
        )


def _is_same(old: pa.ChunkedArray, new: pa.ChunkedArray) -> bool:
    """Say whether no value of a key column changes, where that costs no lookup to see."""
    # Of floating numbers Arrow takes the two zeros for equal, which are two keys.
    return not pat.is_floating(old.type) and bool(old.equals(new))


def _joined(*columns: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    chunks: list[pa.Array] = []
    for column in columns:
        chunks += column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return pa.chunked_array(chunks, type=columns[0].type)


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in schema])

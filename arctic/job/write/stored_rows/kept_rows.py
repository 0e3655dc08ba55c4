"""Rows whose kept values others changed after a write looked them up.

A write that lacks columns took their stored values over into its own rows. Where another commit
has touched a key since, the key is looked up again, and if the values differ now, its row is
written once more with the new ones.

The added rows come last in the transaction (theirs is the greatest task number), so they replace
the rows of this write.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.columns.field_ids import known_field_id
from arctic.columns.key_codes import KeyIndex
from arctic.errors import ConflictError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.locate import RowLocator, as_begun
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.table.files import FileKind
from arctic.writing.rows.gather import take_rows
from arctic.writing.rows.kept_columns import fill_columns
from arctic.writing.target import TaskId, TaskResult, WriteTarget
from arctic.writing.write_request import WriteMode, WriteRequest
from arctic.writing.writer import open_writer, plan_write


class KeptRows:
    """The rows that must be written once more."""

    def __init__(self, target: WriteTarget, begun: RowLocator, kept: Sequence[str]) -> None:
        self._target = target
        self._kept = tuple(kept)
        self._looked_up = begun.request.schema
        self._key = list(target.key)
        self._places = list(dict.fromkeys((*target.key, *target.partition_sources)))
        self._rows = target.schema.empty_table()
        self._stale = target.schema.empty_table().select(self._places)
        """Key and partition columns of the rows that these replace."""

    def look(
        self,
        opened: OpenTable,
        results: Sequence[TaskResult],
        *,
        before: RowLocator,
        now: RowLocator,
    ) -> None:
        """Look the written keys up again that others may have touched.

        Args:
            opened: the table as it is now.
            results: of all tasks.
            before: of the state that the rows are right for so far.
            now: of the state that they are to be right for.

        Raises:
            ConflictError: others added, dropped or retyped columns.
        """
        self._refuse_new_columns(opened)
        same_base = before.snapshot.base_snapshot_id == now.snapshot.base_snapshot_id
        # A base that was replaced holds merged changes too, of which no file is left to tell.
        touched = now.touched_since(before) if same_base else None
        again, stale = self._rows, [self._stale]
        for written in self._written(opened, results, touched):
            keys = written.select(self._key)
            stored = as_begun(now.find(keys), self._looked_up, name=self._target.table.name)
            nothing = np.empty(0, dtype=np.int64)
            fresh = fill_columns(written, stored, key=self._key, names=self._kept, but_rows=nothing)
            changed = pa.array(self._differ(written, fresh))
            others = _rows_of(again, keys, inside=False)
            again = pa.concat_tables([others, fresh.filter(changed).cast(again.schema)])
            stale.append(written.select(self._places).cast(self._stale.schema).filter(changed))
        # At once: a look that fails is taken again.
        self._rows, self._stale = again, pa.concat_tables(stale)

    def write(self, results: Sequence[TaskResult]) -> list[TaskResult]:
        """Write all of them as a task that comes after those of the write."""
        if not self._rows.num_rows:
            return []
        target, request = self._target, WriteRequest(mode=WriteMode.UPSERT)
        last = max(result.task.partition_id for result in results)
        task = TaskId(partition_id=last + 1, task_id=0, operation_id=secrets.randbits(63))
        conform = plan_write(
            target.table, target.schema, self._rows.schema, request=request, locates=True
        )
        stale = self._stale
        writer = open_writer(
            target, task, request=request, conform=conform, locate=lambda keys: stale
        )
        for batch in self._rows.to_batches():
            writer.write(batch)
        return [writer.close()]

    def _written(
        self, opened: OpenTable, results: Sequence[TaskResult], touched: RowLocator | None
    ) -> Iterator[pa.Table]:
        """Yield the rows of the write that may have to change, file by file, later ones last."""
        target = self._target
        of_key = pa.schema([target.schema.field(name) for name in self._key])
        renewed = [result.renewed for result in results if result.renewed is not None]
        for result in sorted(results, key=lambda result: result.task.partition_id):
            for file in result.files:
                if file.kind is not FileKind.INSERT:
                    continue
                with ParquetInput(file.path, opened.io.open_input, Size.of(file)) as parquet:
                    keys = parquet.read(self._key).cast(of_key)
                    if touched is not None and not (found := touched.find(keys)).num_rows:
                        continue
                    rows = parquet.read(target.schema.names).cast(target.schema)
                if touched is not None:
                    rows = _rows_of(rows, found, inside=True)
                for keys in renewed:
                    rows = _rows_of(rows, keys, inside=False)
                if rows.num_rows:
                    yield rows

    def _differ(self, written: pa.Table, fresh: pa.Table) -> np.ndarray:
        differ = np.zeros(written.num_rows, dtype=bool)
        for name in self._kept:
            old, new = written.column(name), fresh.column(name)
            if pt.is_nested(old.type):
                return np.ones(written.num_rows, dtype=bool)
            same = pc.or_(
                pc.fill_null(pc.equal(old, new.cast(old.type)), False),
                pc.and_(pc.is_null(old), pc.is_null(new)),
            )
            differ |= ~same.to_numpy(zero_copy_only=False)
        return differ

    def _refuse_new_columns(self, opened: OpenTable) -> None:
        known = {known_field_id(field) for field in self._target.schema}
        for field in opened.arrow_schema:
            if known_field_id(field) not in known:
                raise ConflictError(
                    f"table {opened.table.name!r}: column {field.name!r} was added during the "
                    "write, which is to keep what it lacks; write again"
                )


def _rows_of(rows: pa.Table, keys: pa.Table, *, inside: bool) -> pa.Table:
    """Return the rows that have one of these keys, or none of them."""
    if not rows.num_rows or not keys.num_rows:
        return rows.slice(0, 0) if inside else rows
    columns = [rows.column(name).combine_chunks() for name in keys.column_names]
    codes = KeyIndex(keys).lookup(columns)
    return take_rows(rows, np.flatnonzero((codes >= 0) == inside))

"""Changes of a table with a key that others have committed since a command read its rows.

A command is committed as if it had begun right before its commit, so what it has read must still be
so. It is if no other commit wrote a key that the command writes or has read, and none brought a row
that the command would have looked at. Commits that only put rows into other files, or remove files
that nobody needs, change nothing.

Rules:
    - Of each commit the files that it added are looked at, once: a command that loses a race for a
      snapshot looks at what came since then.
    - Files of nodes in which the command has no key, or whose bounds exclude all of them, hold none
      of its keys, and files whose bounds exclude its filter no row of it: they are not opened.
    - What cannot be understood, or found out any more, is a conflict.

Memory: the keys that the command writes, or for a large one those of one commit beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.columns.field_ids import field_id, known_field_id
from arctic.columns.key_codes import KeyIndex
from arctic.errors import ConflictError, InternalError, StorageError
from arctic.iceberg.commits.changed_meanwhile import (
    CommitBeside,
    added_by,
    changes_since,
    check_base_unchanged,
)
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.write.beside.read_rows import ReadRows
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.table.files import FileKind, TableFile, WrittenFile
from arctic.table.filters.predicate import (
    And,
    ColumnTest,
    Op,
    Predicate,
    may_match,
    tests_of,
)
from arctic.table.snapshot import TableSnapshot
from arctic.writing.target import TaskResult

_KEPT_KEYS = 2_000_000
"""Keys of a command that are held in memory; those of a larger one are read again."""


class ChangesBeside:
    """Refuses, or finds nothing in the way; may be called again and again with newer heads.

    Args:
        opened: the table.
        results: what the command has written.
        schema: the table's columns when it read.
        key: names among them, in key order.
        before: the state that it read.
        read: what it has looked at there.
    """

    def __init__(
        self,
        opened: OpenTable,
        results: Sequence[TaskResult],
        *,
        schema: pa.Schema,
        key: Sequence[str],
        before: TableSnapshot,
        read: ReadRows,
    ) -> None:
        self._opened = opened
        self._schema = schema
        self._has_columns = opened.arrow_schema.equals(schema, check_metadata=True)
        self._before = before
        self._read = read
        self._own = tuple(file for result in results for file in result.files)
        self._nodes = {file.node for file in self._own}
        self._key = pa.schema([schema.field(name) for name in key])
        self._looked_at: set[int] = set()

    def __call__(self, opened: OpenTable) -> None:
        """Look at what came since the command read.

        Args:
            opened: the table as it is now, the change store loaded before base.

        Raises:
            ConflictError: somebody changed what the command has read.
            StorageError: a file cannot be read.
        """
        check_base_unchanged(opened, self._before)
        for commit in changes_since(opened, self._before):
            if commit.snapshot_id in self._looked_at:
                continue
            try:
                self._look(opened, commit)
            except StorageError as error:
                if not is_file_gone(error):
                    raise
                raise self._conflict(commit, "its files have expired") from error
            self._looked_at.add(commit.snapshot_id)

    def _look(self, opened: OpenTable, commit: CommitBeside) -> None:
        if not commit.is_append:
            raise self._conflict(commit, "it is not known to add changes and nothing else")
        if not (self._has_columns and opened.is_described):
            # Its values may not fit the columns as they were, nor its bounds.
            raise self._conflict(commit, "columns were changed meanwhile")
        compared = {test.field_id for test in tests_of(self._read.predicate)}
        compared.add(known_field_id(self._key.field(0)))
        files = added_by(opened, commit, field_ids=compared)
        theirs, has_seen = [], False
        for file in files:
            asks = self._may_see(file)
            if not asks and not self._may_share_keys(file):
                continue
            rows = self._rows(file, self._read.columns if asks else frozenset())
            if rows is None:
                raise self._conflict(commit, "columns were changed meanwhile")
            if asks and self._read.sees is not None:
                has_seen = has_seen or self._read.sees(rows)
            theirs.append(rows.select(self._key.names))
        if theirs:
            self._check_keys(pa.concat_tables(theirs), commit)
        if has_seen:
            raise self._conflict(commit, "it has rows that this command looks at")

    def _may_see(self, file: TableFile) -> bool:
        if self._read.sees is None or not (file.kind is FileKind.INSERT or self._read.of_keys):
            return False
        return may_match(self._read.predicate, file.bounds, file.record_count)

    def _may_share_keys(self, file: TableFile) -> bool:
        if self._read.keys is None and not any(node.overlaps(file.node) for node in self._nodes):
            return False
        return may_match(self._range, file.bounds, file.record_count)

    @cached_property
    def _range(self) -> Predicate | None:
        """Between what the first column of its keys is; None: not known."""
        if not self._holds_own or not self._held_keys:
            return None
        first = pa.concat_tables(self._held_keys).column(0)
        if not (pt.is_integer(first.type) or pt.is_string(first.type)):
            return None
        number, name = known_field_id(self._key.field(0)), self._key.names[0]
        found = pc.min_max(first).as_py()
        return And(
            (
                ColumnTest(op=Op.GE, field_id=number, column=name, literal=found["min"]),
                ColumnTest(op=Op.LE, field_id=number, column=name, literal=found["max"]),
            )
        )

    def _rows(self, file: TableFile | WrittenFile, more: frozenset[str]) -> pa.Table | None:
        """Return the key and more columns of a file; None: it lacks one of them."""
        names = [*self._key.names, *sorted(more - {*self._key.names})]
        schema = pa.schema([self._schema.field(name) for name in names])
        with ParquetInput(file.path, self._opened.io.open_input, Size.of(file)) as parquet:
            by_id = {field_id(field): field.name for field in parquet.schema}
            found = [by_id.get(known_field_id(field)) for field in schema]
            stored = [name for name in found if name is not None]
            if len(stored) < len(found):
                return None
            return parquet.read(stored).rename_columns(names).cast(schema)

    def _own_keys(self, file: WrittenFile) -> pa.Table:
        keys = self._rows(file, frozenset())
        if keys is None:
            raise InternalError(f"file {file.path!r} lacks the key")
        return keys

    def _check_keys(self, theirs: pa.Table, commit: CommitBeside) -> None:
        for found in self._shared(theirs):
            raise self._conflict(
                commit, f"it changed key {found.to_pylist()[0]}, which this command has read"
            )

    def _shared(self, theirs: pa.Table) -> Iterator[pa.Table]:
        """Yield a key that both have, if there is one."""
        for index in self._indexes:
            yield from _found_in(index, theirs)
        if not self._holds_own:
            others = KeyIndex(theirs)
            for file in self._own:
                yield from _found_in(others, self._own_keys(file))

    @property
    def _holds_own(self) -> bool:
        return sum(file.record_count for file in self._own) <= _KEPT_KEYS

    @cached_property
    def _held_keys(self) -> list[pa.Table]:
        held = [] if self._read.keys is None else [self._read.keys().cast(self._key)]
        if self._holds_own:
            held += [self._own_keys(file) for file in self._own]
        return [keys for keys in held if keys.num_rows]

    @cached_property
    def _indexes(self) -> list[KeyIndex]:
        return [KeyIndex(pa.concat_tables(self._held_keys))] if self._held_keys else []

    def _conflict(self, commit: CommitBeside, why: str) -> ConflictError:
        return ConflictError(
            f"table {self._opened.table.name!r}: {commit.name} of its changes came after the "
            f"rows of this command were read, and {why}"
        )


def _found_in(index: KeyIndex, keys: pa.Table) -> Iterator[pa.Table]:
    """Yield a key that is in an index, of each batch: texts of all may not fit into one array."""
    for batch in keys.to_batches():
        rows, _ = index.match(batch.columns)
        if len(rows):
            yield pa.Table.from_batches([batch.slice(int(rows[0]), 1)])

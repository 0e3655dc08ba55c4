"""A write of a small table on local files, and what its files say when they are merged.

The merge is the plainest there is: rows and deletes in Python lists, compared as pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arctic.table.filename import parse_base_name, parse_change_name
from arctic.table.files import FileKind, Partition, WrittenFile
from arctic.table.table_description import Column, PartitionField
from arctic.tree.key_hash import hash_key
from arctic.writing.target import TaskId, TaskResult, WriteOptions, WriteTarget
from arctic.writing.write_request import WriteMode, WriteRequest
from arctic.writing.writer import Writer, open_writer, plan_write
from tests.factories.lsn import Lsn
from tests.factories.tables import field, table_of

Row = dict[str, Any]
_operations = itertools.count(1)


SCHEMA = pa.schema(
    [
        field("id", pa.int64(), 1, nullable=False),
        field("region", pa.string(), 2),
        field("amount", pa.int32(), 3, nullable=False),
        field("note", pa.string(), 4),
    ]
)
_TYPES = {
    pa.int64(): "long",
    pa.string(): "string",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.binary(): "binary",
    pa.timestamp("us"): "timestamp",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityPartitions:
    """Partitions by the plain values of some columns."""

    names: tuple[str, ...]

    def arrays(self, rows: Any) -> list[Any]:
        """Return the columns as they are."""
        return [rows.column(name) for name in self.names]

    def path(self, partition: Partition) -> str:
        """Return a folder for a partition."""
        return "/".join(f"{n}={v!s}" for n, v in zip(self.names, partition, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """Files on this machine."""

    def create(self, path: str) -> Any:
        """Create a file with its folders."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return pa.OSFile(path, "wb")

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files."""
        for path in paths:
            Path(path).unlink(missing_ok=True)


def open_input(path: str) -> Any:
    """Open a file for reading."""
    return pa.OSFile(path, "rb")


OPTIONS = WriteOptions(
    grows=False,
    base_mask=3,
    change_mask=3,
    target_file_bytes=2**27,
    row_group_bytes=2**25,
    row_group_rows=2**20,
    buffer_bytes=2**28,
    compression="zstd",
    compression_level=None,
    dictionary_bytes=2**20,
    delta_encoding=False,
    upsert_inserts=True,
    keeps_all=False,
    chunk_rows=1000,
)


def make_target(
    folder: Path,
    *,
    schema: pa.Schema = SCHEMA,
    key: Sequence[str] = ("id",),
    partition_by: Sequence[str] = (),
    **options: Any,
) -> WriteTarget:
    """Return a target on local files."""
    columns = tuple(
        Column(
            field_id=int(column.metadata[b"PARQUET:field_id"]),
            name=column.name,
            type=_TYPES.get(column.type, str(column.type)),
            required=not column.nullable,
        )
        for column in schema
    )
    by_name = {column.name: column.field_id for column in columns}
    table = table_of(
        columns,
        key=key,
        partition_fields=[
            PartitionField(source_id=by_name[name], name=name, transform="identity")
            for name in partition_by
        ],
        location=f"{folder}/",
    )
    partitions = IdentityPartitions(names=tuple(partition_by))
    files = LocalFiles()
    return WriteTarget(
        table=table,
        schema=schema,
        partition_arrays=partitions.arrays,
        partition_path=partitions.path,
        create_output=files.create,
        delete_files=files.delete,
        options=replace(OPTIONS, **options),
    )


def new_task(partition_id: int = 0) -> TaskId:
    """Return an attempt that no other has the names of."""
    return TaskId(partition_id=partition_id, task_id=7, operation_id=next(_operations))


def begin(
    target: WriteTarget,
    incoming: pa.Schema,
    request: WriteRequest,
    *,
    partition_id: int = 0,
    locate: Any = None,
) -> Writer:
    """Open a writer as a task does."""
    conform = plan_write(
        target.table, target.schema, incoming, request=request, locates=locate is not None
    )
    return open_writer(
        target, new_task(partition_id), request=request, conform=conform, locate=locate
    )


def write(
    target: WriteTarget,
    batches: Sequence[pa.RecordBatch],
    *,
    mode: str,
    partition_id: int = 0,
    locate: Any = None,
    **request: Any,
) -> TaskResult:
    """Write batches in one task."""
    writer = begin(
        target,
        batches[0].schema,
        WriteRequest(mode=WriteMode(mode), **request),
        partition_id=partition_id,
        locate=locate,
    )
    for batch in batches:
        writer.write(batch)
    return writer.close()


def batch(rows: Sequence[Row], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Return rows as a batch in which everything may be null."""
    nullable = pa.schema([column.with_nullable(True) for column in schema])
    return pa.RecordBatch.from_pylist(list(rows), schema=nullable)


def read(file: WrittenFile) -> list[Row]:
    """Return the rows of a file."""
    rows: list[Row] = pq.ParquetFile(file.path).read().to_pylist()
    return rows


class Store:
    """Files that were committed, in order; the n-th write has sequence number n."""

    def __init__(self, target: WriteTarget) -> None:
        self._target = target
        self._key = target.key
        self.inserts: list[tuple[Partition, Lsn, Row]] = []
        self.deletes: list[tuple[Partition, Lsn, Row]] = []
        self._sequence_number = 0

    def commit(self, *results: TaskResult) -> None:
        """Take the files of one write, and check what every file must fulfil."""
        self._sequence_number += 1
        for file in (file for result in results for file in result.files):
            rows = read(file)
            offsets = [row["_file_offset"] for row in rows]
            assert offsets == sorted(set(offsets)), "offsets rise strictly in a file"
            assert file.record_count == len(rows) > 0
            name = parse_change_name(file.path)
            assert (file.kind, file.node, 0) == (name.kind, name.node, name.transaction_id)
            for row in rows:
                offset = row.pop("_file_offset")
                self._check_node(file, row)
                lsn = Lsn(self._sequence_number, offset)
                kept = self.inserts if file.kind is FileKind.INSERT else self.deletes
                kept.append((file.partition, lsn, row))

    def _check_node(self, file: WrittenFile, row: Row) -> None:
        types = [column.type for column in self._target.table.key_columns]
        key = hash_key([row[name] for name in self._key], types)
        assert key & file.node.mask == file.node.index, "a row is in the node of its key"

    def merged(self) -> list[Row]:
        """Return the rows that no delete of their key and partition is younger than."""
        return [
            row
            for partition, lsn, row in self.inserts
            if not any(
                where == partition and self.key_of(dead) == self.key_of(row) and killer > lsn
                for where, killer, dead in self.deletes
            )
        ]

    def key_of(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the key of a row."""
        return tuple(row[name] for name in self._key)

    def locate(self, keys: pa.Table) -> pa.Table:
        """Find the current rows of keys, as the job layer does with a merge-on-read."""
        wanted = {self.key_of(row) for row in keys.to_pylist()}
        names = [*self._key, *(n for n in self._target.partition_sources if n not in self._key)]
        found = [
            {name: row[name] for name in names}
            for row in self.merged()
            if self.key_of(row) in wanted
        ]
        return pa.Table.from_pylist(
            found, schema=pa.schema([self._target.schema.field(name) for name in names])
        )


def base_rows(result: TaskResult) -> list[Row]:
    """Return the rows of base files, in file order."""
    assert all(parse_base_name(file.path).kind is FileKind.BASE for file in result.files)
    return [row for file in result.files for row in read(file)]

"""Small tables with real files in both stores, for the tests of this folder."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.asking.sending import ask_for
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan
from arctic.iceberg.commits.commit import commit_append, commit_overwrite
from arctic.iceberg.commits.commit_loop import CommitResult
from arctic.iceberg.commits.snapshot_producer import stage_snapshot
from arctic.iceberg.metadata.data_files import data_files
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.table.commit_plan import AppendFiles, OverwriteBase
from arctic.table.filename import format_name
from arctic.table.files import FileKind, Partition, TableFile, WrittenFile
from arctic.tree.node import ROOT, TreeNode

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("day", pa.date32()),
        pa.field("score", pa.float64()),
    ]
)
FILE_OFFSET = pa.field("_file_offset", pa.int64(), metadata={b"PARQUET:field_id": b"2147482645"})
Rows = Sequence[Mapping[str, Any]]

_counter = itertools.count(1)


def config_of(folder: Path | str) -> CatalogConfig:
    """Return the embedded catalog of a folder."""
    return CatalogConfig.from_options({"warehouse": str(folder)})


def make(
    folder: Path,
    *,
    schema: pa.Schema = SCHEMA,
    key: Sequence[str] = ("id",),
    partition_by: Sequence[str] = ("region",),
    **properties: str,
) -> OpenTable:
    """Create ``db.t``; underscores in property names stand for dashes, dots are written ``__``."""
    named = {name.replace("__", ".").replace("_", "-"): text for name, text in properties.items()}
    return create_table(
        config_of(folder),
        "db.t",
        schema,
        primary_key=key,
        partition_by=partition_by,
        properties=named,
    )


def change_of(opened: OpenTable) -> Table:
    """Return the refreshed change store."""
    assert opened.change is not None
    return refresh(opened.change)


def local(location: str) -> Path:
    """Return the local file of a location."""
    return Path(urlparse(location).path)


def reopened(opened: OpenTable) -> OpenTable:
    """Open the table again, as another process would."""
    return open_table(opened.config, opened.table.name)


def written(
    opened: OpenTable,
    rows: Rows,
    kind: FileKind,
    *,
    node: TreeNode = ROOT,
    transaction_id: int = 0,
    name: str | None = None,
    row_group_rows: int | None = None,
) -> tuple[WrittenFile, ...]:
    """Write rows, one file for each of their partitions; offsets count from 1."""
    table = pa.Table.from_pylist(list(rows), schema=opened.arrow_schema)
    if kind is not FileKind.BASE:
        offsets = pa.array(range(1, len(rows) + 1), pa.int64())
        table = table.append_column(FILE_OFFSET, offsets)
    columns = [array.to_pylist() for array in opened.partitioner.arrays(table)]
    partitions: list[Partition] = list(zip(*columns, strict=True)) if columns else [()] * len(rows)
    location = (
        opened.table.base_location if kind is FileKind.BASE else opened.table.change_location or ""
    )
    files = []
    for partition in dict.fromkeys(partitions):
        mask = pa.array([each == partition for each in partitions])
        file_name = name or format_name(
            node=node,
            kind=kind,
            transaction_id=transaction_id,
            partition_id=0,
            task_id=0,
            operation_id=os.getpid(),
            count=next(_counter),
        )
        folder = "/".join(filter(None, [location, "data", opened.partitioner.path(partition)]))
        path = f"{folder}/{file_name}"
        files.append(
            _write(opened, table.filter(mask), path, kind, node, partition, row_group_rows)
        )
    return tuple(files)


def _write(
    opened: OpenTable,
    table: pa.Table,
    path: str,
    kind: FileKind,
    node: TreeNode,
    partition: Partition,
    row_group_rows: int | None,
) -> WrittenFile:
    footers: list[Any] = []
    with opened.io.create_output(path) as sink:
        with pq.ParquetWriter(sink, table.schema, metadata_collector=footers) as writer:
            writer.write_table(table, row_group_size=row_group_rows)
        size = sink.tell()
    footer = pa.BufferOutputStream()
    footers[-1].write_metadata_file(footer)
    return WrittenFile(
        path=path,
        kind=kind,
        node=node,
        partition=partition,
        size_bytes=size,
        record_count=table.num_rows,
        footer=footer.getvalue().to_pybytes(),
    )


def append(
    opened: OpenTable, inserts: Rows = (), deletes: Rows = (), *, node: TreeNode = ROOT
) -> CommitResult:
    """Commit inserts and change deletes, or the rows of an unkeyed table."""
    kind = FileKind.INSERT if opened.table.is_keyed else FileKind.BASE
    files = written(opened, inserts, kind, node=node)
    if deletes:
        files += written(opened, deletes, FileKind.CHANGE_DELETE, node=node)
    result = commit_append(opened, AppendFiles(files=files))
    assert result is not None
    return result


def overwrite(
    opened: OpenTable,
    rows: Rows,
    *,
    dynamic: bool = False,
    up_to: int | None = 0,
    change_partitions: frozenset[Partition] = frozenset(),
) -> CommitResult | None:
    """Commit rows to base in place of what is there."""
    files = written(opened, rows, FileKind.BASE, transaction_id=up_to or 0)
    return commit_overwrite(
        opened,
        OverwriteBase(
            files=files,
            dynamic=dynamic,
            planned_at=refresh(opened.base).metadata.current_snapshot_id,
            change_sequence_number=up_to,
            change_partitions=change_partitions,
        ),
    )


def row(row_id: int, region: str | None = "eu", **values: Any) -> dict[str, Any]:
    """Return one row of ``SCHEMA``."""
    return {"id": row_id, "region": region, **values}


def foreign_file(
    table: Table,
    name: str,
    partition: Partition,
    *,
    content: DataFileContent = DataFileContent.DATA,
    file_format: FileFormat = FileFormat.PARQUET,
    **fields: Any,
) -> DataFile:
    """Return a manifest record of a file that does not exist."""
    file = DataFile.from_args(
        content=content,
        file_path=f"{table.location()}/data/{name}",
        file_format=file_format,
        partition=Record(*partition),
        record_count=1,
        file_size_in_bytes=100,
        **fields,
    )
    file.spec_id = table.spec().spec_id
    return file


def commit_files(
    table: Table,
    *added: DataFile,
    operation: Operation = Operation.APPEND,
    summary: Mapping[str, str] | None = None,
) -> int:
    """Commit manifest records as they are; return the snapshot id."""
    head = refresh(table)
    snapshot_id: int = head.metadata.new_snapshot_id()
    plan = SnapshotPlan(operation=operation, added=added, summary=summary or {})
    ask_for(stage_snapshot(head, plan, snapshot_id))
    return snapshot_id


_DELETE_SCHEMA = Schema(
    NestedField(2147483546, "file_path", StringType(), required=True),
    NestedField(2147483545, "pos", LongType(), required=True),
)


def position_delete(
    opened: OpenTable, pairs: Sequence[tuple[str, int]], partition: Partition, name: str
) -> DataFile:
    """Write a position-delete file as Iceberg does, with full bounds."""
    table = pa.table(
        {"file_path": [path for path, _ in pairs], "pos": [pos for _, pos in pairs]},
        schema=schema_to_pyarrow(_DELETE_SCHEMA),
    )
    path = f"{opened.table.base_location}/data/{name}"
    footers: list[Any] = []
    with opened.io.create_output(path) as sink:
        with pq.ParquetWriter(sink, table.schema, metadata_collector=footers) as writer:
            writer.write_table(table)
        size = sink.tell()
    statistics = data_file_statistics_from_parquet_metadata(
        footers[-1],
        compute_statistics_plan(_DELETE_SCHEMA, {"write.metadata.metrics.default": "full"}),
        parquet_path_to_id_mapping(_DELETE_SCHEMA),
    )
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(*partition),
        file_size_in_bytes=size,
        **statistics.to_serialized_dict(),
    )
    file.spec_id = opened.base.spec().spec_id
    return file


def paths(files: Sequence[TableFile]) -> set[str]:
    """Return the paths of listed files."""
    return {file.path for file in files}


def commit_append_base(
    opened: OpenTable, rows: Rows, *, node: TreeNode = ROOT, name: str | None = None
) -> None:
    """Append rows to the base store as a stranger does: the optimized sequence stays."""
    files = written(opened, rows, FileKind.BASE, node=node, name=name)
    spec_id = opened.base.spec().spec_id
    commit_files(
        opened.base,
        *data_files(files, opened.table, spec_id=spec_id, kinds=(FileKind.BASE,)),
    )

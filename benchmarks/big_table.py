"""A table of very many files, of which only the manifests exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.typedef import Record

from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.asking.sending import ask_for
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan
from arctic.iceberg.commits.snapshot_producer import stage_snapshot
from arctic.iceberg.metadata.bounds import FILE_OFFSET_ID
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.table.filename import format_name
from arctic.table.files import FileKind
from arctic.tree.node import TreeNode

NAME = "bench.large"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("part", pa.int64(), nullable=False),
        pa.field("customer", pa.string()),
        pa.field("status", pa.string()),
        pa.field("amount", pa.float64()),
        pa.field("quantity", pa.int32()),
        pa.field("day", pa.date32()),
        pa.field("updated_at", pa.timestamp("us", tz="UTC")),
    ]
)
PARTITIONS = 1_000
MASK = 3
_FILES_IN_A_COMMIT = 10_000
_ROWS = 10_000
_HOT_FILES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InventedFile:
    """What is to stand in a manifest."""

    number: int
    kind: FileKind
    partition: int


def spread_files(count: int) -> Iterator[InventedFile]:
    """Yield files of a thousand partitions, partition by partition; a third deletes."""
    kinds = (FileKind.BASE, FileKind.INSERT, FileKind.CHANGE_DELETE)
    for number in range(count):
        partition = number * PARTITIONS // count
        yield InventedFile(number=number, kind=kinds[number % 3], partition=partition)


def hot_files(count: int) -> Iterator[InventedFile]:
    """Yield 100,000 files of one partition, a fifth deletes; the rest as in ``spread_files``."""
    hot = min(count, _HOT_FILES)
    kinds = (FileKind.CHANGE_DELETE, *[FileKind.BASE] * 3, FileKind.INSERT)
    for number in range(hot):
        yield InventedFile(number=number, kind=kinds[number % 5], partition=PARTITIONS)
    for file in spread_files(count - hot):
        yield InventedFile(number=file.number + hot, kind=file.kind, partition=file.partition)


def scattered_files(count: int) -> Iterator[InventedFile]:
    """Yield base files of a thousand partitions, one of each after the other."""
    for number in range(count):
        yield InventedFile(number=number, kind=FileKind.BASE, partition=number % PARTITIONS)


def replace_some(config: CatalogConfig, files: Iterable[InventedFile]) -> None:
    """Put a new file in the place of each of some base files of ``bench.large``, as a run does."""
    opened = open_table(config, NAME)
    old = list(files)
    removed = [_data_file(opened.base.location(), file, _types(opened)).file_path for file in old]
    new = [replace(file, number=-file.number - 1) for file in old]
    _commit(opened.base, opened, new, removed_paths=frozenset(removed))


def make_big_table(config: CatalogConfig, files: Callable[[], Iterator[InventedFile]]) -> None:
    """Create ``bench.large`` in a catalog, with the manifests that Arctic writes.

    Args:
        config: the catalog.
        files: what to list, the same at each call; no such file is written.
    """
    opened = create_table(
        config, NAME, SCHEMA, primary_key=["id"], partition_by=["part"], properties={}
    )
    stores = (
        (opened.base, (FileKind.BASE,)),
        (
            opened.change,
            (FileKind.INSERT, FileKind.CHANGE_DELETE),
        ),
    )
    for store, kinds in stores:
        assert store is not None
        wanted = (file for file in files() if file.kind in kinds)
        while some := list(islice(wanted, _FILES_IN_A_COMMIT)):
            _commit(store, opened, some)


def _commit(
    store: Table,
    opened: OpenTable,
    files: Sequence[InventedFile],
    *,
    removed_paths: frozenset[str] = frozenset(),
) -> None:
    head = refresh(store)
    types = _types(opened)
    added = tuple(_data_file(store.location(), file, types) for file in files)
    for file in added:
        file.spec_id = store.spec().spec_id
    operation = Operation.OVERWRITE if removed_paths else Operation.APPEND
    plan = SnapshotPlan(operation=operation, added=added, removed_paths=removed_paths)
    ask_for(stage_snapshot(head, plan, head.metadata.new_snapshot_id()))


def _types(opened: OpenTable) -> dict[int, Any]:
    return {field.field_id: field.field_type for field in opened.base.schema().fields}


def _data_file(location: str, file: InventedFile, types: Mapping[int, Any]) -> DataFile:
    """Return a record with metrics of every column, as a writer takes them from a footer."""
    number = file.number
    low = abs(number) * 7_919 % 990_000
    values: dict[int, tuple[Any, Any]] = {
        1: (low, low + _ROWS),
        2: (file.partition, file.partition),
        3: (f"customer {low:06d}", f"customer {low + _ROWS:06d}"),
        4: ("delivered", "shipped"),
        5: (0.5, 1_000.25),
        6: (1, 99),
        7: (20_000, 20_000 + number % 365),
        8: (1_700_000_000_000_000 + number, 1_700_000_000_000_000 + number * 1_000),
    }
    lower = {column: to_bytes(types[column], pair[0]) for column, pair in values.items()}
    upper = {column: to_bytes(types[column], pair[1]) for column, pair in values.items()}
    if file.kind is not FileKind.BASE:
        lower[FILE_OFFSET_ID] = to_bytes(types[1], 1)
        upper[FILE_OFFSET_ID] = to_bytes(types[1], _ROWS)
    name = format_name(
        node=TreeNode(MASK, number // 5 % (MASK + 1)),
        kind=file.kind,
        transaction_id=0,
        partition_id=number % 64,
        task_id=number,
        operation_id=8372489228858204035,
        count=1,
    )
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{location}/data/part={file.partition}/{name}",
        file_format=FileFormat.PARQUET,
        partition=Record(file.partition),
        record_count=_ROWS,
        file_size_in_bytes=1_000_000 + number % 1_000 * 50_000,
        column_sizes=dict.fromkeys(lower, 40_000),
        value_counts=dict.fromkeys(lower, _ROWS),
        null_value_counts=dict.fromkeys(lower, 0),
        nan_value_counts={5: 0},
        lower_bounds=lower,
        upper_bounds=upper,
        split_offsets=[4],
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
    )

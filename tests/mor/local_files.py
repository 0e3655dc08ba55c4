"""Data and delete files on a local disk, as a plan names them, and reads of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arctic.columns.field_ids import PathIds
from arctic.mor.read import read_group
from arctic.mor.request import FILE_OFFSET_FIELD, ReadRequest
from arctic.scan.task import FileTask, NodeTask, NodeTaskGroup
from arctic.table.files import FileKind, TableFile
from arctic.table.filters.predicate import Predicate
from arctic.tree.node import ROOT, TreeNode
from tests.factories.files import table_file
from tests.factories.tables import field

Row = dict[str, Any]


ID = field("id", pa.int64(), 1, nullable=False)
TEXT = field("text", pa.string(), 2)
TABLE = pa.schema([ID, TEXT])
KEY = pa.schema([ID])
POSITION_DELETES = pa.schema(
    [
        field("file_path", pa.string(), 2147483546, nullable=False),
        field("pos", pa.int64(), 2147483545, nullable=False),
    ]
)


class LocalFiles:
    """Writes Parquet files into one folder, and counts how often each is opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self.opened: list[str] = []

    def open(self, path: str) -> Any:
        """Open a file for reading."""
        self.opened.append(Path(path).name)
        return pa.OSFile(path)

    def write(
        self,
        kind: FileKind,
        rows: Sequence[Row] | pa.Table,
        schema: pa.Schema | None = None,
        *,
        transaction_id: int = 0,
        node: TreeNode = ROOT,
        row_group_size: int | None = None,
        **parquet: Any,
    ) -> TableFile:
        """Write a file of any kind."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows, schema=schema)
        path = self._folder / f"{next(self._numbers)}-{kind.value}.parquet"
        pq.write_table(table, path, row_group_size=row_group_size or 1024, **parquet)
        return table_file(
            str(path),
            kind,
            path.stat().st_size,
            rows=table.num_rows,
            node=node,
            transaction=transaction_id,
        )

    def base(
        self,
        rows: Sequence[Row],
        transaction_id: int = 0,
        *,
        schema: pa.Schema = TABLE,
        **more: Any,
    ) -> TableFile:
        """Write a base file."""
        return self.write(FileKind.BASE, rows, schema, transaction_id=transaction_id, **more)

    def insert(
        self, rows: Sequence[Row], transaction_id: int, *, schema: pa.Schema = TABLE, **more: Any
    ) -> TableFile:
        """Write an insert file; rows carry ``_file_offset``."""
        full = pa.schema([*schema, FILE_OFFSET_FIELD])
        return self.write(FileKind.INSERT, rows, full, transaction_id=transaction_id, **more)

    def insert_without_offset(self, rows: Sequence[Row], transaction_id: int) -> TableFile:
        """Write an insert file as a foreign writer would."""
        return self.write(FileKind.INSERT, rows, TABLE, transaction_id=transaction_id)

    def deletes(
        self, rows: Sequence[Row], transaction_id: int, *, schema: pa.Schema = TABLE, **more: Any
    ) -> TableFile:
        """Write change deletes; rows carry ``_file_offset``."""
        full = pa.schema([*schema, FILE_OFFSET_FIELD])
        return self.write(FileKind.CHANGE_DELETE, rows, full, transaction_id=transaction_id, **more)

    def position_deletes(self, rows: Sequence[tuple[str, int]], **more: Any) -> TableFile:
        """Write position deletes, as pairs of path and position."""
        pairs = [{"file_path": path, "pos": position} for path, position in rows]
        return self.write(FileKind.POS_DELETE, pairs, POSITION_DELETES, **more)

    def read(self, group: NodeTaskGroup, request: ReadRequest) -> list[Row]:
        """Read a group, checking what holds for every batch."""
        batches = list(read_group(group, request, self.open))
        assert batches
        for batch in batches:
            assert batch.schema.equals(request.schema)
            assert batch.num_rows <= request.batch_rows
            batch.validate(full=True)
        assert len(batches) == 1 or all(batch.num_rows for batch in batches)
        return [row for batch in batches for row in batch.to_pylist()]


def task(
    *data: TableFile | FileTask, deletes: Sequence[TableFile] = (), node: TreeNode = ROOT
) -> NodeTask:
    """Return a task over data files."""
    tasks = tuple(part if isinstance(part, FileTask) else FileTask(file=part) for part in data)
    return NodeTask(
        partition=(), node=node, data=tasks, change_deletes=tuple(deletes), cost_bytes=1
    )


def group(*tasks: NodeTask) -> NodeTaskGroup:
    """Return what one reader is given."""
    return NodeTaskGroup(tasks=tasks, cost_bytes=len(tasks))


def request(
    schema: pa.Schema = TABLE,
    *,
    key: pa.Schema = KEY,
    row_filter: Predicate | None = None,
    max_delete_bytes: int = 2**20,
    batch_rows: int = 1000,
    name_mapping: PathIds | None = None,
) -> ReadRequest:
    """Return a request for all columns of the small table."""
    return ReadRequest(
        schema=schema,
        key=key,
        key_types=("long",) * len(key),
        row_filter=row_filter,
        max_delete_bytes=max_delete_bytes,
        batch_rows=batch_rows,
        verifies_pages=True,
        name_mapping=name_mapping,
    )

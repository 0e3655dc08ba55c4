"""Reads of random files against the plainest model: lists of rows in Python."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from arctic.mor.request import FILE_OFFSET_FIELD, ReadRequest
from arctic.scan.task import FileTask
from arctic.table.files import BASE_FILE_OFFSET, FileKind
from arctic.table.filters.predicate import ColumnTest, Op
from tests.factories.lsn import Lsn
from tests.factories.tables import field
from tests.mor.local_files import LocalFiles, group, task

TABLE = pa.schema(
    [
        field("id", pa.int64(), 1, nullable=False),
        field("code", pa.string(), 2, nullable=False),
        field("payload", pa.list_(field("element", pa.int32(), 4)), 3),
        field("number", pa.int32(), 5),
    ]
)
KEYS = [pa.schema([TABLE.field(name) for name in names]) for names in (["id"], ["code", "id"])]


@dataclass(frozen=True)
class Change:
    """One row of a change file, in no particular order."""

    row: dict[str, Any]
    offset: int


@dataclass(frozen=True)
class History:
    """Files of one node, as lists of rows."""

    base: Sequence[tuple[int, Sequence[dict[str, Any]], frozenset[int]]]
    """Transaction id, rows and deleted positions."""
    inserts: Sequence[tuple[int, Sequence[Change]]]
    deletes: Sequence[tuple[int, Sequence[Change]]]


small = st.integers(0, 6)
rows = st.fixed_dictionaries(
    {
        "id": small,
        "code": st.sampled_from(["", "a", "bb", "a much longer code"]),
        "payload": st.none() | st.lists(st.none() | small, max_size=2),
        "number": st.none() | small,
    }
)
changes = st.builds(Change, rows, st.integers(0, 9))
base_files = st.tuples(small, st.lists(rows, max_size=12), st.frozensets(st.integers(0, 12)))
change_files = st.tuples(small, st.lists(changes, max_size=12))
histories = st.builds(
    History,
    st.lists(base_files, max_size=2),
    st.lists(change_files, min_size=1, max_size=2),
    st.lists(change_files, max_size=3),
)


def survivors(history: History, key: Sequence[str], limit: int | None) -> list[dict[str, Any]]:
    """Apply the rules of the format to one row after the other."""
    deleted: dict[tuple[Any, ...], Lsn] = {}
    for transaction_id, file in history.deletes:
        for change in file:
            of_key = tuple(change.row[name] for name in key)
            lsn = Lsn(transaction_id, change.offset)
            deleted[of_key] = max(lsn, deleted.get(of_key, lsn))
    versions = [
        (row, Lsn(transaction_id, BASE_FILE_OFFSET))
        for transaction_id, file, positions in history.base
        for position, row in enumerate(file)
        if position not in positions
    ]
    versions += [
        (change.row, Lsn(transaction_id, change.offset))
        for transaction_id, file in history.inserts
        for change in file
    ]
    return [
        row
        for row, lsn in versions
        if not deleted.get(tuple(row[name] for name in key), Lsn(-1, 0)) > lsn
        and (limit is None or (row["number"] is not None and row["number"] >= limit))
    ]


@given(
    history=histories,
    key=st.sampled_from(KEYS),
    row_group_size=st.integers(1, 6),
    batch_rows=st.integers(1, 8),
    max_delete_bytes=st.sampled_from([1, 500, 2**20]),
    limit=st.none() | small,
    columns=st.permutations(TABLE.names).flatmap(
        lambda names: st.integers(0, 4).map(lambda count: names[:count])
    ),
)
def test_a_read_equals_the_model(
    history: History,
    key: pa.Schema,
    row_group_size: int,
    batch_rows: int,
    max_delete_bytes: int,
    limit: int | None,
    columns: list[str],
) -> None:
    """Whatever the row groups, batches, memory, filter and columns are."""
    with tempfile.TemporaryDirectory() as folder:
        files = LocalFiles(Path(folder))
        data = []
        for transaction_id, file, positions in history.base:
            base = files.base(file, transaction_id, schema=TABLE, row_group_size=row_group_size)
            pairs = [("elsewhere", 0), *((base.path, position) for position in positions)]
            data.append(FileTask(file=base, position_deletes=(files.position_deletes(pairs),)))
        inserts, deletes = (
            [
                files.write(
                    kind,
                    [change.row | {"_file_offset": change.offset} for change in file],
                    pa.schema([*TABLE, FILE_OFFSET_FIELD]),
                    transaction_id=transaction_id,
                    row_group_size=row_group_size,
                )
                for transaction_id, file in change_files
            ]
            for kind, change_files in (
                (FileKind.INSERT, history.inserts),
                (FileKind.CHANGE_DELETE, history.deletes),
            )
        )
        wanted = ReadRequest(
            schema=pa.schema([TABLE.field(name) for name in columns]),
            key=key,
            key_types=("any",) * len(key),
            row_filter=None
            if limit is None
            else ColumnTest(op=Op.GE, field_id=5, column="number", literal=limit),
            max_delete_bytes=max_delete_bytes,
            batch_rows=batch_rows,
            verifies_pages=True,
            name_mapping=None,
        )
        found = files.read(group(task(*data, *inserts, deletes=deletes)), wanted)
    expected = [
        {name: row[name] for name in columns} for row in survivors(history, key.names, limit)
    ]
    assert found == expected

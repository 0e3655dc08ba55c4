"""What two states differ in, whatever files they are in."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from arctic.mor.changes import row_difference
from arctic.mor.changes.row_difference import read_row_difference
from arctic.mor.changes.told_rows import COMMIT_FIELDS, RowChangeShape
from arctic.mor.key_parts import key_parts
from arctic.scan.changes.difference_tasks import DifferenceGroup, DifferenceTask
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind
from arctic.tree.node import ROOT
from tests.mor.local_files import TABLE, LocalFiles
from tests.mor.test_key_parts import REQUEST

Rows = list[tuple[Any, ...]]


def told(folder: Path, before: Rows, after: Rows, *, tells_updates: bool = True) -> Rows:
    """Return type, key and text of what two states differ in."""
    files = LocalFiles(folder)
    sides = []
    for rows in (before, after):
        listed = [dict(zip(TABLE.names, row, strict=True)) for row in rows]
        file = files.write(FileKind.BASE, listed, TABLE)
        node = NodeTask(partition=(), node=ROOT, data=(FileTask(file=file),), cost_bytes=1)
        sides.append((node,) if rows else ())
    task = DifferenceTask(before=sides[0], after=sides[1], cost_bytes=1)
    shape = RowChangeShape(
        schema=pa.schema([COMMIT_FIELDS[1], COMMIT_FIELDS[0], *TABLE]),
        is_net=True,
        tells_updates=tells_updates,
        commits=(),
        versions=(),
        times_ms=(),
    )
    group = DifferenceGroup(tasks=(task,), version=9, time_ms=5)
    batches = list(read_row_difference(group, shape, REQUEST, files.open))
    assert all(batch.schema.equals(shape.schema) for batch in batches)
    rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert {row[0] for row in rows} <= {9}
    return sorted(row[1:] for row in rows)


def test_equal_rows_are_no_difference(tmp_path: Path) -> None:
    """The others are told as the one commit that they are."""
    before, after = [(1, "a"), (2, None), (3, "c")], [(3, "d"), (2, None), (4, "e")]

    assert told(tmp_path, before, after) == [
        ("delete", 1, "a"),
        ("insert", 4, "e"),
        ("update_postimage", 3, "d"),
        ("update_preimage", 3, "c"),
    ]
    assert told(tmp_path, before, before) == []
    assert told(tmp_path, [], [(1, "a")]) == [("insert", 1, "a")]
    assert told(tmp_path, [(1, "a")], [], tells_updates=False) == [("delete", 1, "a")]


def test_parts_of_keys_are_told_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where not all rows fit into memory."""
    monkeypatch.setattr(row_difference, "key_parts", partial(key_parts, held_bytes=700))
    before = [(number, "a") for number in range(50)]
    after = [(number, "b" if number % 2 else "a") for number in range(50)]

    found = told(tmp_path, before, after)
    assert [row[1] for row in found] == [*range(1, 50, 2)] * 2

"""Ranges in which rows were replaced, divided where that was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import NotFoundError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.changes.asked_changes import RowsAsked
from arctic.job.changes.change_range import ChangePlace, settled_heads
from arctic.job.changes.row_stretches import stretches
from arctic.job.reference import table_reference

ROWS = pa.table({"id": [1, 2]})
COMMITS = RowsAsked(is_net=False, tells_updates=True, by_columns=False)
NET = replace(COMMITS, is_net=True)


def opened(folder: Path, *modes: str) -> OpenTable:
    """Return a table after some writes."""
    warehouse = str(folder)
    table = arctic.create_table("db.t", ROWS.schema, primary_key="id", warehouse=warehouse)
    for mode in modes:
        table.write(ROWS, mode=mode)
    return table_reference({"path": "db.t", "warehouse": warehouse}).open()


def place(change: int, base: int) -> ChangePlace:
    """Return a place."""
    return ChangePlace(sequence_number=change, base_sequence_number=base)


def test_commits_that_replace_rows_stand_between_the_others(tmp_path: Path) -> None:
    """A range that is told as one change is one difference, as its last commit."""
    table = opened(tmp_path, "upsert", "upsert", "overwrite", "upsert", "overwrite")
    head = settled_heads(table)
    assert head == place(3, 2)

    found = stretches(table, place(0, 0), head, COMMITS)
    assert [(each.start, each.end) for each in found] == [
        (place(0, 0), place(2, 0)),
        (place(2, 0), place(2, 1)),
        (place(2, 1), place(3, 1)),
        (place(3, 1), place(3, 2)),
        (place(3, 2), place(3, 2)),
    ]
    told = [None if each.difference is None else each.difference.number for each in found]
    assert told == [None, 3, None, 5, None]
    (whole,) = stretches(table, place(1, 0), place(3, 1), NET)
    assert whole.difference is not None
    assert whole.difference.number == 4
    (one,) = stretches(table, place(2, 1), place(3, 1), NET)
    assert one.difference is None


def test_a_commit_that_has_expired_is_refused(tmp_path: Path) -> None:
    """It may have replaced rows."""
    opened(tmp_path, "upsert", "overwrite", "upsert", "overwrite")
    at_once = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
    arctic.expire("db.t", warehouse=str(tmp_path), options=at_once)
    left = table_reference({"path": "db.t", "warehouse": str(tmp_path)}).open()

    with pytest.raises(NotFoundError, match=r"commit 1 of 1 to 2 is gone"):
        stretches(left, place(0, 0), settled_heads(left), COMMITS)

"""What commits did to rows: who came, who went, and as what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from arctic.mor.changes.row_changes import read_row_changes
from arctic.mor.changes.told_rows import COMMIT_FIELDS, RowChangeShape
from arctic.mor.request import FILE_OFFSET_FIELD, ReadRequest
from arctic.scan.changes.change_tasks import ChangeGroup, ChangeTask, ChangeUnit
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind, TableFile
from arctic.tree.node import ROOT
from tests.mor.local_files import KEY, TABLE, LocalFiles

CHANGE = pa.schema([*TABLE, FILE_OFFSET_FIELD])
Rows = list[tuple[Any, ...]]


class Range:
    """Rows of before and commits, as files of one task."""

    def __init__(self, folder: Path) -> None:
        self._files = LocalFiles(folder)
        self._units: list[ChangeUnit] = []
        self._before: tuple[NodeTask, ...] = ()

    def before(self, *rows: tuple[int, str]) -> None:
        """Write the rows that were there."""
        told = [dict(zip(TABLE.names, row, strict=True)) for row in rows]
        file = self._files.write(FileKind.BASE, told, TABLE)
        self._before = (
            NodeTask(partition=(), node=ROOT, data=(FileTask(file=file),), cost_bytes=1),
        )

    def commit(self, *events: tuple[str, int, str | None]) -> None:
        """Write a commit of events, in their order: D or I, a key and a text."""
        number = len(self._units) + 1
        self._units.append(
            ChangeUnit(
                deletes=self._written("D", FileKind.CHANGE_DELETE, events, number),
                inserts=self._written("I", FileKind.INSERT, events, number),
            )
        )

    def commit_nothing(self) -> None:
        """Write a commit of files without a row."""
        number = len(self._units) + 1
        deletes, inserts = (
            self._files.write(kind, [], CHANGE, transaction_id=number)
            for kind in (FileKind.CHANGE_DELETE, FileKind.INSERT)
        )
        self._units.append(ChangeUnit(deletes=(deletes,), inserts=(inserts,)))

    def commit_delete_twice(self, key: int) -> None:
        """Write a commit that deletes a key in two files, at one offset."""
        number, event = len(self._units) + 1, ("D", key, None)
        one, other = (
            self._written("D", FileKind.CHANGE_DELETE, (event,), number) for _ in range(2)
        )
        self._units.append(ChangeUnit(deletes=one + other, inserts=()))

    def _written(
        self, action: str, kind: FileKind, events: tuple[tuple[str, int, str | None], ...], to: int
    ) -> tuple[TableFile, ...]:
        rows = [
            dict(zip(CHANGE.names, (key, text, offset), strict=True))
            for offset, (what, key, text) in enumerate(events, 1)
            if what == action
        ]
        if not rows:
            return ()
        return (self._files.write(kind, rows, CHANGE, transaction_id=to),)

    def rows(self, *, is_net: bool = False, tells_updates: bool = True) -> Rows:
        """Return what became of rows: commit, type, key and text."""
        task = ChangeTask(beginning=self._before, units=tuple(self._units), cost_bytes=1)
        numbers = range(1, len(self._units) + 1)
        shape = RowChangeShape(
            schema=pa.schema([COMMIT_FIELDS[1], COMMIT_FIELDS[0], *TABLE]),
            is_net=is_net,
            tells_updates=tells_updates,
            commits=tuple(numbers),
            versions=tuple(10 * number for number in numbers),
            times_ms=tuple(numbers),
        )
        request = ReadRequest(
            schema=TABLE,
            key=KEY,
            key_types=("long",),
            row_filter=None,
            max_delete_bytes=2**20,
            batch_rows=3,
            verifies_pages=True,
            name_mapping=None,
        )
        batches = list(
            read_row_changes(ChangeGroup(tasks=(task,)), shape, request, self._files.open)
        )
        assert all(batch.schema.equals(shape.schema) for batch in batches)
        assert all(len(batch) <= request.batch_rows for batch in batches)
        return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


@pytest.fixture
def changes(tmp_path: Path) -> Range:
    """A range without commits."""
    return Range(tmp_path)


def test_a_delete_tells_the_row_that_it_found(changes: Range) -> None:
    """That of before or of an earlier commit; where it found none, nothing is told."""
    changes.before((1, "old"), (2, "stays"))
    changes.commit(("D", 1, None), ("D", 9, None), ("I", 3, "new"))
    changes.commit(("D", 3, None))

    assert changes.rows() == [
        (10, "delete", 1, "old"),
        (10, "insert", 3, "new"),
        (20, "delete", 3, "new"),
    ]
    assert changes.rows(is_net=True) == [(10, "delete", 1, "old")]


def test_files_without_a_row_tell_nothing(changes: Range) -> None:
    """Alone or beside others."""
    changes.before((1, "old"))
    changes.commit_nothing()
    assert changes.rows() == []
    changes.commit(("D", 1, None))
    assert changes.rows() == [(20, "delete", 1, "old")]


def test_a_delete_that_is_told_twice_deletes_once(changes: Range) -> None:
    """A row of before, or of an earlier commit."""
    changes.before((1, "old"))
    changes.commit(("I", 2, "new"))
    changes.commit_delete_twice(1)
    changes.commit_delete_twice(2)

    assert changes.rows() == [
        (10, "insert", 2, "new"),
        (20, "delete", 1, "old"),
        (30, "delete", 2, "new"),
    ]


def test_a_row_that_goes_and_comes_in_a_commit_is_an_update(changes: Range) -> None:
    """Between the ends of the range too; a key that comes back in a later commit is none there."""
    changes.before((1, "a"), (2, "x"))
    changes.commit(("D", 1, None), ("I", 1, "b"), ("D", 2, None))
    changes.commit(("D", 1, None), ("I", 1, "c"), ("I", 2, "y"))

    assert changes.rows() == [
        (10, "delete", 2, "x"),
        (10, "update_postimage", 1, "b"),
        (10, "update_preimage", 1, "a"),
        (20, "insert", 2, "y"),
        (20, "update_postimage", 1, "c"),
        (20, "update_preimage", 1, "b"),
    ]
    assert changes.rows(is_net=True) == [
        (10, "update_preimage", 1, "a"),
        (10, "update_preimage", 2, "x"),
        (20, "update_postimage", 1, "c"),
        (20, "update_postimage", 2, "y"),
    ]
    assert changes.rows(is_net=True, tells_updates=False) == [
        (10, "delete", 1, "a"),
        (10, "delete", 2, "x"),
        (20, "insert", 1, "c"),
        (20, "insert", 2, "y"),
    ]


def test_what_no_reader_ever_saw_is_not_told(changes: Range) -> None:
    """Rows of one commit that a later event of it deletes."""
    changes.commit(
        ("I", 1, "first"), ("D", 1, None), ("I", 1, "last"), ("I", 2, "x"), ("D", 2, None)
    )

    assert changes.rows() == [(10, "insert", 1, "last")]


def test_rows_that_appends_have_stored_twice_go_together(changes: Range) -> None:
    """Each of them is told: a reader saw them all."""
    changes.before((1, "a"), (1, "b"))
    changes.commit(("I", 1, "c"))
    changes.commit(("D", 1, None))

    assert changes.rows(tells_updates=False) == [
        (10, "insert", 1, "c"),
        (20, "delete", 1, "a"),
        (20, "delete", 1, "b"),
        (20, "delete", 1, "c"),
    ]

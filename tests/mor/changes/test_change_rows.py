"""Change files become events: pairs are found, keys keep their order, memory stays bounded."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from arctic.errors import FormatError
from arctic.mor.changes import offset_merge
from arctic.mor.changes.change_rows import read_changes
from arctic.mor.request import CHANGE_ACTION_FIELD, FILE_OFFSET_FIELD, META_FIELDS, ReadRequest
from arctic.scan.changes.change_tasks import ChangeGroup, ChangeTask, ChangeUnit
from arctic.table.files import FileKind, TableFile
from tests.mor.local_files import KEY, TABLE, LocalFiles

Event = tuple[int, str | None, int]
CHANGE = pa.schema([*TABLE, FILE_OFFSET_FIELD])


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """A folder for files."""
    return LocalFiles(tmp_path)


def write(
    files: LocalFiles, kind: FileKind, events: list[Event], transaction_id: int = 1
) -> TableFile:
    """Write a change file of (id, text, offset)."""
    rows = [dict(zip(CHANGE.names, event, strict=True)) for event in events]
    return files.write(kind, rows, CHANGE, transaction_id=transaction_id, row_group_size=7)


def inserts(files: LocalFiles, *events: Event) -> TableFile:
    """Write an insert file."""
    return write(files, FileKind.INSERT, list(events))


def deletes(files: LocalFiles, *events: Event) -> TableFile:
    """Write a change-delete file."""
    return write(files, FileKind.CHANGE_DELETE, list(events))


def events_of(
    files: LocalFiles, *written: TableFile, batch_rows: int = 65_536
) -> list[tuple[str, int, str | None]]:
    """Read files as one transaction; return action, key and text of each event."""
    unit = ChangeUnit(
        deletes=tuple(file for file in written if file.kind is FileKind.CHANGE_DELETE),
        inserts=tuple(file for file in written if file.kind is FileKind.INSERT),
    )
    task = ChangeTask(beginning=(), units=(unit,), cost_bytes=1)
    request = ReadRequest(
        schema=pa.schema([CHANGE_ACTION_FIELD, *TABLE]),
        key=KEY,
        key_types=("long",),
        row_filter=None,
        max_delete_bytes=2**20,
        batch_rows=batch_rows,
        verifies_pages=True,
        name_mapping=None,
    )
    batches = list(read_changes(ChangeGroup(tasks=(task,)), request, files.open))
    assert all(batch.schema.equals(request.schema) for batch in batches)
    assert all(len(batch) <= batch_rows for batch in batches)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_equal_offsets_of_a_key_are_an_update(files: LocalFiles) -> None:
    """An upsert of an unknown row is a delete and an insert; a lone delete stays one."""
    events = events_of(
        files,
        deletes(files, (1, "old", 1), (2, None, 2), (3, "gone", 4)),
        inserts(files, (1, "new", 1), (2, "put", 3), (4, "more", 5)),
    )

    assert events == [
        ("-U", 1, "old"),
        ("+U", 1, "new"),
        ("-D", 2, None),
        ("+I", 2, "put"),
        ("-D", 3, "gone"),
        ("+I", 4, "more"),
    ]


def test_equal_offsets_of_two_keys_are_no_update(files: LocalFiles) -> None:
    """Writers count from the same number, each for its own keys."""
    events = events_of(files, deletes(files, (1, "a", 1)), inserts(files, (2, "b", 1)))

    assert events == [("-D", 1, "a"), ("+I", 2, "b")]


def test_a_delete_in_several_partitions_is_one_event(files: LocalFiles) -> None:
    """Nobody knew where the row was; the file that held it tells the most."""
    events = events_of(
        files,
        deletes(files, (1, None, 1)),
        deletes(files, (1, "old", 1), (2, None, 2)),
        deletes(files, (2, None, 2)),
        inserts(files, (1, "new", 1)),
    )

    assert events == [("-U", 1, "old"), ("+U", 1, "new"), ("-D", 2, None)]


def test_rows_without_a_file_make_an_empty_batch(files: LocalFiles) -> None:
    """The schema is there even where nothing else is."""
    assert events_of(files) == []


@pytest.mark.parametrize("held", [0, 2**26])
@pytest.mark.parametrize("batch_rows", [1, 10, 5_000])
def test_files_are_merged_by_offset_in_pieces(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch, held: int, batch_rows: int
) -> None:
    """Many files and small batches give the same events as one look at all of them."""
    monkeypatch.setattr(offset_merge, "HELD_BYTES", held)
    monkeypatch.setattr(offset_merge, "LEAST_ROWS", 1)
    draw = random.Random(batch_rows)
    parts: list[tuple[FileKind, list[Event]]] = [
        (kind, []) for kind in (FileKind.INSERT, FileKind.CHANGE_DELETE) for _ in range(4)
    ]
    expected = []
    for offset in range(1, 120):
        key = draw.randrange(10)
        is_update, text = draw.random() < 0.5, str(offset)
        parts[4 + draw.randrange(4)][1].append((key, text, offset))
        expected.append(("-U" if is_update else "-D", key, text))
        if is_update:
            parts[draw.randrange(4)][1].append((key, text, offset))
            expected.append(("+U", key, text))
    written = [write(files, kind, events) for kind, events in parts]

    assert events_of(files, *written, batch_rows=batch_rows) == expected


def test_many_rows_of_one_offset_stay_together(
    files: LocalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer repeats an offset for updates without an image: none is lost between windows."""
    monkeypatch.setattr(offset_merge, "LEAST_ROWS", 1)
    rows = [(key, "x", 0) for key in range(20)]
    events = events_of(
        files, inserts(files, *rows), deletes(files, (5, "y", 0), (6, "y", 1)), batch_rows=3
    )

    assert sorted(events) == sorted(
        [("+U" if key == 5 else "+I", key, "x") for key in range(20)]
        + [("-U", 5, "y"), ("-D", 6, "y")]
    )
    assert events[-1] == ("-D", 6, "y")


def test_falling_offsets_are_refused(files: LocalFiles) -> None:
    """A file in another order would give events in another order."""
    with pytest.raises(FormatError, match="falls from one row to the next"):
        events_of(files, inserts(files, (1, "a", 2), (2, "b", 1)))


def test_a_file_without_offsets_is_refused(files: LocalFiles) -> None:
    """Its rows could stand anywhere."""
    rows = [{"id": 1, "text": "a"}]
    with pytest.raises(FormatError, match="_file_offset"):
        events_of(files, files.write(FileKind.INSERT, rows, TABLE, transaction_id=1))


def test_meta_columns_tell_when(files: LocalFiles) -> None:
    """The transaction is that of the file, the offset that of the row."""
    unit = ChangeUnit(deletes=(), inserts=(inserts(files, (1, "a", 9)),))
    request = ReadRequest(
        schema=pa.schema(META_FIELDS),
        key=KEY,
        key_types=("long",),
        row_filter=None,
        max_delete_bytes=1,
        batch_rows=1,
        verifies_pages=True,
        name_mapping=None,
    )
    group = ChangeGroup(tasks=(ChangeTask(beginning=(), units=(unit,), cost_bytes=1),))
    (batch,) = read_changes(group, request, files.open)

    assert [tuple(row.values()) for row in batch.to_pylist()] == [(1, 9, "+I")]

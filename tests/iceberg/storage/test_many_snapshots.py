"""Metadata with many snapshots: what the file says, what is found in it, what is made anew."""

from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table.metadata import TableMetadata

import arctic
from arctic.iceberg.storage import checksum
from arctic.iceberg.storage import many_snapshots as module
from arctic.iceberg.storage.many_snapshots import write_metadata
from arctic.last_used import GrowingLists

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("text", pa.string())])


def committed(folder: Path, commits: int) -> Any:
    """Return the open change store of a table."""
    made = arctic.create_table("db.t", SCHEMA, primary_key=["id"], warehouse=str(folder))
    for number in range(commits):
        made.write(pa.table({"id": [number], "text": ['"snapshots":[]']}, schema=SCHEMA))
    return made.refresh()._opened.change


def said(io: Any, path: str) -> dict[str, Any]:
    """Return what a metadata file says, without the checksum that stands in it."""
    with io.new_input(path).open() as stream:
        content = stream.read()
    found: dict[str, Any] = json.loads(gzip.decompress(content) if ".gz." in path else content)
    found.pop("arctic-checksum", None)
    return found


@pytest.mark.parametrize("name", ["9.metadata.json", "9.gz.metadata.json"])
@pytest.mark.parametrize("block_bytes", [1, 1_500, 1 << 16])
def test_a_file_says_what_pyiceberg_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, block_bytes: int
) -> None:
    """Of no snapshot, of some, of more, and of fewer again, as after an expiry."""
    monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(checksum, "LONG_PART", block_bytes)
    store = committed(tmp_path / "w", 7)
    whole: TableMetadata = store.metadata
    parts = ((0, 0), (0, 3), (0, 4), (0, 7), (2, 7), (2, 3), (0, 7))
    for number, (first, last) in enumerate(parts):
        update = {
            "snapshots": whole.snapshots[first:last],
            "snapshot_log": whole.snapshot_log[first:last],
        }
        metadata = whole.model_copy(update=update)
        ours, theirs = (f"{tmp_path}/{number}-{who}-{name}" for who in ("ours", "theirs"))
        write_metadata(metadata, store.io, ours)
        ToOutputFile.table_metadata(metadata, store.io.new_output(theirs))
        assert said(store.io, ours) == said(store.io, theirs)
        assert len(said(store.io, ours)["snapshots"]) == last - first


def test_a_commit_makes_json_of_its_own_snapshot_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are; those of another writer are made once."""
    store = committed(tmp_path, 3)
    made: list[int] = []
    written = module._written

    def counted(blocks: Any, items: Any) -> Any:
        made.append(len(items))
        return written(blocks, items)

    monkeypatch.setattr(module, "_WRITTEN", GrowingLists(counted))
    table = arctic.open_table("db.t", warehouse=str(tmp_path))
    for number in range(3):
        table.write(pa.table({"id": [number], "text": ["x"]}, schema=SCHEMA))
    assert made == [4, 4, 1, 1, 1, 1]  # snapshots and their log
    assert len(store.metadata.snapshots) == 3


def test_snapshots_are_found_in_the_state_that_is_asked(tmp_path: Path) -> None:
    """Also in an older one than was asked last, which has fewer."""
    metadata = committed(tmp_path, 4).metadata
    older = metadata.model_copy(update={"snapshots": metadata.snapshots[:2]})
    newest = metadata.snapshots[-1]
    for _ in range(2):
        assert metadata.snapshot_by_id(newest.snapshot_id) is newest
        assert older.snapshot_by_id(newest.snapshot_id) is None
        assert older.snapshot_by_id(metadata.snapshots[0].snapshot_id) is metadata.snapshots[0]
    assert metadata.snapshot_by_id(1) is None


def test_other_lists_are_made_anew() -> None:
    """An item in the middle, another at a place, one list that grew in place; not equal ones."""
    made: list[list[Any]] = []

    def joined(before: tuple[Any, ...] | None, items: Any) -> tuple[Any, ...]:
        made.append(list(items))
        return (*(before or ()), *items)

    lists = GrowingLists(joined)
    one, two, three = [1], [2], [3]
    for items in ([one], [one, two], [one, three, two], [[1], three, two], [two, three, two], []):
        assert lists.of("t", items) == tuple(items)
    assert made == [[one], [two], [one, three, two], [], [two, three, two], []]
    grown = [one]
    lists.of("t", grown)
    grown.append(two)
    assert lists.of("t", grown) == (one, two)
    assert lists.of("other", [two]) == (two,)


def test_threads_get_what_is_made_of_their_own_lists() -> None:
    """Two that go on from the same list, each with its own snapshot, as racing writers do."""
    lists = GrowingLists(lambda before, items: (*(before or ()), *items))
    common = [[number] for number in range(50)]
    wrong: list[Any] = []

    def go_on(name: str) -> None:
        for length in range(50):
            items = [*common[:length], [name]]
            if lists.of("t", items) != tuple(items):
                wrong.append(items)

    threads = [threading.Thread(target=go_on, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

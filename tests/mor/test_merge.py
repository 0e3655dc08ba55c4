"""Change deletes against data rows: the greatest Lsn of a key decides."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from arctic.mor.deletes.delete_files import KeptDeletes
from arctic.mor.read import read_group
from arctic.mor.request import META_FIELDS
from arctic.table.files import BASE_FILE_OFFSET
from arctic.tree.node import TreeNode
from tests.mor.local_files import KEY, TABLE, LocalFiles, Row, group, request, task


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """A folder for the files of one test."""
    return LocalFiles(tmp_path)


def row(key: int, text: str | None = None, offset: int | None = None) -> Row:
    """Return a row of the small table; with an offset, one of a change file."""
    return {"id": key, "text": text} | ({} if offset is None else {"_file_offset": offset})


def test_only_the_newest_version_of_an_upserted_key_survives(files: LocalFiles) -> None:
    """The worked example of the format: base 10, an upsert in 11, an update in 12."""
    base = files.base([row(1, "base")], 10)
    first = files.insert([row(1, "upsert", 2)], 11)
    second = files.insert([row(1, "update", 5)], 12)
    deletes = [files.deletes([row(1, None, 1)], 11), files.deletes([row(1, None, 5)], 12)]
    found = files.read(group(task(base, first, second, deletes=deletes)), request())
    assert found == [row(1, "update")]


@pytest.mark.parametrize(
    ("delete", "survives"),
    [((9, 99), True), ((10, 1), True), ((10, BASE_FILE_OFFSET), True), ((11, 0), False)],
)
def test_a_base_row_dies_only_by_a_later_transaction(
    files: LocalFiles, delete: tuple[int, int], *, survives: bool
) -> None:
    """A base row comes after every change of its own transaction."""
    base = files.base([row(1, "old")], 10)
    deletes = files.deletes([row(1, None, delete[1])], delete[0])
    found = files.read(group(task(base, deletes=[deletes])), request())
    assert bool(found) == survives


@pytest.mark.parametrize(
    ("delete", "survives"),
    [((11, 4), True), ((11, 5), True), ((11, 6), False), ((10, 9), True), ((12, 0), False)],
)
def test_an_insert_dies_only_by_a_strictly_greater_lsn(
    files: LocalFiles, delete: tuple[int, int], *, survives: bool
) -> None:
    """A delete and an insert of one Lsn are the two halves of an update: the insert stays."""
    insert = files.insert([row(1, "new", 5)], 11)
    deletes = files.deletes([row(1, None, delete[1])], delete[0])
    found = files.read(group(task(insert, deletes=[deletes])), request())
    assert bool(found) == survives


def test_the_greatest_of_many_deletes_of_a_key_counts(files: LocalFiles) -> None:
    """Whatever the order of files and of rows in them, also when offsets are not sorted."""
    insert = files.insert([row(1, "a", 50), row(2, "b", 50)], 7)
    deletes = [
        files.deletes([row(1, None, 60), row(1, None, 2), row(2, None, 49)], 7),
        files.deletes([row(1, None, 90), row(2, None, 99)], 6),
    ]
    for order in (deletes, deletes[::-1]):
        assert files.read(group(task(insert, deletes=order)), request()) == [row(2, "b")]


def test_deletes_of_ancestors_and_descendants_apply_alike(files: LocalFiles) -> None:
    """Which node a delete file belongs to was decided by the plan."""
    node = TreeNode(1, 0)
    base = files.base([row(key, "x") for key in range(6)], 1, node=node)
    above = files.deletes([row(0, None, 1), row(1, None, 2)], 2, node=TreeNode(0, 0))
    below = files.deletes([row(4, None, 1)], 3, node=TreeNode(3, 2))
    found = files.read(group(task(base, deletes=[above, below], node=node)), request())
    assert [one["id"] for one in found] == [2, 3, 5]


def test_inserts_of_one_key_are_not_deduplicated(files: LocalFiles) -> None:
    """Without deletes between them, both rows are visible."""
    insert = files.insert([row(1, "a", 1), row(1, "b", 2)], 3)
    assert len(files.read(group(task(insert)), request())) == 2


def test_a_look_at_the_change_store_shows_both_kinds_with_their_lsn(files: LocalFiles) -> None:
    """Facts about the file stand beside the physical offset; base rows have the greatest one."""
    schema = pa.schema([*TABLE, *META_FIELDS])
    tasks = [
        task(files.base([row(1, "x")], 4)),
        task(files.insert([row(2, "y", 7)], 5)),
        task(files.deletes([row(3, None, 8)], 6)),
    ]
    found = files.read(group(*tasks), request(schema))
    assert [tuple(one.values()) for one in found] == [
        (1, "x", 4, BASE_FILE_OFFSET, None),
        (2, "y", 5, 7, "INSERT"),
        (3, None, 6, 8, "DELETE"),
    ]


def test_without_deletes_neither_key_nor_offset_is_read(files: LocalFiles) -> None:
    """A change file without offsets is readable as long as nothing compares them."""
    foreign = files.insert_without_offset([row(1, "x")], 1)
    text_only = pa.schema([TABLE.field("text")])
    missing_key = pa.schema([KEY.field("id").with_metadata({b"PARQUET:field_id": "99"})])
    assert files.read(group(task(foreign)), request(text_only, key=missing_key)) == [{"text": "x"}]


def test_shared_deletes_are_loaded_once(files: LocalFiles) -> None:
    """Also when another task of the group comes between two that share them."""
    shared, other = (files.deletes([row(key, None, 1)], 2) for key in (1, 2))
    bases = [files.base([row(1, "a"), row(2, "b")], 1) for _ in range(3)]
    found = files.read(
        group(
            task(bases[0], deletes=[shared]),
            task(bases[1], deletes=[other]),
            task(bases[2], deletes=[shared]),
        ),
        request(),
    )
    assert [one["id"] for one in found] == [2, 2, 1]
    assert files.opened.count(Path(shared.path).name) == 1


def test_small_deletes_that_some_tasks_share_are_decoded_once(files: LocalFiles) -> None:
    """Though each task has others beside them; and by the groups of one read together."""
    shared = files.deletes([row(1, offset=5)], 9)
    own = [files.deletes([row(number, offset=6)], 9) for number in (2, 3)]
    data = [files.base([row(number) for number in (1, 2, 3, 4)], 1) for _ in own]
    groups = [
        group(task(found, deletes=[shared, delete]))
        for found, delete in zip(data, own, strict=True)
    ]
    together = KeptDeletes()

    found = [
        [
            each
            for batch in read_group(one, request(), files.open, None, together)
            for each in batch["id"].to_pylist()
        ]
        for one in (*groups, group(*(task for one in groups for task in one.tasks)))
    ]

    assert found == [[3, 4], [2, 4], [3, 4, 2, 4]]
    assert files.opened.count(Path(shared.path).name) == 1
    assert pickle.loads(pickle.dumps(together)).of(shared, lambda _: []) == []


def test_deletes_beyond_the_memory_bound_are_applied_piece_by_piece(files: LocalFiles) -> None:
    """Every delete file is still read once, and the payload of the data too."""
    base = files.base([row(key, f"t{key}") for key in range(100)], 1, row_group_size=7)
    insert = files.insert([row(key, "new", 10) for key in range(100)], 2)
    deletes = [
        files.deletes([row(key, None, 10) for key in range(60)], 2),
        files.deletes([row(key, None, 11) for key in range(50, 70)], 2),
    ]
    bounded = request(max_delete_bytes=500, batch_rows=9)
    found = files.read(group(task(base, insert, deletes=deletes)), bounded)
    assert [one["id"] for one in found] == [*range(70, 100), *range(50), *range(70, 100)]
    assert files.opened.count(Path(deletes[0].path).name) == 1


def test_many_deletes_of_few_keys_are_reduced_in_memory(files: LocalFiles) -> None:
    """A hot key costs no second look at the data, however often it was deleted."""
    base = files.base([row(1, "a"), row(2, "b")], 1)
    deletes = files.deletes([row(1, None, offset) for offset in range(1000)], 2)
    bounded = request(max_delete_bytes=4000, batch_rows=10)
    assert files.read(group(task(base, deletes=[deletes])), bounded) == [row(2, "b")]
    assert files.opened.count(Path(base.path).name) == 1


def test_the_last_piece_of_shared_deletes_is_not_taken_for_all_of_them(files: LocalFiles) -> None:
    """Deletes that do not fit in memory are read again by the next task that shares them."""
    bases = [files.base([row(key, "x") for key in range(30)], 1) for _ in range(2)]
    deletes = [files.deletes([row(key, None, 1) for key in range(29)], 2)]
    bounded = request(max_delete_bytes=500, batch_rows=4)
    tasks = [task(base, deletes=deletes) for base in bases]
    assert [one["id"] for one in files.read(group(*tasks), bounded)] == [29, 29]

"""Keys that came to several tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arctic.errors import InvalidInputError
from arctic.table.files import FileKind
from arctic.tree.node import TreeNode
from arctic.writing.straddle import check_straddling, find_straddling
from arctic.writing.target import TaskResult
from arctic.writing.write_request import WriteMode, WriteRequest
from arctic.writing.writer import check_key_owners
from tests.writing.local_table import batch, make_target, open_input, write


def result(target: Any, task: int, *keys: tuple[int, str]) -> TaskResult:
    """Upsert keys with their regions in one task."""
    rows = [{"id": key, "region": region, "amount": 1, "note": None} for key, region in keys]
    return write(target, [batch(rows)], mode="upsert", partition_id=task)


def owners(target: Any, results: list[TaskResult], *, assume_stable: bool = False) -> list[str]:
    """Check results as the job does; return the files that were read."""
    opened: list[str] = []

    def opener(path: str) -> Any:
        opened.append(path)
        return open_input(path)

    check_key_owners(
        results,
        table=target.table,
        request=WriteRequest(mode=WriteMode.UPSERT, ordering_column="amount"),
        assume_stable=assume_stable,
        open_input=opener,
    )
    return opened


def test_tasks_of_different_nodes_need_no_look(tmp_path: Path) -> None:
    """Which is every write that was arranged: nothing is read."""
    target = make_target(tmp_path, change_mask=1)
    even, odd = result(target, 0, (1, "eu"), (3, "eu")), result(target, 1, (2, "eu"))

    assert find_straddling([even, odd], across_partitions=True) == ()
    assert owners(target, [odd, even]) == []


def test_nodes_of_different_depths_are_compared_where_they_meet(tmp_path: Path) -> None:
    """A task with more rows goes deeper, and may have keys of a node above."""
    shallow, deep = (make_target(tmp_path, change_mask=mask) for mask in (1, 7))
    results = [result(shallow, 0, (1, "eu"), (2, "eu")), result(deep, 1, (8, "eu"), (6, "eu"))]

    (place,) = find_straddling(results, across_partitions=False)

    assert place.node == TreeNode(1, 1)
    assert [task for task, _ in place.files] == [0, 0, 1, 1, 1, 1]


def test_tasks_that_share_a_node_are_compared_by_key(tmp_path: Path) -> None:
    """Sharing a place is no fault; only those files are read."""
    target = make_target(tmp_path, change_mask=1)
    results = [
        result(target, 0, (1, "eu"), (2, "eu")),
        result(target, 1, (3, "eu")),
    ]

    (place,) = find_straddling(reversed(results), across_partitions=False)

    assert [task for task, _ in place.files] == [0, 0, 1, 1]
    assert {file.node for _, file in place.files} == {place.node}
    assert sorted(owners(target, results)) == sorted(file.path for _, file in place.files)


def test_a_key_of_two_tasks_is_named(tmp_path: Path) -> None:
    """With the remedy."""
    target = make_target(tmp_path, key=("region", "id"), change_mask=0)
    results = [result(target, 4, (1, "eu"), (7, "us")), result(target, 2, (7, "us"), (7, "eu"))]

    with pytest.raises(InvalidInputError) as caught:
        owners(target, results)

    assert "rows with key (region='us', id=7) came to several tasks" in caught.value.message
    assert "repartition it by region, id yourself" in caught.value.message


def test_one_task_may_write_a_key_as_often_as_it_likes(tmp_path: Path) -> None:
    """Its offsets order them; deletes and inserts share their keys."""
    target = make_target(tmp_path, change_mask=0, chunk_rows=1)
    results = [result(target, 0, (1, "eu"), (1, "eu")), result(target, 1, (2, "eu"))]

    assert len(owners(target, results)) == 4


def test_a_key_of_two_partitions_straddles_unless_it_is_vouched_for(tmp_path: Path) -> None:
    """A known move is a delete in one partition's task and an insert in the other's."""
    target = make_target(tmp_path, partition_by=["region"])
    results = [result(target, 0, (1, "eu")), result(target, 1, (1, "us"))]

    with pytest.raises(InvalidInputError, match=r"\(id=1\) came to several tasks"):
        owners(target, results)
    assert owners(target, results, assume_stable=True) == []


@pytest.mark.parametrize(
    ("partition_by", "key", "request_", "expected"),
    [
        ((), ("id",), WriteRequest(mode=WriteMode.UPSERT), False),
        ((), ("id",), WriteRequest(mode=WriteMode.DELETE), False),
        ((), ("id",), WriteRequest(mode=WriteMode.APPEND), False),
        ((), ("id",), WriteRequest(mode=WriteMode.OVERWRITE), True),
        ((), (), WriteRequest(mode=WriteMode.OVERWRITE), False),
        ((), ("id",), WriteRequest(mode=WriteMode.APPEND, action_column="op"), True),
        ((), ("id",), WriteRequest(mode=WriteMode.UPSERT, ordering_column="seq"), True),
        (("id",), ("id",), WriteRequest(mode=WriteMode.UPSERT), False),
        (("region",), ("id",), WriteRequest(mode=WriteMode.UPSERT), True),
        (("region",), ("id",), WriteRequest(mode=WriteMode.DELETE), False),
    ],
)
def test_who_must_own_its_keys(
    tmp_path: Path, partition_by: Any, key: Any, request_: WriteRequest, expected: bool
) -> None:
    """Where the order of events, or the partition of the old row, decides what survives."""
    target = make_target(tmp_path, partition_by=partition_by, key=key)

    assert request_.must_own_keys(target.table) == expected


def test_base_files_are_compared_too(tmp_path: Path) -> None:
    """An overwrite that nobody arranged must not double a key."""
    target = make_target(tmp_path, base_mask=0)
    row = {"id": 1, "region": "eu", "amount": 1, "note": None}
    results = [write(target, [batch([row])], mode="overwrite", partition_id=n) for n in (0, 1)]
    places = find_straddling(results, across_partitions=False)

    assert {file.kind for place in places for _, file in place.files} == {FileKind.BASE}
    with pytest.raises(InvalidInputError, match=r"\(id=1\) came to several tasks"):
        check_straddling(places, key=("id",), table_name="db.t", open_input=open_input)

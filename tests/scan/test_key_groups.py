"""In which groups the rows of a plan can be read, and which of them a file is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from arctic.errors import InternalError
from arctic.scan.key_groups import (
    KeyGroups,
    PossibleGroups,
    group_numbers,
    in_groups,
    possible_groups,
)
from arctic.scan.plan_scan import ScanPlan, plan_scan
from arctic.table.files import FileKind, Partition, TableFile
from arctic.table.table_description import PartitionField, TableDescription
from arctic.tree.node import TreeNode
from tests.factories.files import table_file
from tests.factories.scans import NO_FILES, store_files
from tests.factories.tables import columns_of, table_of

NODES = KeyGroups(function="node(long)", columns=("id",), groups=4)
BUCKETS = KeyGroups(function="bucket(long)", columns=("id",), groups=12)


def described(
    key_type: str = "long", transform: str | None = None, key: Sequence[str] = ("id",)
) -> TableDescription:
    """Return a table, in partitions by its column ``id`` or in none."""
    fields = (
        () if transform is None else (PartitionField(source_id=1, name="p", transform=transform),)
    )
    table = table_of(columns_of({"id": key_type, "v": "long"}))
    return replace(table, primary_key=tuple(key), partition_fields=fields)


def base(node: TreeNode, partition: Partition = ()) -> TableFile:
    """Return a file of a node."""
    name = f"{node.node_id}-{partition}"
    return table_file(f"/w/{name}.parquet", FileKind.BASE, node=node, partition=partition)


def planned(files: Sequence[TableFile], *, is_merged_view: bool = True) -> ScanPlan:
    """Plan a read of files without changes."""
    given = replace(NO_FILES, files=store_files(files), is_merged_view=is_merged_view)
    return plan_scan(given)


DEEP = [base(TreeNode(3, index)) for index in range(3)] + [
    base(TreeNode(7, 3)), base(TreeNode(7, 7)),
]  # fmt: skip


def test_nodes_are_groups_at_the_depth_of_the_highest_file() -> None:
    """A file of a node further up has rows of several groups."""
    sizes = (100, 100, 100, 200)
    assert possible_groups(described(), planned(DEEP)) == (
        PossibleGroups(groups=NODES, sizes_bytes=sizes),
    )
    assert possible_groups(described(), planned([base(TreeNode(0, 0)), *DEEP])) == ()
    assert group_numbers(DEEP, described(), NODES) == (0, 1, 2, 3, 3)
    assert group_numbers(DEEP, described(), replace(NODES, groups=2)) == (0, 1, 0, 1, 1)
    with pytest.raises(InternalError, match="in one of 4 groups"):
        group_numbers([base(TreeNode(1, 0))], described(), NODES)


def test_buckets_are_groups() -> None:
    """By the number of the bucket, whatever the key has beside its column; null is of the first."""
    table = described(transform="bucket[12]", key=("id", "v"))
    files = [base(TreeNode(0, 0), (number,)) for number in (0, 5, 11, None)]

    sizes = (200, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 100)
    assert possible_groups(table, planned(files)) == (
        PossibleGroups(groups=BUCKETS, sizes_bytes=sizes),
    )
    assert group_numbers(files, table, BUCKETS) == (0, 5, 11, 0)
    assert group_numbers(files, table, replace(BUCKETS, groups=4)) == (0, 1, 3, 0)
    with pytest.raises(InternalError, match="in one of 5 groups"):
        group_numbers(files, table, replace(BUCKETS, groups=5))


@pytest.mark.parametrize("key_type", ["float", "double"])
def test_floating_numbers_make_no_groups(key_type: str) -> None:
    """Zero equals its negative, and is in another node."""
    assert possible_groups(described(key_type), planned(DEEP)) == ()


def test_what_makes_no_groups() -> None:
    """Other transforms, no key, one store alone, and no file."""
    assert possible_groups(described(transform="day"), planned([base(TreeNode(0, 0), (7,))])) == ()
    assert possible_groups(described(key=()), planned(DEEP)) == ()
    assert possible_groups(described(), planned(DEEP, is_merged_view=False)) == ()
    assert possible_groups(described(), planned([])) == ()


def test_each_file_is_in_the_tasks_of_its_group() -> None:
    """There is a task group for each, also for those without a file; without any there is none."""
    files = [each for each in DEEP if each.node.index != 1]
    groups = in_groups(planned(files), described(), NODES)

    assert [
        sorted(part.file.path for task in group.tasks for part in task.data) for group in groups
    ] == [["/w/4-().parquet"], [], ["/w/6-().parquet"], ["/w/11-().parquet", "/w/15-().parquet"]]
    assert in_groups(planned([]), described(), NODES) == ()

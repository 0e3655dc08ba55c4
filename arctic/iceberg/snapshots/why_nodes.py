"""Why the nodes of a table are as deep as they are, as its metadata says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.tables.open_table import OpenTable
from arctic.scan.choose.key_filter import ANY_KEY
from arctic.scan.choose.plan_files import plan_files
from arctic.scan.depth.tree_reasons import TreeReasons, tree_reasons
from arctic.scan.explain import MAX_LINES, counted
from arctic.scan.file_order import partition_order
from arctic.scan.store_files import StoreFiles
from arctic.scan.task import FileTask
from arctic.table.files import Partition, TableFile
from arctic.table.node_trees import NodeTrees
from arctic.table.snapshot import TableSnapshot
from arctic.table.table_sizing import target_bytes


def node_reasons(
    opened: OpenTable, snapshot: TableSnapshot, files: StoreFiles
) -> Mapping[Partition, TreeReasons]:
    """Return what says of the nodes of each partition why they are there; none: they never grow.

    Args:
        opened: the table.
        snapshot: the state that the files are of.
        files: all of it.
    """
    trees = NodeTrees.of(opened.table.properties, is_keyed=opened.table.is_keyed)
    if not trees.grow:
        return {}
    planned, _ = plan_files(
        base=files.base,
        position_deletes=files.position_deletes,
        change=files.change,
        snapshot=snapshot,
        row_filter=None,
        key_filter=ANY_KEY,
    )
    data: dict[Partition, list[FileTask]] = defaultdict(list)
    deletes: dict[Partition, list[TableFile]] = defaultdict(list)
    for task in planned.data:
        data[task.file.partition].append(task)
    for delete in planned.change_deletes:
        deletes[delete.partition].append(delete)
    target = target_bytes(opened.table.properties)
    return {
        partition: tree_reasons(
            opened.partitioner.path(partition),
            trees,
            data[partition],
            deletes[partition],
            target_bytes=target,
        )
        for partition in {*data, *deletes}
    }


def explained_nodes(opened: OpenTable, snapshot: TableSnapshot) -> str:
    """Say of each partition how many nodes it has and why the fullest is as deep as it is.

    Args:
        opened: the table.
        snapshot: its newest state.

    Returns:
        Lines; empty where the number of nodes is stated, or there is no file.
    """
    files = list_files(opened, snapshot, field_ids=(), row_filter=None)
    reasons = node_reasons(opened, snapshot, files)
    if not reasons:
        return ""
    order = sorted(reasons, key=partition_order)
    lines = ["nodes of new base files"]
    for partition in order[:MAX_LINES]:
        name = f"partition {opened.partitioner.path(partition)}, " if partition else ""
        lines.append(f"  {name}{reasons[partition].of_fullest}")
    if len(order) > MAX_LINES:
        lines.append(f"  ... and {counted(len(order) - MAX_LINES, 'more partition')}")
    return "\n".join(lines)

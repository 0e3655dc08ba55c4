"""Keys whose events were spread over several tasks, found before anything is committed.

Strategy: tasks that own their keys share no node of a partition, so mostly there is nothing to
read. Where several tasks wrote to one place, the key columns of just those files are compared.

Must not know: how rows are sent to tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from arctic.columns.key_codes import factorise
from arctic.columns.row_text import key_text
from arctic.errors import InvalidInputError
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.table.files import Partition, WrittenFile
from arctic.tree.node import MAX_MASK, TreeNode
from arctic.writing.rows.key_count import repeated_key
from arctic.writing.target import TaskResult
from arctic.writing.write_request import KeyRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Straddling:
    """One place that several tasks wrote to."""

    partition: Partition | None
    """None: any, since a key may be in several."""
    node: TreeNode
    """That the nodes of the files are within."""
    files: tuple[tuple[int, WrittenFile], ...]
    """Number of the input partition, and a file it wrote; in that order."""


def find_straddling(
    results: Iterable[TaskResult], *, across_partitions: bool
) -> tuple[Straddling, ...]:
    """Return the places that several tasks wrote to.

    Args:
        results: of all tasks.
        across_partitions: whether a key can be in several partitions.
    """
    places: dict[tuple[Partition | None, TreeNode], list[tuple[int, WrittenFile]]] = {}
    ordered = sorted(results, key=lambda result: result.task.partition_id)
    # Tasks with more rows may go deeper: what can share a key meets at the shallowest mask.
    masks: dict[Partition | None, int] = {}
    for result in ordered:
        for file in result.files:
            partition = None if across_partitions else file.partition
            masks[partition] = min(file.node.mask, masks.get(partition, MAX_MASK))
    for result in ordered:
        for file in result.files:
            partition = None if across_partitions else file.partition
            place = (partition, file.node.capped(masks[partition]))
            places.setdefault(place, []).append((result.task.partition_id, file))
    return tuple(
        Straddling(partition=partition, node=node, files=tuple(files))
        for (partition, node), files in places.items()
        if len({task for task, _ in files}) > 1
    )


def check_straddling(
    places: Iterable[Straddling],
    *,
    key: Sequence[str],
    table_name: str,
    open_input: Callable[[str], Any],
    key_rule: KeyRule | None = None,
) -> None:
    """Refuse a write in which several tasks wrote one key.

    Memory: the key columns of one place.

    Args:
        places: what ``find_straddling`` returned.
        key: the key columns.
        table_name: for the message.
        open_input: opens a path for reading at any position.
        key_rule: why that is refused, if not because of their order.

    Raises:
        InvalidInputError: naming a key and the remedy.
    """
    for place in places:
        tasks, keys = [], []
        for task, file in place.files:
            with ParquetInput(file.path, open_input, Size.of(file)) as parquet:
                keys.append(parquet.read(key))
            tasks.append(np.full(keys[-1].num_rows, task, dtype=np.int64))
        every = pa.concat_tables(keys)
        row = _row_of_two_tasks(every, np.concatenate(tasks))
        if row is not None and key_rule is not None:
            raise repeated_key(key_rule, table_name, key_text(every, row, key))
        if row is not None:
            raise InvalidInputError(
                f"write to table {table_name!r}: rows with key ({key_text(every, row, key)}) came "
                "to several tasks, so their order is not known; call arctic.register(spark) to "
                f"have the frame arranged, or repartition it by {', '.join(key)} yourself"
            )


def _row_of_two_tasks(keys: pa.Table, tasks: np.ndarray) -> int | None:
    codes, count = factorise(keys)
    owner = np.empty(count, dtype=np.int64)
    owner[codes] = tasks
    others = np.flatnonzero(owner[codes] != tasks)
    return int(others[0]) if others.size else None

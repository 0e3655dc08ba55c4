"""Groups of rows that a function of the key tells: rows of equal keys are in the same one.

Two tables that are read in groups of the same function can be joined group by group. There are two
functions: the node of the tree, of the whole primary key, and the bucket of a partition field, of
its column. A file has rows of one node and one partition, so it is of one group.

Rules:
    - Equal texts of functions mean equal groups for equal keys, whichever tables they are of: the
      types of the columns are part of the text, because the hash depends on them.
    - Columns of floating numbers are left out: to Spark -0.0 and 0.0 are equal, to the hash not.

Must not know: who joins what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from arctic.errors import InternalError
from arctic.scan.divide.join import join_tasks
from arctic.scan.plan_scan import ScanPlan
from arctic.scan.task import NodeTask, NodeTaskGroup
from arctic.table.files import TableFile
from arctic.table.table_description import PartitionField, TableDescription

_BUCKET = re.compile(r"bucket\[(\d+)\]")
_UNEQUAL_HASHES = ("float", "double")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGroups:
    """Groups, numbered from 0, that a function of some columns puts rows into."""

    function: str
    """``node(long)``: of the node's index; ``bucket(long)``: of the bucket's number."""
    columns: tuple[str, ...]
    """What the function takes, in its order."""
    groups: int
    """How many there are; the remainder by any divisor of it makes fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleGroups:
    """Groups in which the rows of a plan could be read."""

    groups: KeyGroups
    sizes_bytes: tuple[int, ...]
    """Of the data files of each group."""


def possible_groups(table: TableDescription, plan: ScanPlan) -> tuple[PossibleGroups, ...]:
    """Return the groups in which the rows of a plan could be read, nodes first."""
    files = [file for tasks in _all_tasks(plan) for file in _data(tasks)]
    if not plan.is_merged_view or not files:
        return ()
    possible = []
    if table.is_keyed:
        function = _function("node", [column.type for column in table.key_columns])
        # A file of a node further up has rows of several groups.
        groups = min(file.node.mask for file in files) + 1
        if function is not None and groups > 1:
            possible.append(KeyGroups(function=function, columns=table.primary_key, groups=groups))
    for field in table.partition_fields:
        bucket = _BUCKET.fullmatch(field.transform)
        column = next(each for each in table.columns if each.field_id == field.source_id)
        function = _function("bucket", [column.type])
        # What is folded of several rows may have another value than the file that it comes from.
        stays = table.fold is None or column.name in table.primary_key
        if bucket is not None and function is not None and stays and int(bucket[1]) > 1:
            possible.append(
                KeyGroups(function=function, columns=(column.name,), groups=int(bucket[1]))
            )
    return tuple(
        PossibleGroups(groups=groups, sizes_bytes=_sizes(files, table, groups))
        for groups in possible
    )


def group_numbers(
    files: Iterable[TableFile], table: TableDescription, asked: KeyGroups
) -> tuple[int, ...]:
    """Return the group of each data file, which all of its rows are of.

    Raises:
        InternalError: a file has rows of several.
    """
    return tuple(map(_numbering(table, asked), files))


def in_groups(
    plan: ScanPlan, table: TableDescription, asked: KeyGroups
) -> tuple[NodeTaskGroup, ...]:
    """Return what must be merged of a plan, a task group for each group; nothing: no tasks at all.

    Raises:
        InternalError: a task has rows of several groups.
    """
    dealt: list[list[NodeTask]] = [[] for _ in range(asked.groups)]
    number = _numbering(table, asked)
    for task in (task for group in plan.groups for task in group.tasks):
        numbers = set(map(number, _data([task])))
        if len(numbers) > 1:
            raise InternalError(f"task of {task.node}: rows of groups {sorted(numbers)}")
        dealt[numbers.pop()].append(task)
    if not any(dealt):
        return ()
    joined = join_tasks(dealt, open_file_cost_bytes=plan.options.open_file_cost_bytes)
    return tuple(
        NodeTaskGroup(tasks=tasks, cost_bytes=sum(task.cost_bytes for task in tasks))
        for tasks in joined
    )


def _all_tasks(plan: ScanPlan) -> Iterable[Sequence[NodeTask]]:
    for group in (*plan.groups, *plan.dirty_groups, *plan.clean_groups):
        yield group.tasks


def _data(tasks: Iterable[NodeTask]) -> list[TableFile]:
    return [part.file for task in tasks for part in task.data]


def _function(name: str, types: Sequence[str]) -> str | None:
    """Return the text of a function; None: equal values of Spark's may have unequal hashes."""
    return None if set(types) & set(_UNEQUAL_HASHES) else f"{name}({', '.join(types)})"


def _sizes(
    files: Sequence[TableFile], table: TableDescription, groups: KeyGroups
) -> tuple[int, ...]:
    sizes = [0] * groups.groups
    for file, number in zip(files, group_numbers(files, table, groups), strict=True):
        sizes[number] += file.size_bytes
    return tuple(sizes)


def _numbering(table: TableDescription, asked: KeyGroups) -> Callable[[TableFile], int]:
    """Return what tells the group of a file, and raises as ``group_numbers``."""
    if asked.function.startswith("node("):
        return partial(_node_number, groups=asked.groups)
    place, field = _bucket_field(table, asked)
    buckets = _BUCKET.fullmatch(field.transform)
    if buckets is None or int(buckets[1]) % asked.groups:
        raise InternalError(
            f"table {table.name!r}: {field.transform} in one of {asked.groups} groups"
        )
    return partial(_bucket_number, place=place, groups=asked.groups)


def _node_number(file: TableFile, *, groups: int) -> int:
    if (file.node.mask + 1) % groups:
        raise InternalError(f"{file.path}: node {file.node} in one of {groups} groups")
    return file.node.index % groups


def _bucket_number(file: TableFile, *, place: int, groups: int) -> int:
    value = file.partition[place]
    return 0 if value is None else int(str(value)) % groups


def _bucket_field(table: TableDescription, asked: KeyGroups) -> tuple[int, PartitionField]:
    for place, field in enumerate(table.partition_fields):
        column = next(each for each in table.columns if each.field_id == field.source_id)
        if _BUCKET.fullmatch(field.transform) and (column.name,) == asked.columns:
            return place, field
    raise InternalError(f"table {table.name!r} has no {asked.function} of {asked.columns}")

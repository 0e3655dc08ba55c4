"""What is stored now for some keys: where their rows are, and the values that are to be kept.

A merge-on-read of the key, the partition source columns and the kept ones, over the nodes that the
keys fall into. Its cost follows the table, not the change. For rows that move between partitions,
``write.upsert.cross-partition=assume-stable`` turns it off for those who know that none does.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.columns.field_ids import known_field_id
from arctic.columns.integers.distinct import distinct
from arctic.columns.key_codes import KeyIndex
from arctic.errors import ConflictError, StorageError
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.storage.table_io import TableIO, is_file_gone
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.newest_state import on_newest_state
from arctic.job.read.asked_read import ReadSettings, cached_access
from arctic.job.read.plan_rows import merge_request, plan_rows
from arctic.job.read.read_columns import project
from arctic.job.tasks.open_ahead import opened_ahead
from arctic.mor.read import in_reading_order, read_group
from arctic.mor.request import ReadRequest
from arctic.scan.task import FileTask, NodeTask, NodeTaskGroup
from arctic.table.snapshot import TableSnapshot
from arctic.tree.hash_arrays import hash_arrays
from arctic.tree.node import TreeNode


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLocator:
    """Finds the current rows of given keys in a pinned state of the table; pickles."""

    tasks: tuple[NodeTask, ...]
    request: ReadRequest
    io: TableIO
    snapshot: TableSnapshot
    """The state that is searched."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel compressed: the paths of a large table are long and alike."""
        state = (self.tasks, self.request, self.io, self.snapshot)
        return _unpacked, (zlib.compress(pickle.dumps(state), level=1),)

    @property
    def data_paths(self) -> frozenset[str]:
        """The data files that a search looks into."""
        return frozenset(part.file.path for task in self.tasks for part in task.data)

    def without(self, paths: frozenset[str]) -> RowLocator:
        """Return a locator that leaves these data files out: they were searched before."""
        kept = []
        for task in self.tasks:
            data = tuple(part for part in task.data if part.file.path not in paths)
            if data:
                kept.append(replace(task, data=data))
        return replace(self, tasks=tuple(kept))

    def touched_since(self, before: RowLocator) -> RowLocator:
        """Return a locator of the keys that changes since another state are about.

        It finds keys only, in data files that were not searched then and in change deletes that
        did not apply then, for a base store that is the same.
        """
        known = {path for task in before.tasks for path in _paths(task)}
        tasks = []
        for task in self.tasks:
            files = (*(part.file for part in task.data), *task.change_deletes)
            new = tuple(FileTask(file=file) for file in files if file.path not in known)
            if new:
                tasks.append(replace(task, data=new, change_deletes=()))
        key = self.request.key
        return replace(self, tasks=tuple(tasks), request=replace(self.request, schema=key))

    def __call__(self, keys: pa.Table) -> pa.Table:
        """Return the columns that are looked for, of every current row with one of the keys.

        Args:
            keys: the key columns in key order; no nulls; any number of rows.

        Memory: the keys, one batch of rows, and the rows found.

        Raises:
            ConflictError: the state that is searched has expired.
        """
        try:
            return self.find(keys)
        except StorageError as error:
            if not is_file_gone(error):
                raise
            raise ConflictError(
                f"{error.message}: it held rows that this write looks for by their keys, and was "
                "replaced and expired since the write began; write again"
            ) from error

    def find(self, keys: pa.Table) -> pa.Table:
        """Do the same, and tell of a file that is gone as it is."""
        schema = self.request.schema
        if keys.num_rows == 0 or not self.tasks:
            return schema.empty_table()
        index = KeyIndex(keys)
        hashes = self._hashes(keys)
        tasks = tuple(task for task in self.tasks if _holds_any(task.node, hashes))
        found = []
        group = NodeTaskGroup(tasks=tasks, cost_bytes=sum(task.cost_bytes for task in tasks))
        with opened_ahead(self.io, in_reading_order(tasks)) as open_file:
            for batch in read_group(group, self.request, open_file) if tasks else ():
                rows, _ = index.match([batch.column(name) for name in keys.column_names])
                found.append(batch.take(pa.array(rows)))
        return pa.Table.from_batches(found, schema=schema)

    def _hashes(self, keys: pa.Table) -> npt.NDArray[np.int64]:
        """Return the hashes of keys, as far as they tell nodes apart."""
        columns = [keys.column(name) for name in keys.column_names]
        deepest = max(task.node.mask for task in self.tasks)
        return distinct(hash_arrays(columns, self.request.key_types) & deepest)


def _holds_any(node: TreeNode, hashes: npt.NDArray[np.int64]) -> bool:
    return bool(np.any((hashes & node.mask) == node.index))


def _paths(task: NodeTask) -> list[str]:
    return [file.path for file in (*(part.file for part in task.data), *task.change_deletes)]


def _unpacked(packed: bytes) -> RowLocator:
    tasks, request, io, snapshot = pickle.loads(zlib.decompress(packed))
    return RowLocator(tasks=tasks, request=request, io=io, snapshot=snapshot)


def locate_rows(
    opened: OpenTable,
    *,
    wanted: Iterable[pa.Field] = (),
    state: TableSnapshot | None = None,
) -> RowLocator:
    """Pin the table's state and plan a search for rows by their keys.

    Args:
        opened: the table, opened just now, unless ``state`` says which one is searched.
        wanted: columns beside the key and the partition source columns, found by their ids; those
            that are not there any more are left out.
        state: pinned already; None: the newest one.
    """
    table = opened.table
    sources = (column.name for column in table.partition_source_columns)
    ids = {known_field_id(field) for field in wanted}
    more = (field.name for field in opened.arrow_schema if known_field_id(field) in ids)
    names = tuple(dict.fromkeys((*table.primary_key, *sources, *more)))
    schema = project(opened.arrow_schema, names, table_name=table.name)
    settings = ReadSettings.of({}, table.properties).for_rewriting()
    plan = on_newest_state(
        opened,
        lambda opened: plan_rows(opened, state or pin(opened), settings),
    )
    return RowLocator(
        tasks=tuple(task for group in plan.groups for task in group.tasks),
        request=merge_request(opened, settings, schema=schema, row_filter=None),
        io=cached_access(opened, settings.cache),
        snapshot=plan.snapshot,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LastingLocator:
    """Finds rows where the catalog can be asked: in a newer state once the first has expired.

    The commit of the write still looks for what came after the first one, so nothing is missed.
    """

    opened: OpenTable
    first: RowLocator

    def __call__(self, keys: pa.Table) -> pa.Table:
        """Return what ``RowLocator`` does.

        Raises:
            ConflictError: every state expired while it was searched.
        """
        try:
            return self.first.find(keys)
        except StorageError as error:
            if not is_file_gone(error):
                raise
        return on_newest_state(self.opened.refreshed(), partial(self._find_newest, keys))

    def _find_newest(self, keys: pa.Table, opened: OpenTable) -> pa.Table:
        wanted = self.first.request.schema
        found = locate_rows(opened, wanted=wanted).find(keys)
        return as_begun(found, wanted, name=self.opened.table.name)


def as_begun(rows: pa.Table, schema: pa.Schema, *, name: str) -> pa.Table:
    """Return rows with the columns that a write began with: they may have other names now.

    Raises:
        ConflictError: one of them is not there any more, or has another type.
    """
    found = {known_field_id(field): place for place, field in enumerate(rows.schema)}
    columns = []
    for field in schema:
        place = found.get(known_field_id(field))
        if place is None or rows.schema.field(place).type != field.type:
            raise ConflictError(
                f"table {name!r}: column {field.name!r}, which is looked up by key, was dropped or "
                "retyped during the write; write again"
            )
        columns.append(rows.column(place))
    return pa.table(columns, schema=schema)

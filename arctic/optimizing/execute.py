"""One group of tasks, carried out: ``mor`` reads the rows, ``writing`` writes the files.

Rules:
    - A base file carries the greatest transaction of the rows in it, so that every change after
      the horizon can still delete them.
    - A group that fails removes the files it wrote; nobody refers to them yet.

Memory: the deletes of one task (``merge.max-delete-bytes``), the sort buffer, the write buffer,
and a few row groups; see ``ordered_rows``.

Must not know: catalogs, Spark.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import pyarrow as pa

from arctic.mor.request import OpenFile, ReadRequest
from arctic.mor.task_reader import LoadedTask, TaskReader
from arctic.mor.touched import Touched
from arctic.optimizing.optimize_task import OptimizeResult, OptimizeTask, OptimizeTaskGroup
from arctic.optimizing.sorting.ordered_rows import RowOrder, ordered_rows
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind, WrittenFile
from arctic.tree.node import TreeNode
from arctic.tree.node_of_keys import node_ids
from arctic.writing.files.node_files import Destination, NodeFiles
from arctic.writing.position_marks import ANY_SIZE, POSITION_DELETE_SCHEMA, marks
from arctic.writing.route import hash_keys, rows_of_each
from arctic.writing.rows.gather import take_rows
from arctic.writing.target import TaskId, WriteTarget

_RANGE_GROWTH = 1.4
"""Up to so many times a row group, what covers a range of keys becomes one row group."""
_MIN_ROW_GROUP_BYTES = 2**20
_COMPRESSION = 4
"""Arrow bytes that become about one byte of Parquet: row groups must fit into small targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeJob:
    """What every group of a run needs; pickles."""

    request: ReadRequest
    """All columns of the table."""
    target: WriteTarget
    order: RowOrder
    opening: Callable[[Sequence[NodeTask]], AbstractContextManager[OpenFile]]
    """Opens what a task reads, for as long as it reads."""

    def run(self, group: OptimizeTaskGroup) -> OptimizeResult:
        """Carry out the tasks of a group.

        Raises:
            FormatError: a file that is corrupt, or lacks what it must have.
            StorageError: a file that cannot be read or written.
        """
        started = time.monotonic()
        files: list[WrittenFile] = []
        try:
            for task in group.tasks:
                files += _Execution(self, task, group.number).run()
        except BaseException:
            self.target.delete_files([file.path for file in files])
            raise
        return OptimizeResult(
            number=group.number,
            files=tuple(files),
            rows_written=_rows(files, FileKind.BASE),
            rows_marked=_rows(files, FileKind.POS_DELETE),
            seconds=time.monotonic() - started,
        )


class _Execution:
    """One task being carried out."""

    def __init__(self, job: OptimizeJob, task: OptimizeTask, number: int) -> None:
        self._job = job
        self._task = task
        self._base_target = _sized(job.target, task.target_bytes)
        # One file for each data file, however many rows of it are deleted.
        self._delete_target = _sized(job.target, ANY_SIZE)
        # Random for each task: tasks of one group may write to the same node.
        self._id = TaskId(partition_id=number, task_id=number, operation_id=secrets.randbits(63))

    def run(self) -> tuple[WrittenFile, ...]:
        """Return the finished files."""
        task = self._task
        request = replace(self._job.request, row_filter=task.row_range)
        node_task = NodeTask(
            partition=task.partition,
            node=task.node,
            data=(*task.rewrite, *task.mark),
            change_deletes=task.change_deletes,
            rivals=task.rivals,
            folds=request.fold is not None,
            cost_bytes=task.cost_bytes,
        )
        with self._job.opening([node_task]) as open_file:
            reader = TaskReader([node_task], request, open_file, Touched())
            return self._merged(reader.load(node_task))

    def _merged(self, loaded: LoadedTask) -> tuple[WrittenFile, ...]:
        task = self._task
        rewritten = self._written(
            task.rewrite, FileKind.BASE, self._base_target, self._rewritten(loaded)
        )
        try:
            marked = self._written(
                task.mark, FileKind.POS_DELETE, self._delete_target, self._marked(loaded)
            )
        except BaseException:
            self._base_target.delete_files([file.path for file in rewritten])
            raise
        return (*rewritten, *marked)

    def _written(
        self,
        sources: tuple[FileTask, ...],
        kind: FileKind,
        target: WriteTarget,
        rows: Iterator[tuple[Destination, pa.Table]],
    ) -> tuple[WrittenFile, ...]:
        if not sources:
            return ()
        schema = target.schema if kind is FileKind.BASE else POSITION_DELETE_SCHEMA
        files = NodeFiles(
            target,
            self._id,
            schemas={kind: schema},
            transaction_id=max(source.file.transaction_id for source in sources),
        )
        try:
            for destination, table in rows:
                files.add(destination, table)
            finished = files.close()
        except BaseException:
            files.abort()
            raise
        order_id = self._job.order.order_id if kind is FileKind.BASE else None
        return tuple(replace(file, sort_order_id=order_id) for file in finished)

    def _rewritten(self, loaded: LoadedTask) -> Iterator[tuple[Destination, pa.Table]]:
        max_range_bytes = int(_RANGE_GROWTH * self._base_target.options.row_group_bytes)
        for rows in ordered_rows(
            loaded, self._task.rewrite, self._job.order, max_range_bytes=max_range_bytes
        ):
            yield from self._placed(rows)

    def _placed(self, rows: pa.Table) -> Iterator[tuple[Destination, pa.Table]]:
        """Send rows to the nodes of base files."""
        nodes = self._task.base_nodes
        if len(nodes) == 1:
            yield self._destination(nodes[0]), rows
            return
        if rows.num_rows:
            places = node_ids(hash_keys(rows, self._base_target), nodes)
            for node, found in rows_of_each(places):
                yield self._destination(node), take_rows(rows, found)

    def _destination(self, node_id: int) -> Destination:
        node = TreeNode.from_id(node_id)
        return Destination(partition=self._task.partition, node=node, kind=FileKind.BASE)

    def _marked(self, loaded: LoadedTask) -> Iterator[tuple[Destination, pa.Table]]:
        for file_task in self._task.mark:
            with loaded.open(file_task) as data:
                yield from marks(file_task.file, data.deleted_rows())


def _sized(target: WriteTarget, file_bytes: int) -> WriteTarget:
    """Return a target whose files are closed at a size, with row groups that fit into them."""
    row_group_bytes = max(
        _MIN_ROW_GROUP_BYTES, min(target.options.row_group_bytes, _COMPRESSION * file_bytes)
    )
    options = replace(target.options, target_file_bytes=file_bytes, row_group_bytes=row_group_bytes)
    return replace(target, options=options)


def _rows(files: list[WrittenFile], kind: FileKind) -> int:
    return sum(file.record_count for file in files if file.kind is kind)

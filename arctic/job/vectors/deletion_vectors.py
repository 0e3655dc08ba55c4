"""Which rows of a table's data files are dead: looked up in tasks, and remembered.

Strategy: a row dies iff some delete kills it, so what was found out for some deletes stays true
when more come, and only those are looked up. A reader who comes back after an upsert pays for the
upsert.

Rules:
    - What is remembered of a file holds for exactly the deletes that were looked up in it. It is
      used where they are among those that count now, and forgotten where they are not, as after a
      rollback.

Memory: a bit for each row of the files that are remembered, and the paths of their deletes, up to
``REMEMBERED_BYTES``; while deletes are looked up, those of a task up to ``merge.max-delete-bytes``,
in this process in ``THREADS`` threads; what is looked up in this process, ``kept_keys`` keeps too.

Must not know: Spark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from arctic.columns.integers.row_set import RowSet
from arctic.errors import InternalError
from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import LocalRunner, Task, TaskRunner
from arctic.job.vectors.vector_work import VectorWork, look_up
from arctic.last_used import LastUsed
from arctic.options import default_parallelism
from arctic.scan.divide.split import balanced_runs
from arctic.scan.reach import least_deadly_transaction
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import Partition, TableFile
from arctic.tree.node import TreeNode

REMEMBERED_BYTES = 128 * 2**20
"""What is known of files that were not asked for the longest time is forgotten first."""
THREADS = 4
FEW_ROWS = 16 * 2**20
FEW_DELETES = 2 * 2**20
"""Up to so many rows, and so many deletes to look up in them, are looked up in this process, in
``THREADS`` threads. That takes a second; to have tasks for it planned and begun takes as long."""
ONE_PIECE_ROWS = 2**16
"""So many rows, with the deletes, are looked up one node after the other, in some milliseconds:
each thread would open the deletes anew that several nodes share."""
TASKS_PER_CORE = 2
"""More of them balance better."""
_FILE_BYTES, _DELETE_BYTES = 1_000, 200
"""What a remembered file takes beside its bits, and each of its deletes."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What has been found out about a file."""

    dead: RowSet
    deletes: frozenset[str]
    """Those that were looked up in it."""

    @property
    def memory_bytes(self) -> int:
        """About what it takes, with the texts of paths."""
        return self.dead.nbytes + _FILE_BYTES + _DELETE_BYTES * len(self.deletes)


class DeletionVectors:
    """Answers, and remembers; may be asked by several threads."""

    def __init__(self, max_bytes: int = REMEMBERED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._remembered: LastUsed[tuple[str, int], _Known] = LastUsed()

    def dead_rows(self, work: VectorWork, runner: TaskRunner) -> list[RowSet]:
        """Return the dead rows of each file, in the order of ``work.files``.

        Args:
            work: the files and their deletes.
            runner: looks up what is too much for this process.

        Raises:
            FormatError: a file that is corrupt, or has another number of rows than is listed.
            StorageError: a file that is missing or cannot be fetched.
        """
        wanted = _asked(work)
        known = [self._recall(asked) for asked in wanted]
        return self._looked_up(work, wanted, known, _missing(wanted, known), runner)

    def _looked_up(
        self,
        work: VectorWork,
        wanted: Sequence[_Asked],
        known: Sequence[_Known | None],
        missing: Sequence[NodeTask],
        runner: TaskRunner,
    ) -> list[RowSet]:
        """Look up what is missing, remember it, and return the dead rows of each file."""
        threads = min(THREADS, default_parallelism())
        tasks = _balanced(missing, threads)
        if _are_few(tasks):
            runner = LocalRunner(threads)
            comes_back = work.comes_back or any(known)
            work = replace(work, request=replace(work.request, keeps_keys=comes_back))
        else:
            at_a_time = runner.parallelism
            tasks = _balanced(missing, at_a_time * TASKS_PER_CORE if at_a_time > 1 else 1)
        pieces = [replace(work, tasks=piece) for piece in _pieces(tasks)]
        answers = runner.run(
            look_up,
            [Task(value=piece, rows=_data_rows(piece.tasks)) for piece in pieces],
            title="looking up deleted keys",
            progress=SilentProgress(),
        )
        found = {
            _identity(file): dead
            for piece, answer in zip(pieces, answers, strict=True)
            for file, dead in zip(piece.files, answer, strict=True)
        }
        now = [
            _together(asked, before, found.get(asked.identity))
            for asked, before in zip(wanted, known, strict=True)
        ]
        self._remember(wanted, now)
        return [each.dead for each in now]

    def known_rows(self, work: VectorWork) -> list[RowSet | None]:
        """Return the dead rows of each file; None: some delete was not looked up in it yet."""
        wanted = _asked(work)
        return _complete(wanted, [self._recall(asked) for asked in wanted])

    def prepare(self, work: VectorWork) -> None:
        """Look up and remember what ``dead_rows`` would look up in this process.

        Raises:
            ArcticError: as ``dead_rows``.
        """
        wanted = _asked(work)
        known = [self._recall(asked) for asked in wanted]
        missing = _missing(wanted, known)
        if _are_few(missing):
            self._looked_up(work, wanted, known, missing, LocalRunner(1))

    def _recall(self, asked: _Asked) -> _Known | None:
        known = self._remembered.get(asked.identity)
        return known if known is not None and known.deletes <= asked.deletes else None

    def _remember(self, wanted: Sequence[_Asked], now: Sequence[_Known]) -> None:
        for asked, known in zip(wanted, now, strict=True):
            self._remembered.put(
                asked.identity, known, weight=known.memory_bytes, most=self._max_bytes
            )


@dataclass(frozen=True, slots=True)
class _Asked:
    """A file whose dead rows are wanted."""

    part: FileTask
    task: NodeTask
    deletes: frozenset[str]
    """Paths of all that can touch it."""

    @property
    def identity(self) -> tuple[str, int]:
        """What a deletion vector is of: the same file may come to stand after more changes."""
        return _identity(self.part.file)


def _identity(file: TableFile) -> tuple[str, int]:
    return file.path, file.transaction_id


def _asked(work: VectorWork) -> list[_Asked]:
    asked, request = [], work.request
    is_ordered = len(request.ordering) > 0
    for task in work.tasks:
        of_all = frozenset([delete.path for delete in task.change_deletes])
        oldest = min([delete.transaction_id for delete in task.change_deletes], default=0)
        for part in task.data:
            of_it = [delete.path for delete in part.position_deletes]
            since = least_deadly_transaction(part.file, request.engine, is_ordered=is_ordered)
            # A new file would have all older deletes looked up in every file of its node.
            deadly = (
                of_all
                if since <= oldest
                else frozenset(
                    [each.path for each in task.change_deletes if each.transaction_id >= since]
                )
            )
            asked.append(_Asked(part, task, deadly.union(of_it) if of_it else deadly))
    return asked


def _missing(wanted: Sequence[_Asked], known: Sequence[_Known | None]) -> list[NodeTask]:
    """Return tasks of the files in which some delete was not looked up, one for each node.

    They have the deletes that are missing for any of their files, and the rivals of all, read once
    for all of them: one that cannot touch a file kills none of its rows.
    """
    data: dict[tuple[Partition, TreeNode], list[FileTask]] = {}
    deletes: dict[tuple[Partition, TreeNode], dict[str, TableFile]] = {}
    rivals: dict[tuple[Partition, TreeNode], dict[str, FileTask]] = {}
    tasks: dict[tuple[Partition, TreeNode], NodeTask] = {}
    for asked, before in zip(wanted, known, strict=True):
        done: frozenset[str] = frozenset() if before is None else before.deletes
        if before is None or done != asked.deletes:
            node = asked.task.partition, asked.task.node
            tasks.setdefault(node, asked.task)
            data.setdefault(node, []).append(_without(asked.part, done))
            outdoing = rivals.setdefault(node, {})
            outdoing.update({rival.file.path: rival for rival in asked.task.rivals})
            missing = deletes.setdefault(node, {})
            for delete in asked.task.change_deletes:
                if delete.path in asked.deletes and delete.path not in done:
                    missing[delete.path] = delete
    return [
        replace(
            task,
            data=tuple(data[node]),
            change_deletes=tuple(deletes[node].values()),
            rivals=tuple(rivals[node].values()),
        )
        for node, task in tasks.items()
    ]


def _complete(wanted: Sequence[_Asked], known: Sequence[_Known | None]) -> list[RowSet | None]:
    """Return the dead rows of the files in which every delete was looked up."""
    return [
        found.dead if found is not None and found.deletes == asked.deletes else None
        for asked, found in zip(wanted, known, strict=True)
    ]


def _without(part: FileTask, done: frozenset[str]) -> FileTask:
    left = tuple([delete for delete in part.position_deletes if delete.path not in done])
    return replace(part, position_deletes=left)


def _balanced(tasks: Sequence[NodeTask], count: int) -> list[NodeTask]:
    """Cut tasks with many rows into runs of files, about ``count`` in all.

    Each run reads the deletes of the task again, so it is never cut to fewer rows than they have.
    """
    share = max(1, math.ceil(_data_rows(tasks) / count))
    return [
        replace(task, data=task.data[start:stop])
        for task in tasks
        for start, stop in balanced_runs(
            [part.file.record_count for part in task.data],
            min(
                len(task.data),
                max(1, _data_rows([task]) // max(share, 1 + _delete_rows([task]))),
            ),
        )
    ]


def _pieces(tasks: Sequence[NodeTask]) -> list[tuple[NodeTask, ...]]:
    if tasks and _data_rows(tasks) + _delete_rows(tasks) <= ONE_PIECE_ROWS:
        return [tuple(tasks)]
    return [(task,) for task in tasks]


def _are_few(tasks: Sequence[NodeTask]) -> bool:
    return _data_rows(tasks) <= FEW_ROWS and _delete_rows(tasks) <= FEW_DELETES


def _data_rows(tasks: Sequence[NodeTask]) -> int:
    return sum(part.file.record_count for task in tasks for part in task.data)


def _delete_rows(tasks: Sequence[NodeTask]) -> int:
    return sum(delete.record_count for task in tasks for delete in task.change_deletes)


def _together(asked: _Asked, before: _Known | None, found: RowSet | None) -> _Known:
    if found is None:
        if before is None:
            raise InternalError(f"file {asked.part.file.path!r}: its deletes were not looked up")
        return before
    return _Known(found if before is None else before.dead | found, asked.deletes)

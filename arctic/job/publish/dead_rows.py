"""The dead rows of each file of a merged view, looked up only where they may have changed.

Strategy: a row dies iff some delete kills it. What was published of a file holds for the deletes
that could touch it then; where those are all among the ones of now, only the others are looked up,
and the rows that were dead stay dead.

Rules:
    - Where a delete of then is gone, as after a merge or a restore, the file is looked up anew; so
      is one with other rivals, in a table with ordering columns.
    - Where the deletes of then are among those of now, as many dead rows are the same rows; else
      they are compared one by one.

Memory: two bits for each row of the files that are looked up, and the deletes of a task up to
``merge.max-delete-bytes``; beside, what ``kept_masks`` keeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arctic.columns.integers.row_set import RowSet
from arctic.iceberg.publishing.shown_files import Mask, Shown, ShownFile
from arctic.iceberg.publishing.vector_files import vector_rows
from arctic.job.publish.kept_masks import KEPT_MASKS
from arctic.job.publish.merged_view import View, ViewedFile
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.job.vectors.deletion_vectors import DeletionVectors
from arctic.job.vectors.vector_work import VectorWork
from arctic.mor.deletes.position_deletes import PositionDeletes
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind, TableFile

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What a publish does about one file of the view."""

    viewed: ViewedFile
    dead: Rows | None
    """Its dead rows, ascending; None: it is to be shown as it is shown now."""
    bits: RowSet | None = None
    """The same as a set, of a file that was looked up."""
    is_gone: bool
    """No row of it is left."""


def changes(
    view: View, before: View | None, shown: Shown, work: VectorWork, runner: TaskRunner
) -> Iterator[FileChange]:
    """Yield what becomes of each file of a view.

    Args:
        view: of the state that is to be shown.
        before: of the state that is shown now; None: nobody can tell, so nothing is built upon.
        shown: the published table.
        work: how files are looked up; its tasks are not.
        runner: looks them up.

    Raises:
        FormatError: a file that is corrupt, or has another number of rows than is listed.
        StorageError: a file that is missing or cannot be fetched.
    """
    wanted: list[NodeTask] = []
    asked: list[tuple[ViewedFile, ShownFile | None, bool, RowSet | None]] = []
    for path, viewed in view.items():
        then = None if before is None else before.get(path)
        knows = then is not None and _is_more(viewed, then)
        present = None if before is None else shown.of(path)
        if not viewed.deletes:
            yield FileChange(viewed=viewed, dead=np.zeros(0, np.int64), is_gone=False)
        elif knows and present is None:
            yield FileChange(viewed=viewed, dead=None, is_gone=True)
        elif knows and then is not None and then.deletes == viewed.deletes:
            yield FileChange(viewed=viewed, dead=None, is_gone=False)
        else:
            # Held from here on: what is kept may be forgotten at any moment.
            masked = _known_rows(viewed, present, work) if knows else None
            wanted.append(_task(viewed, then if knows else None, present, masked))
            asked.append((viewed, present, knows, masked))
    if not wanted:
        return
    found = DeletionVectors().dead_rows(replace(work, tasks=tuple(wanted)), runner)
    for (viewed, present, knows, masked), new in zip(asked, found, strict=True):
        dead = new if masked is None else new | masked
        rows = np.flatnonzero(dead.slice(0, viewed.file.record_count))
        alive = viewed.file.record_count - len(rows)
        is_same = (
            present is not None
            and present.rows == alive
            and (knows or _are_masked(rows, viewed, present, work))
        )
        yield FileChange(
            viewed=viewed, dead=None if is_same else rows, bits=dead, is_gone=not alive
        )


def _is_more(now: ViewedFile, then: ViewedFile) -> bool:
    """Say whether every row of a file that was dead then still is."""
    return (
        then.deletes <= now.deletes
        # Keys of deletes that were looked up are not held against rivals that came since.
        and then.rivals == now.rivals
        and then.file.transaction_id == now.file.transaction_id
    )


def _task(
    viewed: ViewedFile, then: ViewedFile | None, present: ShownFile | None, known: RowSet | None
) -> NodeTask:
    """Return a task of one file, with the deletes that its dead rows are not known of yet.

    What was dead when it was shown last is in its mask; of a copy nobody knows which rows it lacks.
    """
    done: frozenset[str] = frozenset()
    masked: tuple[TableFile, ...] = ()
    if then is not None and present is not None:
        if present.mask is not None:
            done = then.deletes
            if known is None:  # else its rows are added afterwards
                masked = (_as_delete(viewed, present.mask),)
        elif present.rows == viewed.file.record_count:
            done = then.deletes
    positions = [each for each in viewed.part.position_deletes if each.path not in done]
    deletes = [each for each in viewed.task.change_deletes if each.path not in done]
    part = replace(viewed.part, position_deletes=(*positions, *masked))
    return replace(viewed.task, data=(part,), change_deletes=tuple(deletes))


def _are_masked(rows: Rows, viewed: ViewedFile, present: ShownFile, work: VectorWork) -> bool:
    """Say whether exactly these rows are in the mask of a file."""
    if present.mask is None:
        return not len(rows)
    if present.mask.vector is not None:
        return np.array_equal(rows, vector_rows(work.io, present.mask.path, present.mask.vector))
    delete = _as_delete(viewed, present.mask)
    part = FileTask(file=viewed.file, position_deletes=(delete,))
    task = replace(viewed.task, data=(part,), change_deletes=())
    deletes = PositionDeletes([task], work.request, work.io.open_input)
    return np.array_equal(rows, deletes.rows(viewed.file.path, [delete]))


def _known_rows(viewed: ViewedFile, present: ShownFile | None, work: VectorWork) -> RowSet | None:
    """Return the rows of a mask that no task is to read; None: a task is, or there is no mask."""
    mask = None if present is None else present.mask
    if mask is None:
        return None
    kept = KEPT_MASKS.rows(mask.path)
    if kept is None and mask.vector is not None:
        kept = RowSet(viewed.file.record_count)
        kept.add(vector_rows(work.io, mask.path, mask.vector))
    return kept


def _as_delete(viewed: ViewedFile, mask: Mask) -> TableFile:
    file = viewed.file
    return TableFile(
        path=mask.path,
        kind=FileKind.POS_DELETE,
        node=file.node,
        partition=file.partition,
        transaction_id=file.transaction_id,
        sequence_number=file.sequence_number,
        size_bytes=mask.size_bytes,
        record_count=mask.record_count,
        referenced_path=file.path,
    )

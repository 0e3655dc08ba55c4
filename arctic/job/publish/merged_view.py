"""The merged view of a state as files: the data files it is made of, and what can touch each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from arctic.errors import UnsupportedError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.asked_read import ReadSettings
from arctic.job.read.plan_rows import plan_rows
from arctic.scan.plan_scan import ScanPlan
from arctic.scan.reach import FileRanges
from arctic.scan.rivals import rivals_of
from arctic.scan.scan_input import SetApart
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import TableFile
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewedFile:
    """A data file of the view."""

    part: FileTask
    task: NodeTask
    """What it is looked up with: its change deletes and rivals are in it."""
    deletes: frozenset[str]
    """Paths of every delete file that can touch it; empty: all its rows are in the view."""
    rivals: frozenset[tuple[str, ...]]
    """Where rows of a key are held against one another: paths of what is merged and can outdo a row
    of it, each with those of its own position deletes. A row that these remove outdoes nothing."""

    @property
    def file(self) -> TableFile:
        """The file itself."""
        return self.part.file


View = dict[str, ViewedFile]
"""By path, in planning order."""


def merged_view(opened: OpenTable, state: TableSnapshot, settings: ReadSettings) -> View:
    """List what the merged view of a state is made of; no data file is opened.

    Raises:
        UnsupportedError: content that would be read wrongly.
        NotFoundError: the state has expired.
        StorageError: a manifest cannot be read.
    """
    division = replace(settings.division, vector_min_rows=1)
    plan = plan_rows(
        opened,
        state,
        replace(settings, division=division),
        set_apart=SetApart.CLEAN_AND_DIRTY,
    )
    ranges = FileRanges(
        tuple(column.field_id for column in opened.table.key_columns),
        tuple(column.field_id for column in opened.table.order_columns),
        opened.table.merge_engine,
    )
    view: View = {}
    for task in _tasks(plan):
        if task.folds:
            raise UnsupportedError(
                f"table {opened.table.name!r} has changes that are not merged, whose rows are in "
                f"no file with the merge engine {opened.table.merge_engine.value!r}; call "
                f"arctic.optimize({opened.table.name!r}, type='minor') before it is published"
            )
        of_all = frozenset(delete.path for delete in task.change_deletes)
        for part in task.data:
            of_it = frozenset(delete.path for delete in part.position_deletes)
            # Only its own: then a late row beside it is no reason to look it up anew.
            rivals = rivals_of([part.file], task.rivals, ranges)
            view[part.file.path] = ViewedFile(
                part=part,
                task=replace(task, rivals=rivals),
                deletes=of_all | of_it,
                rivals=frozenset(
                    (rival.file.path, *(delete.path for delete in rival.position_deletes))
                    for rival in rivals
                ),
            )
    return view


def _tasks(plan: ScanPlan) -> Iterator[NodeTask]:
    """Yield tasks with every data file of a plan once."""
    yield from plan.dirty_tasks
    for group in (*plan.groups, *plan.clean_groups):
        yield from group.tasks

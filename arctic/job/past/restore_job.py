"""Bringing an earlier state of a table back, both stores as one.

Strategy: base begins again with the files of its earlier snapshot, and the changes that lay on it
then are merged first, as a minor run of optimizing would. What is committed is one snapshot of
base, after which every change up to now counts as merged. The change store is only read.

Rules:
    - A restore replaces what was committed before it began; changes that are committed meanwhile
      stay on top. Where keys can move between partitions, it is carried out again instead.
    - Files of an attempt that lost its commit are deleted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    StorageError,
    UnsupportedError,
)
from arctic.iceberg.commits.commit_restore import commit_restore
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.ordered_table import refuse_ordered
from arctic.job.past_state import PastState
from arctic.job.tasks.progress import default_progress
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.optimize_job import run_plan
from arctic.job.upkeep.survey import survey_state
from arctic.optimizing.optimize_task import OptimizeResult
from arctic.optimizing.planning.plan_run import OptimizePlan, plan_optimize
from arctic.optimizing.settings import OptimizeType
from arctic.retry import WHERE_OUTRUN
from arctic.table.commit_plan import RestoreBase
from arctic.table.property_names import VIEW
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """What one restore did."""

    table: str
    snapshot_id: int | None
    """The one base snapshot it made; None: the table was in that state."""
    base_snapshot_id: int | None
    """The snapshots of the state that came back; None: the store had none."""
    change_snapshot_id: int | None
    files_written: int
    """Files of changes that were merged for it; everything else is there by reference."""
    seconds: float

    def __str__(self) -> str:
        """Return a line for a terminal."""
        state = f"base snapshot {self.base_snapshot_id}, change snapshot {self.change_snapshot_id}"
        if self.snapshot_id is None:
            return f"{self.table}: is at {state} already"
        return (
            f"{self.table}: restored {state} in {self.seconds:.1f} s; "
            f"{self.files_written:,} files were written; snapshot {self.snapshot_id}"
        )


def restore_table(asked: AskedOptimize, moment: PastState, *, runner: TaskRunner) -> RestoreReport:
    """Let an earlier state be the newest one.

    Args:
        asked: the table.
        moment: the state.
        runner: where changes are merged that lay on its base snapshot.

    Raises:
        NotFoundError: an unknown table, or a state that is unknown or has expired.
        UnsupportedError: content that would be read wrongly.
        ConflictError: other writers won every attempt; nothing was restored.
        CommitStateUnknownError: the catalog did not answer; the files stay.
    """
    started = time.monotonic()
    for _ in WHERE_OUTRUN.tries():
        opened = asked.reference.open(for_writing=True)
        refuse_ordered(opened.table, "restore")
        _refuse_view(opened)
        now = pin(opened)
        then = moment.pinned(opened)
        try:
            snapshot_id, files = _restored(opened, asked, now, then, runner)
        except (ConflictError, StorageError) as error:
            if isinstance(error, StorageError) and not is_file_gone(error):
                raise
            outrun = error
        else:
            return RestoreReport(
                table=opened.table.name,
                snapshot_id=snapshot_id,
                base_snapshot_id=then.base_snapshot_id,
                change_snapshot_id=then.change_snapshot_id,
                files_written=files,
                seconds=time.monotonic() - started,
            )
    raise ConflictError(
        f"table {opened.table.name!r}: other commits won {WHERE_OUTRUN.most_tries} attempts to "
        f"restore an earlier state; restore it again ({outrun.message})"
    ) from outrun


def _refuse_view(opened: OpenTable) -> None:
    """Refuse a view: its places in its sources would stay, and the rows go back without them."""
    if VIEW in opened.base.properties:
        raise UnsupportedError(
            f"restore of view {opened.table.name!r}: its rows follow from its sources; restore "
            "these, then arctic.refresh(view, full=True)"
        )


def _restored(
    opened: OpenTable,
    asked: AskedOptimize,
    now: TableSnapshot,
    then: TableSnapshot,
    runner: TaskRunner,
) -> tuple[int | None, int]:
    if _ids(now) == _ids(then):
        return None, 0
    plan, results = _merge(opened, asked, then, runner)
    files = tuple(file for result in results for file in result.files)
    table = opened.table
    present = list_files(opened, now, field_ids=(), row_filter=None)
    restore = RestoreBase(
        base_snapshot_id=then.base_snapshot_id,
        files=files,
        removed_paths=frozenset[str]().union(*(each.removed_paths for each in plan.partitions)),
        change_sequence_number=now.change_sequence_number if table.is_keyed else None,
        must_be_newest_change=table.is_keyed and not table.partition_follows_key,
        change_partitions=frozenset(file.partition for file in present.change),
    )
    try:
        commit = commit_restore(opened, restore)
    except CommitStateUnknownError:
        raise
    except ArcticError:
        opened.io.delete_quietly([file.path for file in files])
        raise
    return None if commit is None else commit.snapshot_id, len(files)


def _merge(
    opened: OpenTable, asked: AskedOptimize, then: TableSnapshot, runner: TaskRunner
) -> tuple[OptimizePlan, Sequence[OptimizeResult]]:
    """Merge the changes that lay on the earlier base snapshot; nobody refers to the files yet."""
    settings = replace(asked.settings(opened), max_change_files=sys.maxsize)
    survey = survey_state(opened, asked, then, settings)
    plan = plan_optimize(
        [
            (files, OptimizeType.MINOR)
            for files in survey.partitions
            if files.inserts or files.change_deletes
        ],
        table=opened.table,
        settings=settings,
        parallelism=runner.parallelism,
        sort_column=survey.sort_column,
    )
    return plan, run_plan(survey, plan, asked, runner=runner, progress=default_progress())


def _ids(state: TableSnapshot) -> tuple[int | None, int | None]:
    return state.base_snapshot_id, state.change_snapshot_id

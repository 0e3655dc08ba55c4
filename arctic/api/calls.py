"""One call of a user, as the options of the job that carries it out.

Both forms of a verb end here: the function that names its table, and the method of a ``Table``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.iceberg.snapshots.why_nodes import explained_nodes
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.changes.asked_changes import AskedChanges, range_options
from arctic.job.changes.change_scan import begin_changes
from arctic.job.nudge import tell_read
from arctic.job.past.restore_job import RestoreReport, restore_table
from arctic.job.past_state import Moment, PastState, is_whole, moment_options
from arctic.job.read.aggregate_job import count_rows
from arctic.job.read.analyze import analyze as touched_by
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import ScanJob, scan_opened
from arctic.job.reference import as_names
from arctic.job.tasks.progress import default_progress
from arctic.job.tasks.run_tasks import LocalRunner, TaskRunner
from arctic.job.upkeep.asked_upkeep import AskedExpire, AskedOptimize
from arctic.job.upkeep.expire_job import delete_orphans, expire_table
from arctic.job.upkeep.optimize_job import optimize_table
from arctic.job.upkeep.survey import table_status
from arctic.optimizing.report import OptimizeReport, TableStatus
from arctic.scan.explain import explain_plan
from arctic.table.expire_report import ExpireReport

Version = int | str
"""A number as ``Table.versions`` lists them, the name of a tag, or the id of a snapshot."""


def joined(base: Mapping[str, str], options: Mapping[str, str] | None) -> dict[str, str]:
    """Join the arguments of a call with its options, which must not say the same again."""
    for name in options or {}:
        if name.lower() in base:
            raise InvalidInputError(
                f"option {name} beside the argument that says it; expected one of them"
            )
    return {**base, **(options or {})}


def mode_option(mode: str | None) -> dict[str, str]:
    """Return the argument of a write as an option; None: the table decides."""
    return {} if mode is None else {opt.WRITE_MODE.name: mode}


def past_options(as_of: Moment | None, version: Version | None) -> dict[str, str]:
    """Return the options that say the same as the arguments that name a state of the past."""
    past = moment_options("as_of", as_of, opt.SNAPSHOT_ID, opt.AS_OF_TIMESTAMP)
    return past if version is None else {**past, opt.VERSION.name: str(version)}


def past_state(as_of: Moment | None, version: Version | None) -> PastState:
    """Return the state that two arguments name; the newest one if they name none."""
    return PastState.of(past_options(as_of, version))


def restore(
    base: Mapping[str, str],
    *,
    version: Version | None = None,
    as_of: Moment | None = None,
    runner: TaskRunner | None = None,
) -> RestoreReport:
    """Bring an earlier state back."""
    if (version is None) == (as_of is None):
        raise InvalidInputError(
            "restore: expected either a version or a time, which say what comes back"
        )
    return restore_table(
        AskedOptimize.of(base),
        past_state(as_of, version),
        runner=runner or LocalRunner.of_this_machine(),
    )


def scan(
    base: Mapping[str, str],
    *,
    columns: str | Sequence[str] | None = None,
    filter: Any = None,
    as_of: Moment | None = None,
    version: Version | None = None,
    options: Mapping[str, str] | None = None,
) -> ScanJob:
    """Plan a read."""
    asked = _asked(base, as_of, version, options)
    return _scan(asked.reference.open(), asked, columns=columns, filter=filter)


def _asked(
    base: Mapping[str, str],
    as_of: Moment | None,
    version: Version | None,
    options: Mapping[str, str] | None,
) -> AskedRead:
    return AskedRead.of(joined({**base, **past_options(as_of, version)}, options))


def _scan(
    opened: OpenTable, asked: AskedRead, *, columns: str | Sequence[str] | None, filter: Any
) -> ScanJob:
    row_filter = None if filter is None else parse_filter(filter, opened)
    reference = asked.reference
    if row_filter is not None and reference.metadata_table is not None:
        raise InvalidInputError(
            f"a filter on metadata table '{reference.identifier}.{reference.metadata_table}'; "
            "filter its rows instead"
        )
    return scan_opened(
        opened,
        asked,
        columns=None if columns is None else as_names(columns),
        row_filter=row_filter,
    )


def read_rows(
    base: Mapping[str, str], *, limit: int | None = None, **arguments: Any
) -> pa.RecordBatchReader:
    """Begin to read rows."""
    if limit is not None and not (is_whole(limit) and limit >= 0):
        raise InvalidInputError(f"limit = {limit!r}: expected a whole number, 0 or more")
    job = scan(base, **arguments)
    tell_read(job.plan)
    return reader(job, limit=limit)


def head(base: Mapping[str, str], rows: int, **arguments: Any) -> pa.Table:
    """Read the first rows that come, and no more than they take."""
    return read_rows(base, limit=rows, **arguments).read_all()


def count(
    base: Mapping[str, str],
    *,
    filter: Any = None,
    as_of: Moment | None = None,
    version: Version | None = None,
    options: Mapping[str, str] | None = None,
) -> int:
    """Count rows: from metadata where that is exact, else by a read of one column."""
    asked = _asked(base, as_of, version, options)
    opened = asked.reference.whole().open()
    known = None if filter is not None else count_rows(opened, asked)
    if known is not None:
        return known
    column = next(iter(opened.table.primary_key), opened.table.columns[0].name)
    job = _scan(asked.reference.open(), asked, columns=column, filter=filter)
    tell_read(job.plan)
    return sum(batch.num_rows for batch in job.batches())


def changes(
    base: Mapping[str, str],
    *,
    start: Moment | None = None,
    end: Moment | None = None,
    columns: str | Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> pa.RecordBatchReader:
    """Begin to read changes."""
    given = joined({**base, **range_options(start=start, end=end)}, options)
    wanted = None if columns is None else as_names(columns)
    return reader(begin_changes(AskedChanges.of(given), columns=wanted))


def reader(job: ScanJob, *, limit: int | None = None) -> pa.RecordBatchReader:
    """Return the rows of a read, up to a limit, as a stream of one batch at least."""
    return pa.RecordBatchReader.from_batches(job.schema, _stream(job, limit))


def _stream(job: ScanJob, limit: int | None) -> Iterator[pa.RecordBatch]:
    rows = 0
    if limit != 0:
        for batch in job.batches(wants_all=limit is None):
            part = batch if limit is None else batch.slice(0, limit - rows)
            rows += part.num_rows
            yield part
            if rows == limit:
                break
    if not rows:
        # Polars knows no columns of a stream without a batch.
        yield pa.RecordBatch.from_pylist([], schema=job.schema)


def explain_read(
    base: Mapping[str, str],
    *,
    columns: str | Sequence[str] | None = None,
    filter: Any = None,
    as_of: Moment | None = None,
    version: Version | None = None,
    options: Mapping[str, str] | None = None,
    verbose: bool = False,
    analyze: bool = False,
) -> str:
    """Return the plan of a read as text; of one of all rows, also why the nodes are as they are."""
    asked = _asked(base, as_of, version, options)
    opened = asked.reference.open()
    job = _scan(opened, asked, columns=columns, filter=filter)
    if job.plan is None:
        raise InvalidInputError(
            f"metadata table {base['path']!r} has no plan; name the table itself"
        )
    parts = [explain_plan(job.plan, verbose=verbose)]
    is_whole_now = filter is None and job.plan.is_merged_view and asked.state == PastState()
    if is_whole_now and (why := explained_nodes(opened, job.plan.snapshot)):
        parts.append(why)
    if analyze:
        parts.append(touched_by(job))
    return "\n\n".join(parts)


def run_optimize(
    base: Mapping[str, str],
    *,
    type: str | None = None,
    where: Any = None,
    options: Mapping[str, str] | None = None,
    runner: TaskRunner | None = None,
) -> OptimizeReport:
    """Optimize a table."""
    return optimize_table(
        AskedOptimize.of(joined(base, options)),
        type=type,
        where=where,
        runner=runner or LocalRunner.of_this_machine(),
        progress=default_progress(),
    )


def status_of(
    base: Mapping[str, str], *, where: Any = None, options: Mapping[str, str] | None = None
) -> TableStatus:
    """Say what is due."""
    return table_status(AskedOptimize.of(joined(base, options)), where=where)


def run_expire(
    base: Mapping[str, str],
    *,
    dry_run: bool = False,
    options: Mapping[str, str] | None = None,
) -> ExpireReport:
    """Remove what is no longer needed."""
    return expire_table(AskedExpire.of(joined(base, options)), dry_run=dry_run)


def clean_orphans(
    base: Mapping[str, str],
    *,
    dry_run: bool = False,
    options: Mapping[str, str] | None = None,
) -> ExpireReport:
    """Delete files that nothing refers to."""
    return delete_orphans(AskedExpire.of(joined(base, options)), dry_run=dry_run)

"""A view of days: what its statement returned at the end of each day, in UTC.

Rules:
    - The number of a refresh is that of its day since 1970, so a day is in the view once, whoever
      takes it again.
    - Sources are read as of the end of the day by the times of their commits, all at one moment.
    - The view is a consumer at the end of its last day: expiry leaves what the next days need.
"""

from __future__ import annotations

import time
from dataclasses import replace

from arctic.errors import NotFoundError
from arctic.job.reference import TableReference
from arctic.job.views.commit_view import Written, commit_view
from arctic.job.views.source_rows import hold_sources
from arctic.job.views.view_columns import columns_read
from arctic.job.views.view_plan import ViewPlan, whole_rows
from arctic.job.views.view_state import Standing
from arctic.job.views.workspace import Workspace
from arctic.views.days_over import DAY_MS, due_days


def take_days(
    reference: TableReference,
    space: Workspace,
    plan: ViewPlan,
    standing: Standing,
    *,
    leaves_out: bool,
) -> Written:
    """Add the days that are over, each in a commit of its own.

    Args:
        reference: the view.
        space: an empty workspace.
        plan: of the view.
        standing: where the view is.
        leaves_out: days of which nobody knows any more how the sources were.

    Raises:
        NotFoundError: nobody knows how a source was at the end of a day.
        ConflictError: another refresh took it meanwhile.
    """
    now_ms = time.time_ns() // 1_000_000
    sources, name = plan.sources, reference.identifier
    written = Written(snapshot_id=None, upserts=0, deletes=0)
    for day in due_days(standing.number, now_ms):
        try:
            states = {of: each.as_of((day + 1) * DAY_MS - 1) for of, each in sources.items()}
        except NotFoundError as error:
            if standing.number >= 0 and not leaves_out:
                raise NotFoundError(
                    f"view {name!r}: how a source was at the end of {_date(day)} is not known any "
                    f"more; full=True leaves such days out ({error.message})"
                ) from error
            rows = plan.schema.empty_table().to_reader()
            ends = {of: each.stretch(None).end for of, each in sources.items()}
        else:
            jobs = {
                of: each.rows_of(states[of], each.named_in(plan.definition.sql))
                for of, each in sources.items()
            }
            rows = whole_rows(space, plan, jobs, f"DATE '1970-01-01' + {day}")
            ends = {of: each.place_of(states[of]) for of, each in sources.items()}
        batch = replace(standing, number=day - 1).next(ends, columns_read(plan), now_ms=now_ms)
        done = commit_view(reference, rows, plan.schema, batch=batch, mode="append")
        hold_sources(name, sources, ends)
        standing = replace(standing, number=day)
        upserts = written.upserts + done.upserts
        written = Written(snapshot_id=done.snapshot_id, upserts=upserts, deletes=0)
    return written


def _date(day: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(day * DAY_MS // 1000))

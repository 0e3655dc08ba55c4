"""One refresh of a view: from where its sources stood last time to where they stand now.

Rules:
    - The view's rows and where it stands are read of one state of its table, and the commit is
      refused where that is no longer the newest refresh: a refresh that died leaves no trace, and
      the next one begins where the last one that committed ended.
    - One that finds nothing new commits nothing, but for the sake of what it holds of its sources:
      else that would go once the view had not moved for long.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from arctic.iceberg.tables.evolve_schema import evolve_schema
from arctic.job.reference import TableReference
from arctic.job.views.commit_view import Written, commit_view
from arctic.job.views.kept.fresh_rows import all_rows, changed_rows
from arctic.job.views.refresh_input import RefreshInput
from arctic.job.views.refresh_report import RefreshReport
from arctic.job.views.source_rows import Stretch, hold_sources, open_sources, rest_long
from arctic.job.views.take_days import take_days
from arctic.job.views.view_columns import columns_read, fitted_columns, rows_hold
from arctic.job.views.view_plan import ViewPlan, plan_view, whole_rows
from arctic.job.views.view_state import Standing
from arctic.job.views.workspace import Workspace, workspace
from arctic.table.streams.stream_batch import StreamBatch
from arctic.views.view_definition import DAYS, HISTORY, ViewDefinition


def refresh_view(reference: TableReference, *, is_full: bool) -> RefreshReport:
    """Bring a view up to date with its sources.

    Args:
        reference: the view.
        is_full: compute all rows anew, whatever changed.

    Raises:
        InvalidInputError: the table is no view, or its sources have other columns now.
        NotFoundError: a source is gone, or what came to it since the last refresh.
        ConflictError: another refresh came first.
        UnsupportedError: content of a source that would be read wrongly.
    """
    began = time.monotonic()
    view = reference.open()
    definition = ViewDefinition.told(view.base.properties, reference.identifier)
    sources = open_sources(reference, definition)
    plan = plan_view(definition, sources)
    change = fitted_columns(view, plan)
    if change is not None:
        # The sources were opened after the view, and must be in the next try as well.
        evolve_schema(reference.config, reference.identifier, change)
        return refresh_view(reference, is_full=is_full)
    standing, columns = Standing.of(view), columns_read(plan)
    if definition.kind == DAYS:
        with workspace() as space:
            written = take_days(reference, space, plan, standing, leaves_out=is_full)
        return _report(reference, written, began, is_full=True)
    holds = rows_hold(plan, standing.columns, columns)
    is_full = is_full or definition.is_whole or standing.number < 0 or not holds
    stretches = {
        name: each.stretch(None if is_full else standing.positions.get(name))
        for name, each in sources.items()
    }
    is_full = is_full or any(each.start is None for each in stretches.values())
    ends = {name: each.end for name, each in stretches.items()}
    is_empty = not is_full and all(each.is_empty for each in stretches.values())
    if is_empty and not rest_long(view.table.name, sources):
        written = Written(snapshot_id=None, upserts=0, deletes=0)
        return _report(reference, written, began, is_full=False)
    if definition.kind == HISTORY:
        standing = replace(standing, raised=standing.raised_for(ends))
    batch = standing.next(ends, columns, now_ms=time.time_ns() // 1_000_000)
    if definition.is_whole or standing.number < 0:
        # What comes while it is filled is of the next refresh.
        hold_sources(view.table.name, sources, ends)
    with workspace() as space:
        if definition.is_whole:
            written = _replace(space, plan, stretches, reference, batch)
        else:
            given = RefreshInput(
                space=space,
                plan=plan,
                view=view,
                reference=reference,
                stretches=stretches,
                raised=standing.raised,
            )
            rows = space.batches(all_rows(given) if is_full else changed_rows(given))
            written = commit_view(reference, rows, view.arrow_schema, batch=batch, mode="upsert")
            hold_sources(view.table.name, sources, ends)
    return _report(reference, written, began, is_full=is_full)


def _report(
    reference: TableReference, written: Written, began: float, *, is_full: bool
) -> RefreshReport:
    return RefreshReport(
        view=reference.identifier,
        is_full=is_full,
        upserts=written.upserts,
        deletes=written.deletes,
        snapshot_id=written.snapshot_id,
        seconds=time.monotonic() - began,
    )


def _replace(
    space: Workspace,
    plan: ViewPlan,
    stretches: Mapping[str, Stretch],
    reference: TableReference,
    batch: StreamBatch,
) -> Written:
    """Write all rows of a view that is never kept from changes."""
    jobs = {
        name: each.rows(stretches[name].end, each.named_in(plan.definition.sql))
        for name, each in plan.sources.items()
    }
    rows = whole_rows(space, plan, jobs)
    return commit_view(reference, rows, plan.schema, batch=batch, mode="overwrite")

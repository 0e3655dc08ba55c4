"""Everything that the page of one table shows, of one pinned state of it."""

from __future__ import annotations

import time
from dataclasses import replace

from arctic import options as opt
from arctic.iceberg.commits.commit_notes import watermark_properties, watermarks
from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.iceberg.snapshots.inspect import metadata_table
from arctic.iceberg.snapshots.schema_versions import schema_versions
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.newest_state import on_newest_state
from arctic.job.read.asked_read import ReadSettings
from arctic.job.read.plan_rows import plan_rows
from arctic.job.reference import Catalog, call_options
from arctic.job.upkeep.asked_upkeep import AskedExpire, AskedOptimize
from arctic.job.upkeep.expire_job import expire_table
from arctic.job.upkeep.survey import Survey, partition_status, survey_table
from arctic.optimizing.planning.evaluate import least_files
from arctic.optimizing.report import TableStatus
from arctic.page.facts.table_facts import TableFacts
from arctic.page.gather.gather_choices import gather_choices
from arctic.page.gather.gather_commits import (
    commit_times,
    gather_commits,
    gather_freshness,
    gather_runs,
)
from arctic.page.gather.gather_nodes import gather_nodes, unmerged_sequences
from arctic.page.gather.gather_read import gather_read
from arctic.page.gather.gather_settings import PartitionFacts, gather_settings
from arctic.scan.plan_scan import ScanPlan
from arctic.service.watching.wishes import Wishes
from arctic.table.property_names import BASE_WATERMARK


def gather_table(
    identifier: str,
    *,
    row_filter: str | None = None,
    with_cleaning: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> TableFacts:
    """Look at a table; nothing is changed.

    Args:
        identifier: ``namespace.table``.
        row_filter: of the read that is planned; None: a read of all rows.
        with_cleaning: find what a cleaning would remove, which lists the table's folders.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a filter or a property that cannot be understood.
        ArcticError: a table that cannot be read; see ``arctic.status`` and ``arctic.explain``.
    """
    options = call_options(identifier, warehouse, catalog)
    cleaning = AskedExpire.of(options) if with_cleaning else None
    return gather_asked(AskedOptimize.of(options), row_filter=row_filter, cleaning=cleaning)


def gather_asked(
    asked: AskedOptimize, *, row_filter: str | None, cleaning: AskedExpire | None
) -> TableFacts:
    """Look at a table; as ``gather_table``, with a cleaning where one is asked for."""

    def look(_: OpenTable) -> TableFacts:
        return _facts(survey_table(asked, None, for_writing=False), row_filter)

    facts = on_newest_state(asked.reference.open(), look)
    if cleaning is None:
        return facts
    return replace(facts, cleaning=expire_table(cleaning, dry_run=True))


def _facts(survey: Survey, row_filter: str | None) -> TableFacts:
    opened, table = survey.opened, survey.opened.table
    statuses = tuple(partition_status(files, survey) for files in survey.partitions)
    snapshots = metadata_table(opened, survey.snapshot, "snapshots").to_pylist()
    files = metadata_table(opened, survey.snapshot, "files").to_pylist()
    commits, times = gather_commits(snapshots), commit_times(snapshots)
    reasons = {opened.partitioner.path(each): grown.why for each, grown in survey.growth.items()}
    nodes = tuple(gather_nodes(files, times, reasons))
    wishes = Wishes.of(table.properties)
    return TableFacts(
        name=table.name,
        at_ms=time.time_ns() // 1_000_000,
        primary_key=table.primary_key,
        partition_by=opened.partitioner.texts,
        status=TableStatus(table=table.name, partitions=statuses),
        group=wishes.group,
        quota=wishes.terms.quota,
        nodes=nodes,
        freshness=gather_freshness(
            commits,
            unmerged_sequences(files),
            times,
            watermarks(opened),
            base_watermark_ms=_base_watermark_ms(opened),
        ),
        commits=commits,
        read=gather_read(_plan(survey, row_filter)),
        choices=gather_choices(survey, statuses, parallelism=opt.default_parallelism()),
        runs=gather_runs(snapshots),
        schemas=schema_versions(opened),
        settings=gather_settings(
            table.properties,
            survey.settings,
            nodes,
            [
                PartitionFacts(
                    nodes=len(files.tree.leaves),
                    minor_files=least_files(
                        status.health, survey.settings, is_keyed=table.is_keyed
                    ),
                )
                for files, status in zip(survey.partitions, statuses, strict=True)
            ],
            is_keyed=table.is_keyed,
        ),
        cleaning=None,
    )


def _plan(survey: Survey, row_filter: str | None) -> ScanPlan:
    opened = survey.opened
    return plan_rows(
        opened,
        survey.snapshot,
        ReadSettings.of({}, opened.table.properties),
        row_filter=None if row_filter is None else parse_filter(row_filter, opened),
    )


def _base_watermark_ms(opened: OpenTable) -> int | None:
    text = watermark_properties(opened).get(BASE_WATERMARK)
    return None if text is None else int(text)

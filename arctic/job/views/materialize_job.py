"""A view made: checked against its sources, its table created, filled by its first refresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arctic.errors import InvalidInputError
from arctic.iceberg.tables.create_table import create_table
from arctic.job.reference import TableReference
from arctic.job.views.refresh_job import refresh_view
from arctic.job.views.refresh_report import RefreshReport
from arctic.job.views.source_rows import SourceTable
from arctic.job.views.view_plan import check_lasting, plan_view
from arctic.job.views.workspace import workspace
from arctic.views.parse_view import without_stars
from arctic.views.sql_tree import source_names
from arctic.views.view_definition import ViewDefinition


def materialize_view(
    sql: str,
    into: TableReference,
    *,
    is_whole: bool,
    partition_by: Sequence[str],
    properties: Mapping[str, str],
    exist_ok: bool,
) -> RefreshReport:
    """Make a view and fill it.

    Args:
        sql: what it is of.
        into: its table.
        is_whole: every refresh computes all rows anew.
        partition_by: of its table.
        properties: of its table.
        exist_ok: a view of the same name and statement is refreshed instead.

    Raises:
        AlreadyExistsError: the name is taken.
        InvalidInputError: a statement that cannot be evaluated.
        NotFoundError: a source, or a column that no source has.
        UnsupportedError: a view that cannot be kept from changes, with the reason.
    """
    names = source_names(sql)
    if into.identifier in names:
        raise InvalidInputError(f"view {into.identifier!r} is among its own sources")
    sources = {each: SourceTable(into, each) for each in names}
    if not is_whole:
        sql = without_stars(sql, {name: each.source for name, each in sources.items()})
    definition = ViewDefinition(sql=sql, is_whole=is_whole, sources=names)
    with workspace() as space:
        plan = plan_view(definition, sources, space)
        check_lasting(definition, space)
    made = create_table(
        into.config,
        into.identifier,
        plan.schema,
        primary_key=plan.key,
        partition_by=partition_by,
        properties=properties,
        own_properties=definition.properties,
        exist_ok=exist_ok,
    )
    if ViewDefinition.told(made.base.properties, into.identifier) != definition:
        raise InvalidInputError(
            f"view {into.identifier!r} is there already, with another statement; drop it first"
        )
    return refresh_view(into, is_full=False)

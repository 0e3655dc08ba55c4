"""A view made: checked against its sources, its table created, filled by its first refresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.change_store import HalfMadeError
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.reference import TableReference
from arctic.job.views.refresh_job import refresh_view
from arctic.job.views.refresh_report import RefreshReport
from arctic.job.views.source_rows import open_sources
from arctic.job.views.view_plan import check_lasting, plan_view
from arctic.job.views.workspace import workspace
from arctic.table.property_names import VIEW
from arctic.views.parse_view import without_stars
from arctic.views.sql_tree import source_names
from arctic.views.view_definition import DAYS, KINDS, ROWS, ViewDefinition
from arctic.views.view_query import DAY


def materialize_view(
    sql: str,
    into: TableReference,
    *,
    kind: str,
    is_whole: bool,
    partition_by: Sequence[str],
    properties: Mapping[str, str],
    exist_ok: bool,
) -> RefreshReport:
    """Make a view and fill it.

    Args:
        sql: what it is of.
        into: its table.
        kind: what it keeps, of ``KINDS``.
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
    _check_kind(kind, is_whole=is_whole)
    names = source_names(sql)
    if into.identifier in names:
        raise InvalidInputError(f"view {into.identifier!r} is among its own sources")
    is_whole = is_whole or kind == DAYS
    definition = ViewDefinition(sql=sql, is_whole=is_whole, sources=names, kind=kind)
    sources = open_sources(into, definition)
    if not is_whole:
        known = {name: each.source for name, each in sources.items()}
        definition = replace(definition, sql=without_stars(sql, known))
    if exist_ok and _is_there(into, definition):
        return refresh_view(into, is_full=False)
    plan = plan_view(definition, sources)
    with workspace() as space:
        check_lasting(definition, space)
    made = create_table(
        into.config,
        into.identifier,
        plan.schema,
        primary_key=plan.key,
        partition_by=(DAY, *partition_by) if kind == DAYS else partition_by,
        properties=properties,
        own_properties=definition.properties,
        exist_ok=exist_ok,
    )
    _check_same(made, definition)
    return refresh_view(into, is_full=False)


def _check_kind(kind: str, *, is_whole: bool) -> None:
    if kind not in KINDS:
        raise InvalidInputError(f"view: kind {kind!r}: expected one of {', '.join(KINDS)}")
    if is_whole and kind != ROWS:
        raise InvalidInputError(
            f"view: kind {kind!r} with full=True: what was cannot be computed anew; leave full out"
        )


def _is_there(into: TableReference, definition: ViewDefinition) -> bool:
    """Say whether a view is there; its columns may have been made for others of its sources.

    One whose creation was interrupted is not there, and is completed.
    """
    try:
        opened = into.open(suggests=False)
    except NotFoundError:
        return False
    except HalfMadeError as error:
        is_view = VIEW in error.properties
        if not is_view or ViewDefinition.told(error.properties, into.identifier) != definition:
            raise
        return False
    _check_same(opened, definition)
    return True


def _check_same(opened: OpenTable, definition: ViewDefinition) -> None:
    name = opened.table.name
    if ViewDefinition.told(opened.base.properties, name) != definition:
        raise InvalidInputError(
            f"view {name!r} is there already, with another statement; drop it first"
        )

"""Views that stay fresh: a statement kept in a table, brought up from changes of its sources.

Apart from the other verbs, because only these read SQL with the extra ``views``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from arctic.job.reference import Catalog, as_names, call_options, table_reference
from arctic.job.views import list_views as listing
from arctic.job.views.materialize_job import materialize_view
from arctic.job.views.refresh_job import refresh_view
from arctic.job.views.refresh_report import RefreshReport


def materialize(
    sql: str,
    into: str,
    *,
    kind: str = "rows",
    full: bool = False,
    partition_by: str | Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    exist_ok: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> RefreshReport:
    """Make a view: a table of what a statement returns, which ``refresh`` brings up to date.

    Args:
        sql: one SELECT of DuckDB's SQL over tables of the catalog, ``namespace.table``: columns and
            conditions of one table with a primary key, GROUP BY of any table, or a join of two by
            the whole primary key of one of them.
        into: ``namespace.table``, which is created.
        kind: ``rows``: the rows of the statement; ``scd2``: every version that each of them had,
            with the time in which it held; ``daily``: the rows at the end of each day.
        full: compute all rows anew at every refresh. Any statement will do then, and the table
            has no primary key.
        partition_by: of the table, as ``create_table`` takes it.
        properties: of the table.
        exist_ok: refresh the view where it is there already, of the same statement.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: 1 GiB and a few row groups of each source; beyond that, a temporary folder. The values
    of the groups that changed are held besides.

    Raises:
        AlreadyExistsError: the name is taken.
        InvalidInputError: a statement that cannot be evaluated.
        NotFoundError: an unknown table or column.
        UnsupportedError: a view that cannot be kept from changes, with the reason.
    """
    return materialize_view(
        sql,
        table_reference(call_options(into, warehouse, catalog)),
        kind=kind,
        is_whole=full,
        partition_by=as_names(partition_by),
        properties=properties or {},
        exist_ok=exist_ok,
    )


def refresh(
    view: str,
    *,
    full: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> RefreshReport:
    """Bring a view up to its sources, from what has changed in them since the last refresh.

    The new rows, and how far each source was read, are one commit: a refresh that fails leaves the
    view as it was, and the next one begins where the last one ended.

    Args:
        view: ``namespace.table``, as ``materialize`` made it.
        full: compute all rows anew, and write those that differ. A history (``scd2``) gets all that
            changed since its last refresh as one change; days (``daily``) whose state has expired
            are left out.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        InvalidInputError: the table is no view, or its sources have other columns now.
        NotFoundError: a source, or what came to it since the last refresh, is gone.
        ConflictError: another refresh came first; call again.
    """
    reference = table_reference(call_options(view, warehouse, catalog))
    return refresh_view(reference, is_full=full)


def list_views(*, warehouse: str | None = None, catalog: Catalog | None = None) -> pa.Table:
    """List the views of a catalog with each of their sources, and how far they are behind.

    Args:
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Returns:
        ``view``, ``source``, ``refreshed_at`` (when a refresh last took something from the source),
        ``commits_behind``, ``rows_behind``, ``behind`` (how old the oldest of these commits is),
        ``refreshes_every`` (by a service) and ``statement``, sorted.
    """
    return listing.list_views(call_options(None, warehouse, catalog))

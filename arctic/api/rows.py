"""The verbs that read and write rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from arctic.api import calls
from arctic.api.calls import Version, WriteReport
from arctic.job.changes.asked_changes import Moment
from arctic.job.reference import Catalog, call_options


def read(
    identifier: str,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Any = None,
    as_of: Moment | None = None,
    version: Version | None = None,
    limit: int | None = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> pa.RecordBatchReader:
    """Read the current rows as a stream of Arrow batches.

    Args:
        identifier: ``namespace.table``, or ``namespace.table.snapshots`` and the like.
        columns: columns to read, in this order; all if None.
        filter: rows to keep, as ``"amount > 10 and region = 'eu'"``, or an expression of pyarrow or
            PyIceberg.
        as_of: read the past: the id of a snapshot of either store, or a time with a zone, as a
            ``datetime`` or a text such as ``"2024-02-29T12:00:00Z"``.
        version: read the past by a number of ``Table.versions``, or by the name of a tag.
        limit: rows to read at most, whichever they are; the rest is not read.
        options: read options, such as ``{"snapshot-id": "..."}``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: one row group of a data file, and the deletes of one node task up to
    ``merge.max-delete-bytes``; all that for each core of ``parallelism``, but at most four times.

    Raises:
        NotFoundError: no such table, column or snapshot.
        InvalidInputError: a filter or option that cannot be understood.
        UnsupportedError: content that would be read wrongly.
    """
    base = call_options(identifier, warehouse, catalog)
    return calls.read(
        base,
        columns=columns,
        filter=filter,
        as_of=as_of,
        version=version,
        limit=limit,
        options=options,
    )


def read_changes(
    identifier: str,
    *,
    start: Moment | None = None,
    end: Moment | None = None,
    columns: str | Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> pa.RecordBatchReader:
    """Read what changed between two moments, as a stream of Arrow batches.

    The columns are those of the table, then ``_transaction_id``, ``_file_offset`` and
    ``_change_action``: ``+I``, ``-U``, ``+U`` or ``-D``. The events of one key come in their order.

    Args:
        identifier: ``namespace.table``.
        start: exclusive; a snapshot id of the change store, or a time with a zone, as a
            ``datetime`` or a text. None: the rows that are there now come first, each as ``+I``,
            then the changes that they lack.
        end: inclusive, as ``start``; None: now.
        columns: columns to read, in this order; all if None.
        options: such as ``{"streaming-skip-overwrite-snapshots": "true"}``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: small files of one commit and node up to 64 MiB, a run of row groups of each larger one.

    Raises:
        NotFoundError: no such table, column or snapshot, or history that has expired.
        InvalidInputError: a range or option that cannot be understood.
        UnsupportedError: rows were replaced in between, and no change says so.
    """
    base = call_options(identifier, warehouse, catalog)
    return calls.changes(base, start=start, end=end, columns=columns, options=options)


def write(
    identifier: str,
    data: Any,
    *,
    mode: str | None = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> WriteReport:
    """Write rows in one snapshot.

    Args:
        identifier: ``namespace.table``.
        data: a ``pyarrow`` table, batch or batch reader, or anything with the Arrow C stream
            interface (Polars, DuckDB, pandas).
        mode: ``upsert``, ``append``, ``delete`` or ``overwrite``; None: ``upsert`` on a table with
            a key, ``append`` on one without. For a new table only: ``error``, which refuses one
            that is there, and ``ignore``, which does nothing then.
        options: write options, such as ``{"ordering-column": "updated_at"}``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: a bounded chunk of rows and two row groups for each core; the whole input where it must
    be ordered first (an ordering column, an overwrite of a keyed table, keys that may change their
    partition).

    Raises:
        AlreadyExistsError: a table that is there, with mode ``error``.
        InvalidInputError: columns, types, keys or options that do not fit; nothing is committed.
        ConflictError: other writers won every retry.
        CommitStateUnknownError: the catalog did not answer; look before writing again.
    """
    base = {**call_options(identifier, warehouse, catalog), **calls.mode_option(mode)}
    return calls.write(data, calls.joined(base, options))


def explain(
    identifier: str,
    *,
    columns: str | Sequence[str] | None = None,
    filter: Any = None,
    as_of: Moment | None = None,
    version: Version | None = None,
    options: Mapping[str, str] | None = None,
    verbose: bool = False,
    analyze: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> str:
    """Return the plan of a read as text: nodes, files, deletes, groups, and what was left out.

    The same table state and options give the same text. Arguments are those of ``read``; with
    ``verbose`` every file is listed, however many there are; with ``analyze`` the read is carried
    out here, and the text ends with the files and row groups that it touched.
    """
    base = call_options(identifier, warehouse, catalog)
    return calls.explain(
        base,
        verbose=verbose,
        analyze=analyze,
        columns=columns,
        filter=filter,
        as_of=as_of,
        version=version,
        options=options,
    )

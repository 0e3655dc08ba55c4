"""The verbs that read and write rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from arctic.api import calls
from arctic.api.calls import Version
from arctic.api.write_data import WriteReport, write_data
from arctic.job.past_state import Moment
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
        as_of: the state to read: the id of a snapshot of either store, or a time with a zone, as a
            ``datetime`` or a text such as ``"2024-02-29T12:00:00Z"``; None: the newest.
        version: the state to read: a number of ``Table.versions``, or the name of a tag.
        limit: the most rows to return, in no particular order; None: all. What lies beyond is not
            read.
        options: read options, such as ``{"snapshot-id": "..."}``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: one row group of a data file, and the deletes of one node task up to
    ``merge.max-delete-bytes``. Up to ``parallelism`` groups are read at a time, never more than
    four, and each needs as much.

    Raises:
        NotFoundError: no such table, column or snapshot.
        InvalidInputError: a filter or option that cannot be understood.
        UnsupportedError: content that would be read wrongly.
    """
    base = call_options(identifier, warehouse, catalog)
    return calls.read_rows(
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
        start: the moment after which changes count: a snapshot id of the change store, or a time
            with a zone, as a ``datetime`` or a text; exclusive. None: first the rows that are there
            now, each as ``+I``, then the changes that they do not contain yet.
        end: the last moment whose changes count, written as ``start``; inclusive. None: now.
        columns: columns to read, in this order; all if None.
        options: options of changes, such as ``{"streaming-skip-overwrite-snapshots": "true"}``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: up to 64 MiB for the small files of one commit and node, and a few row groups of each
    larger file.

    Raises:
        NotFoundError: no such table, column or snapshot, or history that has expired.
        InvalidInputError: a range or option that cannot be understood.
        UnsupportedError: an overwrite in the range replaced rows, which no change records.
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
            a key, ``append`` on one without. ``error`` and ``ignore`` write new tables only: where
            the table exists, ``error`` raises, and ``ignore`` does nothing.
        options: write options, such as ``{"ordering-column": "updated_at"}``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: a bounded chunk of rows and two row groups for each core; the whole input where it must
    be ordered first (an ordering column, an overwrite of a keyed table, keys that may change their
    partition).

    Raises:
        AlreadyExistsError: the table exists, and the mode is ``error``.
        InvalidInputError: columns, types, keys or options that do not fit; nothing is committed.
        ConflictError: other writers won every retry.
        CommitStateUnknownError: the catalog did not answer; look before writing again.
    """
    base = {**call_options(identifier, warehouse, catalog), **calls.mode_option(mode)}
    return write_data(data, calls.joined(base, options))


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

    The same state of the table and the same options give the same text. Arguments are those of
    ``read``, and:

    Args:
        identifier: ``namespace.table``; metadata tables have no plan.
        columns: as in ``read``.
        filter: as in ``read``.
        as_of: as in ``read``.
        version: as in ``read``.
        options: as in ``read``.
        verbose: list every file, however many there are.
        analyze: carry the read out, and add which files and row groups it touched.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        InvalidInputError: a metadata table, or a filter or option that cannot be understood.
        NotFoundError: no such table, column or snapshot.
    """
    base = call_options(identifier, warehouse, catalog)
    return calls.explain_read(
        base,
        verbose=verbose,
        analyze=analyze,
        columns=columns,
        filter=filter,
        as_of=as_of,
        version=version,
        options=options,
    )

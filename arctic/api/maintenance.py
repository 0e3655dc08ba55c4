"""The verbs that keep a table fast and small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arctic.api import calls
from arctic.job.reference import Catalog, call_options, table_reference
from arctic.job.upkeep.writers import retire_writer as retire
from arctic.job.upkeep.writers import writer_watermarks
from arctic.optimizing.report import TableStatus
from arctic.table.expire_report import ExpireReport


def status(
    identifier: str,
    *,
    where: Any = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> TableStatus:
    """Report for each partition what it consists of, and which kind of optimizing is due, if any.

    Nothing is changed.

    Args:
        identifier: ``namespace.table``.
        where: only the partitions that can hold such rows, as ``"day = '2026-01-31'"``.
        options: ``self-optimizing.*``, for this look.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a filter or option that cannot be understood.
    """
    base = call_options(identifier, warehouse, catalog)
    return calls.status_of(base, where=where, options=options)


def expire(
    identifier: str,
    *,
    dry_run: bool = False,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> ExpireReport:
    """Delete what nobody needs any more: merged changes, old snapshots, unreferenced files.

    Current rows stay as they are; ``docs/cleaning.md`` says how much of the past can be read
    afterwards. A run that was interrupted is finished by the next one.

    Args:
        identifier: ``namespace.table``.
        dry_run: change nothing; report what would be deleted, and why.
        options: such as ``{"snapshot.keep.duration": "1d"}``; they win over the table's properties.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: a path for each file that the snapshots of the table refer to.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: an option that cannot be understood, or a table whose property
            ``gc.enabled`` forbids it.
        ConflictError: other writers won every retry; expire again.
        CommitStateUnknownError: the catalog did not answer; expire again, nothing is lost.
    """
    base = call_options(identifier, warehouse, catalog)
    return calls.run_expire(base, dry_run=dry_run, options=options)


def watermarks(
    identifier: str, *, warehouse: str | None = None, catalog: Catalog | None = None
) -> dict[str, int]:
    """Return the watermark of each named writer: how far event time has come in what it wrote.

    The least of them is the watermark of the table, its property ``watermark.table``.

    Args:
        identifier: ``namespace.table``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Returns:
        Name of the writer -> milliseconds since 1970-01-01 UTC, sorted by name.

    Raises:
        NotFoundError: no such table.
    """
    return writer_watermarks(table_reference(call_options(identifier, warehouse, catalog)))


def retire_writer(
    identifier: str,
    writer: str,
    *,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> dict[str, int]:
    """Take a writer out of the table's watermark, so that the table no longer waits for it.

    A writer that writes again counts again. Its rows and the number of its last batch stay.

    Args:
        identifier: ``namespace.table``.
        writer: its name in ``watermarks``: a ``writer-id``, or the id of a stream.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Returns:
        The watermarks of the other writers, as ``watermarks`` does.

    Raises:
        NotFoundError: no such table, or no watermark of such a writer.
        ConflictError: other commits won every retry; retire it again.
    """
    return retire(table_reference(call_options(identifier, warehouse, catalog)), writer)

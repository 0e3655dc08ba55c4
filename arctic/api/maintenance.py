"""The verbs that keep a table fast and small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arctic.api import calls
from arctic.job.reference import Catalog, call_options, table_reference
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.job.upkeep.writers import retire_writer as retire
from arctic.job.upkeep.writers import writer_watermarks
from arctic.optimizing.report import OptimizeReport, TableStatus
from arctic.table.expire_report import ExpireReport


def optimize(
    identifier: str,
    *,
    type: str | None = None,
    where: Any = None,
    options: Mapping[str, str] | None = None,
    runner: TaskRunner | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> OptimizeReport:
    """Optimize as ``arctic.optimize`` does, wherever a runner takes the tasks.

    Arguments are those of ``arctic.optimize``; without ``runner`` tasks are threads.

    Memory, for each task that runs: the deletes of one node (``merge.max-delete-bytes``), the sort
    buffer (``self-optimizing.sort-buffer-bytes``), the write buffer and some row groups.
    """
    base = call_options(identifier, warehouse, catalog)
    return calls.optimize(base, type=type, where=where, options=options, runner=runner)


def status(
    identifier: str,
    *,
    where: Any = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> TableStatus:
    """Say what a table consists of, how far it is from ideal, and what is due; changes nothing.

    Arguments are those of ``optimize``.
    """
    return calls.status(call_options(identifier, warehouse, catalog), where=where, options=options)


def expire(
    identifier: str,
    *,
    dry_run: bool = False,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> ExpireReport:
    """Remove what is no longer needed: merged changes, old snapshots, files of nobody.

    Rows never change. What can still be read of the past afterwards is in ``docs/cleaning.md``.
    A run that was interrupted is finished by the next one.

    Args:
        identifier: ``namespace.table``.
        dry_run: change nothing, only report what would go and why.
        options: such as ``{"snapshot.keep.duration": "1d"}``; else the table's properties count.
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
    return calls.expire(base, dry_run=dry_run, options=options)


def watermarks(
    identifier: str, *, warehouse: str | None = None, catalog: Catalog | None = None
) -> dict[str, int]:
    """Return how far event time has come with each writer that has a name.

    Milliseconds since 1970-01-01 UTC. The least of them is the table's, which its properties show
    as ``watermark.table``.

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
    """Let the table's watermark no longer wait for a writer; return those of the others.

    A writer that writes again counts again. What it wrote stays, and so does the number of its
    last batch.

    Args:
        identifier: ``namespace.table``.
        writer: as ``watermarks`` names it: its ``writer-id``, or the id of a stream.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table, or no watermark of such a writer.
        ConflictError: other commits won every retry; retire it again.
    """
    return retire(table_reference(call_options(identifier, warehouse, catalog)), writer)

"""The first rows of a table with a key, written without deletes: the same table for less work.

Strategy: an upsert holds its rows against those of the table, and writes a delete before each of
them. In an empty table all of that is for nothing.

Rules:
    - A table that is made for its rows has no reader yet: they go to the base store, as those of an
      overwrite do, where nobody need merge them.
    - One that was there may have readers of changes, who would not be told of them there: they are
      inserts of the change store. No delete is among them that one of two rows of a key would need,
      so this is only for who knows that keys differ.
    - Either holds only while the table is empty: with rows of others in it, the commit is refused.

Must not know: how the rows become files.
"""

from __future__ import annotations

from dataclasses import replace

from arctic.job.write.write_job import WriteJob
from arctic.table.snapshot import TableSnapshot
from arctic.writing.write_request import WriteMode

EMPTY = TableSnapshot(base_snapshot_id=None, change_snapshot_id=None, change_sequence_number=0)
"""The state of a table that nobody has committed to."""


def into_base(job: WriteJob) -> WriteJob | None:
    """Return an upsert into a table that was made for it as an overwrite; None: as it is.

    Args:
        job: the write, as it began.
    """
    request, options = job.request, job.target.options
    if not _is_first(job) or request.mode is not WriteMode.UPSERT or options.keeps_all:
        return None
    return _as(job, WriteMode.OVERWRITE)


def as_inserts(job: WriteJob) -> WriteJob | None:
    """Return a write into a table without rows as one of rows that are new; None: as it is.

    Args:
        job: the write, as it began; no key is to be in two of its rows.
    """
    is_plain = job.request.mode in (WriteMode.UPSERT, WriteMode.APPEND)
    if not _is_first(job) or not is_plain or job.request.ordering_column is not None:
        return None
    return replace(_as(job, WriteMode.APPEND), on_top_of=EMPTY)


def _is_first(job: WriteJob) -> bool:
    """Say whether a write brings whole rows to a table that has, and had, none."""
    table, request = job.target.table, job.request
    if not table.is_keyed or table.weighs_rows or job.kept or job.work.is_done:
        return False
    if request.action_column is not None or request.knows_places or request.key_rule is not None:
        return False
    is_alone = job.batch is None and job.on_top_of is None
    return is_alone and job.found_base is None and job.replaces_up_to == 0


def _as(job: WriteJob, mode: WriteMode) -> WriteJob:
    # There is no row that could be looked for, nor any of which something is kept.
    request = replace(job.request, mode=mode, missing_columns=None)
    work = replace(job.work, request=request, locate=None)
    return replace(job, locator=None, work=work)

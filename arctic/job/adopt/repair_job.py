"""Equality deletes of any Iceberg table become position deletes or vectors, in one commit.

Engines that write without reading, such as Flink and Kafka Connect, name dead rows by key. A reader
looks every row up among those keys, for ever, and many readers do not at all.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import pyarrow as pa

from arctic.errors import ArcticError, CommitStateUnknownError, ConflictError, StorageError
from arctic.iceberg.adoption.equality_deletes import (
    Repair,
    commit_repair,
    equality_deletes,
    open_any,
)
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.job.adopt.dead_keys import dead_rows
from arctic.job.adopt.merged_vectors import write_merged
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.plan_rows import merge_request
from arctic.job.upkeep.mask_files import write_masks
from arctic.retry import WHERE_OUTRUN


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What one repair did."""

    table: str
    snapshot_id: int | None
    """The one snapshot it made; None: there was nothing to repair."""
    removed: int
    """Equality-delete files that are gone."""
    added: int
    """Position-delete files that took their place, or deletion vectors in a table of format version
    3: one for each data file with dead rows."""
    rows: int
    """Rows that these name; vectors also name those that were dead by earlier ones."""
    seconds: float

    def __str__(self) -> str:
        """Return a line for a terminal."""
        if self.snapshot_id is None:
            return f"{self.table}: has no equality deletes"
        return (
            f"{self.table}: {self.removed:,} equality-delete files became {self.added:,} "
            f"position-delete files of {self.rows:,} rows in {self.seconds:.1f} s; snapshot "
            f"{self.snapshot_id}"
        )


def repair_table(asked: AskedRead) -> RepairReport:
    """Replace the equality deletes of a table by position deletes, or by deletion vectors.

    Args:
        asked: names the table.

    Raises:
        NotFoundError: no such table.
        UnsupportedError: contents that cannot be read exactly.
        ConflictError: others won every attempt; repair again.
        CommitStateUnknownError: the catalog did not answer; look at the snapshots.
    """
    started = time.monotonic()
    for _ in WHERE_OUTRUN.tries():
        try:
            return _repaired(asked, started)
        except (ConflictError, StorageError) as error:  # noqa: PERF203 - the point of the loop
            if isinstance(error, StorageError) and not is_file_gone(error):
                raise
            outrun = error
    raise ConflictError(
        f"table {asked.reference.identifier!r}: others won {WHERE_OUTRUN.most_tries} attempts to "
        f"repair it; repair it again ({outrun.message})"
    ) from outrun


def _repaired(asked: AskedRead, started: float) -> RepairReport:
    reference = asked.reference.whole()
    opened = open_any(reference.config, reference.identifier)
    found = equality_deletes(opened)
    snapshot_id, repair = None, Repair()
    if found.deletes:
        request = merge_request(
            opened, asked.settings(opened), schema=pa.schema([]), row_filter=None
        )
        dead = dead_rows(opened, found, request)
        if opened.base.metadata.format_version == 2:
            repair = Repair(masks=write_masks(opened, opened.base.location(), dead))
        else:
            repair = write_merged(opened, found, dead)
        try:
            snapshot_id = commit_repair(opened, found, repair)
        except CommitStateUnknownError:
            raise
        except ArcticError:
            opened.io.delete_quietly(repair.paths)
            raise
    return RepairReport(
        table=opened.table.name,
        snapshot_id=snapshot_id,
        removed=len(found.deletes),
        added=len(repair.paths),
        rows=repair.rows,
        seconds=time.monotonic() - started,
    )

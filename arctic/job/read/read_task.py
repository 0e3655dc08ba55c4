"""What reads the groups of a plan, wherever they are sent.

Rules:
    - A reader and its groups pickle: they go to executors, which never see a catalog.
    - Kept apart from planning, so that an executor imports neither PyIceberg nor SQLAlchemy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from arctic.columns.integers.row_set import RowSet
from arctic.errors import StorageError
from arctic.iceberg.storage.table_io import TableIO, is_file_gone
from arctic.job.tasks.open_ahead import opened_ahead
from arctic.mor.batch import at_least_one
from arctic.mor.deletes.delete_files import KeptDeletes
from arctic.mor.partial_aggregates import PartialGroups
from arctic.mor.read import in_reading_order, read_group
from arctic.mor.request import ReadRequest
from arctic.mor.touched import Touched
from arctic.options import CHANGE_TTL_MINUTES, SNAPSHOT_KEEP_MS
from arctic.scan.task import NodeTaskGroup


@contextmanager
def telling_of_expiry() -> Iterator[None]:
    """Say of a file that is gone why that may be: who reads it cannot ask a catalog."""
    try:
        yield
    except StorageError as error:
        if not is_file_gone(error):
            raise
        raise StorageError(
            f"{error.message}; if a cleaning deleted it while it was read, read again, and keep "
            f"snapshots longer than reads take with table properties {SNAPSHOT_KEEP_MS.name} and "
            f"{CHANGE_TTL_MINUTES.name}"
        ) from error.__cause__


class GroupReader(Protocol):
    """Reads what one task was given; pickles."""

    def read(self, group: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one group, in batches of the job's schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReader:
    """Reads node task groups of a table's data files."""

    request: ReadRequest
    io: TableIO
    kept: KeptDeletes = field(default_factory=KeptDeletes, compare=False, repr=False)
    """Of the groups that are read in this process."""
    dead: Mapping[str, RowSet] = field(default_factory=dict, compare=False, repr=False)
    """Rows of data files that are known to be dead, by path; their tasks have no deletes."""

    def read(
        self, group: NodeTaskGroup, touched: Touched | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the surviving rows of the group.

        Args:
            group: what one task reads.
            touched: what to add counts to, if anyone asks.
        """
        tasks = in_reading_order(group.tasks)
        with telling_of_expiry(), opened_ahead(self.io, tasks) as open_file:
            yield from read_group(group, self.request, open_file, touched, self.kept, self.dead)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowReader:
    """Reads rows that were computed while planning: a metadata table."""

    schema: pa.Schema

    def read(self, group: bytes) -> Iterator[pa.RecordBatch]:
        """Yield the rows of an Arrow IPC stream, at least one batch."""
        with pa.ipc.open_stream(group) as stream:
            batches = stream.read_all().combine_chunks().to_batches()
        yield from batches or [pa.RecordBatch.from_pylist([], schema=self.schema)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRows:
    """Reads the first rows of each group, for a query with a limit."""

    reader: GroupReader
    rows: int
    """At least 0."""

    def read(self, group: Any) -> Iterator[pa.RecordBatch]:
        """Yield the first rows of the group."""
        left = self.rows
        for batch in self.reader.read(group):
            yield batch.slice(0, left)
            left -= batch.num_rows
            if left <= 0:
                return


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedRows:
    """Reads of each group what somebody adds up who wants aggregates of its rows alone."""

    reader: MergeReader
    wanted: PartialGroups

    def read(self, group: tuple[NodeTaskGroup, Mapping[str, bytes]]) -> Iterator[pa.RecordBatch]:
        """Yield the aggregates of the surviving rows, in any number of parts.

        Args:
            group: what one task reads, and rows that are known to be dead, by path, packed.
        """
        tasks, packed = group
        dead = {path: RowSet.unpacked(rows) for path, rows in packed.items()}
        rows = replace(self.reader, dead=dead).read(tasks)
        yield from at_least_one(self.wanted.of(rows), self.wanted.schema)

"""What reads the changes of a plan, wherever they are sent; see ``arctic.job.read.read_task``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from arctic.iceberg.storage.table_io import TableIO
from arctic.job.read.read_task import telling_of_expiry
from arctic.job.tasks.open_ahead import merged_paths, opened_in_order
from arctic.mor.changes.change_rows import read_changes
from arctic.mor.changes.narrow import narrow
from arctic.mor.request import ReadRequest
from arctic.scan.changes.change_tasks import ChangeGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReader:
    """Reads groups of changes."""

    request: ReadRequest
    """With the types that columns have now: newer files cannot be read as narrower ones."""
    schema: pa.Schema
    """What every batch has: the same columns, with the types that the reader began with."""
    io: TableIO

    def read(self, group: ChangeGroup) -> Iterator[pa.RecordBatch]:
        """Yield the events of the group.

        Raises:
            UnsupportedError: a value that fits only into the type its column has now.
        """
        with telling_of_expiry(), opened_in_order(self.io, paths_of(group)) as open_file:
            for batch in read_changes(group, self.request, open_file):
                yield narrow(batch, self.schema)


def paths_of(group: ChangeGroup) -> tuple[str, ...]:
    """Return the files of a group, each once, in the order in which they are read."""
    paths: list[str] = []
    for task in group.tasks:
        paths += merged_paths(task.beginning)
        for unit in task.units:
            paths += [file.path for file in (*unit.deletes, *unit.inserts)]
    return tuple(dict.fromkeys(paths))

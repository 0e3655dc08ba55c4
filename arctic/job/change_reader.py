"""What reads the changes of a plan, wherever they are sent; see ``arctic.job.read_task``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from arctic.iceberg.table_io import TableIO
from arctic.mor.change_rows import read_changes
from arctic.mor.request import ReadRequest
from arctic.scan.change_tasks import ChangeGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReader:
    """Reads groups of changes."""

    request: ReadRequest
    io: TableIO

    def read(self, group: ChangeGroup) -> Iterator[pa.RecordBatch]:
        """Yield the events of the group."""
        return read_changes(group, self.request, self.io.open_input)

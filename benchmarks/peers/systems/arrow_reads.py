"""The reads of systems without an engine: Arrow batches come out, pyarrow computes the rest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.peers.systems.harness import REGIONS_AND_STATUSES, System

Batches: TypeAlias = Iterable[pa.RecordBatch]


class ArrowSystem(System):
    """Answers every read from one scan."""

    @abstractmethod
    def scan(self, columns: Sequence[str] | None, keys: tuple[int, int] | None) -> Batches:
        """Return some or all columns, of the keys from the first bound to before the second."""

    def aggregate(self) -> int:
        columns = [*REGIONS_AND_STATUSES, "quantity", "amount", "discount"]
        rows = pa.Table.from_batches(self.scan(columns, None))
        groups = rows.group_by(list(REGIONS_AND_STATUSES)).aggregate(
            [("amount", "sum"), ("discount", "mean"), ("quantity", "sum"), ([], "count_all")]
        )
        return int(groups.num_rows)

    def column_sum(self) -> int:
        total = 0.0
        for batch in self.scan(["amount"], None):
            total += pc.sum(batch.column(0)).as_py() or 0.0
        return int(total > 0)

    def key_range(self, low: int, high: int) -> int:
        return self._count((low, high))

    def dump(self) -> int | None:
        return self._count(None)

    def export(self, target: str) -> None:
        Path(target).mkdir(parents=True)
        rows = pa.Table.from_batches(self.scan(None, None))
        pq.write_table(rows, Path(target) / "rows.parquet")

    def _count(self, keys: tuple[int, int] | None) -> int:
        counts: list[int] = [batch.num_rows for batch in self.scan(None, keys)]
        return sum(counts)

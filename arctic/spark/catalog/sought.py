"""What the source of a MERGE says of the rows of its table, found out by tasks that read it.

Must not know: what becomes of the answer.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from arctic.columns.value_ranges import ValueRanges
from arctic.job.read.asked_read import AskedRead
from arctic.job.sought.sought_rows import SoughtTable, plain_values
from arctic.job.sought.source_parts import SoughtKey, SoughtPart, all_parts, part_of
from arctic.options import Scope
from arctic.spark.base.catalog_protocol import SoughtAnswer
from arctic.spark.base.catalog_questions import SoughtQuestion
from arctic.spark.base.private_names import frame_of_jvm
from arctic.spark.read.hints import nodes_hint
from arctic.spark.source import relevant_options
from arctic.spark.tasks.workers import check_workers
from arctic.spark.write.write_frame import mapped_in_arrow


def sought(asked: SoughtQuestion, java_frame: Any | None) -> SoughtAnswer:
    """Say whether the source is to be looked at; or of what it was, which rows are sought.

    Args:
        asked: the question.
        java_frame: what the columns are compared with, row by row; None: only whether.

    Raises:
        ArcticError: as ``SoughtTable``.
    """
    read = AskedRead.of(relevant_options(asked.options, Scope.READ))
    table = SoughtTable(read, asked.columns)
    if java_frame is None:
        found = table.is_worth_a_look(asked.source_bytes)
        return SoughtAnswer(found=found, columns=[], reads_less=False, nodes=None)
    frame = frame_of_jvm(java_frame)
    check_workers(frame.sparkSession)
    rows = mapped_in_arrow(frame, _Look(key=table.key).parts, "part binary").collect()
    if not rows:  # nor any row that equals one
        none: list[list[Any]] = [[] for _ in asked.columns]
        return SoughtAnswer(found=True, columns=none, reads_less=True, nodes=None)
    part = all_parts([pickle.loads(row.part) for row in rows])
    answer = table.sought(part)
    return SoughtAnswer(
        found=True,
        columns=[None if each is None else _told(each) for each in part.columns],
        reads_less=answer.reads_less,
        nodes=None if answer.nodes is None else nodes_hint(answer.nodes),
    )


def _told(ranges: ValueRanges) -> list[list[Any]]:
    ends = zip(plain_values(ranges.lower), plain_values(ranges.upper), strict=True)
    return [[_plain(low), _plain(high)] for low, high in ends]


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What a task does."""

    key: SoughtKey | None

    def parts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what all rows of a task say, pickled; nothing where it has none."""
        found: SoughtPart | None = None
        for batch in batches:
            part = part_of(batch, self.key)
            found = part if found is None else all_parts([found, part])
        if found is not None:
            yield pa.record_batch({"part": pa.array([pickle.dumps(found)], pa.binary())})

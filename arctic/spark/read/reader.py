"""One read of Spark's, planned once, where the catalog can be reached.

Rules:
    - Planning happens when the reader is made: Spark pickles the reader *before* it asks for the
      partitions, and once for each task, so the groups must not travel with it.

Must not know: how files are merged, which of them Spark may read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from arctic.columns.field_ids import known_field_id
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.engine_scan import EngineScan, begin_engine_scan
from arctic.job.read.engine_share import Engine
from arctic.job.read.engine_work import engine_work
from arctic.job.read.read_columns import check_required, check_types
from arctic.job.read.read_task import GroupReader
from arctic.job.read.scan_job import read_schema
from arctic.scan.key_groups import KeyGroups
from arctic.spark.base.handed_on import pin_text, pinned_snapshot, work_texts
from arctic.spark.base.private_names import ROW_INDEX_COLUMN
from arctic.spark.base.protocol import ScanAnswer, ScanQuestion, answered_by_worker
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.read.hadoop_access import hadoop_path, hadoop_settings, hindrance
from arctic.spark.read.hints import hinted_filter, hinted_nodes
from arctic.spark.read.partition_reader import PartitionReader

FIRST_ROW_COLUMN = "_arctic_first_row"
"""Holds the number of the first row of a file; see ``ParquetFiles.java``."""
ROWS_COLUMN = "_arctic_rows"
"""Holds how many rows the file has."""
SHARE_ROWS = 128 * 2**20
"""Whose dead rows are asked for at once: 16 MiB of bits, in the driver some ten times that while
they pass from one process to the other."""
_OWN_COLUMNS = frozenset({ROW_INDEX_COLUMN, FIRST_ROW_COLUMN, ROWS_COLUMN})


class ArcticReader(PartitionReader):
    """A reader with its plan."""

    def __init__(
        self,
        reader: GroupReader,
        schema: pa.Schema,
        groups: Sequence[Any],
        answer: ScanAnswer | None,
    ) -> None:
        super().__init__(reader, schema)
        self.groups = groups
        """One for each task."""
        self.answer = answer
        """To what the scan asked; None: it asked nothing."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the plan behind: each task gets its own group as the input partition."""
        return PartitionReader, (self._reader, self._schema)

    def partitions(self) -> list[InputPartition]:
        """Return the answer, where one is wanted, and one input partition for each group."""
        first = [] if self.answer is None else [InputPartition(answered_by_worker(self.answer))]
        return [*first, *(InputPartition(group) for group in self.groups)]


def plan_reader(
    asked: AskedRead, requested: StructType, question: ScanQuestion | None
) -> ArcticReader:
    """Pin the table's state and plan a read of the requested columns.

    Args:
        asked: what the options of the relation say.
        requested: what Spark wants back: all columns of the table, or those that a query needs,
            or what the user gave to ``.schema(...)``.
        question: what a scan of ours asks; None: Spark itself plans it, and wants no answer.

    Raises:
        ArcticError: as ``begin_scan``; InvalidInputError for a requested column of another type.
    """
    scan = begin_engine_scan(
        asked,
        columns=requested.names,
        engine=None if question is None else _engine(question),
        filter_for=partial(hinted_filter, () if question is None else question.hints),
        unreached=lambda io: hindrance(io.location, io.properties),
        nodes=None if question is None else hinted_nodes(question.hints),
    )
    schema = arrow_schema(requested)
    check_types(scan.schema, schema)
    if question is not None and asked.reference.metadata_table is None:
        check_required(read_schema(scan.opened, asked), question.required)
    answer = None if question is None else _answer(scan, question)
    return ArcticReader(scan.reader, schema, scan.groups, answer)


def no_files(*, merged: int) -> ScanAnswer:
    """Return the answer of a plan all of whose partitions must be read here."""
    return ScanAnswer(
        pin="",
        size_bytes=0,
        rows=None,
        merged=merged,
        paths=[],
        field_ids=[],
        row_counts=[],
        work=None,
        verifies_pages=False,
        settings={},
        hindrance=None,
        groupings=[],
        file_groups=[],
    )


def _engine(question: ScanQuestion) -> Engine:
    return Engine(
        parallelism=question.parallelism,
        snapshot=pinned_snapshot(question.pin),
        reads_files=question.spark_reads,
        skips_rows=question.takes_vectors,
        takes_groups=question.takes_groups,
        is_filtered=bool(question.hints),
        limit=question.limit,
        own_columns=_OWN_COLUMNS,
        groups=None if question.groups is None else _key_groups(*question.groups),
    )


def _key_groups(function: str, columns: Sequence[str], groups: int) -> KeyGroups:
    return KeyGroups(function=function, columns=tuple(columns), groups=groups)


def _answer(scan: EngineScan, question: ScanQuestion) -> ScanAnswer:
    shared, settings = scan.shared, scan.settings
    if shared is None or settings is None:
        return no_files(merged=0)
    work, io = engine_work(scan), scan.opened.io
    paths = [file.path for file in shared.files]
    return ScanAnswer(
        pin=pin_text(shared.snapshot),
        size_bytes=shared.size_bytes,
        rows=shared.rows,
        merged=shared.merged,
        paths=[hadoop_path(path, io.properties) for path in paths],
        field_ids=[known_field_id(column) for column in scan.schema] if paths else [],
        row_counts=[file.record_count for file in shared.dirty_files],
        work=None if work is None else [work_texts(share) for share in work.shares(SHARE_ROWS)],
        verifies_pages=settings.verifies_pages,
        settings=hadoop_settings(paths, io.properties),
        hindrance=shared.hindrance,
        groupings=[
            [each.groups.function, each.groups.columns, each.sizes_bytes]
            for each in scan.possible_groups
        ],
        file_groups=scan.file_groups,
    )

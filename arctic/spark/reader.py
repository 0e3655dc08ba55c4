"""One read of Spark's, planned once, where the catalog can be reached.

Rules:
    - Planning happens when the reader is made: Spark pickles the reader *before* it asks for the
      partitions, and once for each task, so the groups must not travel with it.

Must not know: how files are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from arctic import options as opt
from arctic.iceberg.open_table import OpenTable, open_table
from arctic.iceberg.plain_columns import ever_had, plain_columns
from arctic.iceberg.table_io import is_local
from arctic.job.read_task import FirstRows, GroupReader
from arctic.job.reference import TableReference, parse_reference
from arctic.job.scan_job import merge_request, scan_opened
from arctic.job.vector_work import VectorWork
from arctic.options import Scope
from arctic.scan.plan import ScanPlan
from arctic.spark.hints import hinted_filter
from arctic.spark.partition_reader import PartitionReader
from arctic.spark.question import Answer, Question, question_of
from arctic.spark.types import arrow_schema, check_types
from arctic.table.filename import has_format_name
from arctic.table.files import KeyedFile

_INTERNAL = ("_tmp_metadata_row_index", "_arctic_first_row")
"""Columns by which Spark numbers rows, see ``ParquetFiles.java``: it would read one of a file."""


class ArcticReader(PartitionReader):
    """A reader with its plan."""

    def __init__(
        self, reader: GroupReader, schema: pa.Schema, groups: Sequence[Any], answer: Answer | None
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
        first = [] if self.answer is None else [InputPartition(self.answer.text())]
        return [*first, *(InputPartition(group) for group in self.groups)]


def plan_reader(options: Mapping[str, str], requested: StructType) -> ArcticReader:
    """Pin the table's state and plan a read of the requested columns.

    Args:
        options: ``path``, catalog and read options.
        requested: what Spark wants back: all columns of the table, or those that a query needs,
            or what the user gave to ``.schema(...)``.

    Raises:
        ArcticError: as ``begin_scan``; InvalidInputError for a requested column of another type.
    """
    opt.check_known(options, Scope.READ)
    reference = parse_reference(options)
    opened = open_table(reference.config, reference.identifier)
    question = question_of(requested)
    row_filter = None
    spark_reads = _spark_reads(opened, options, reference, question, requested)
    if question is not None and reference.metadata_table is None:
        row_filter = hinted_filter(question.hints, opened.table)
        if opt.PARALLELISM.value(options, opened.table.properties) is None:
            options = {**options, opt.PARALLELISM.name: str(question.parallelism)}
    job = scan_opened(
        opened,
        options,
        metadata_name=reference.metadata_table,
        columns=requested.names,
        row_filter=row_filter,
        snapshot=question.snapshot if question is not None else None,
        sets_apart=_is_plain if spark_reads else None,
        sets_dirty_apart=spark_reads and _takes_vectors(opened, question),
    )
    schema = arrow_schema(requested)
    check_types(job.schema, schema)
    others = () if job.plan is None else (*job.plan.dirty_groups, *job.plan.clean_groups)
    answer = None if question is None else _answer(opened, options, job.plan)
    reader: GroupReader = job.reader
    # Spark hands over no limit where it filters rows itself; counted before that, they were few.
    if question is not None and question.limit is not None and not question.hints:
        reader = FirstRows(reader=reader, rows=question.limit)
    return ArcticReader(reader, schema, (*job.groups, *others), answer)


def _spark_reads(
    opened: OpenTable,
    options: Mapping[str, str],
    reference: TableReference,
    question: Question | None,
    requested: StructType,
) -> bool:
    """Say whether Spark can read files as Arctic does, and wants to."""
    return (
        question is not None
        and question.spark_reads
        and reference.metadata_table is None
        and opt.STORE.value(options) == "merged"
        and is_local(opened.io.location)
        and plain_columns(opened).issuperset(requested.names)
    )


def _takes_vectors(opened: OpenTable, question: Question | None) -> bool:
    """Say whether Spark can leave rows out by their number, and the query is worth it."""
    return (
        question is not None
        and question.takes_vectors
        # Whoever wants a few rows does not have all keys looked up for them.
        and question.limit is None
        and not any(ever_had(opened, name) for name in _INTERNAL)
    )


def _is_plain(file: KeyedFile) -> bool:
    """Say whether a file has every column: imported ones may leave their partition columns out."""
    return has_format_name(file.path)


def _answer(opened: OpenTable, options: Mapping[str, str], plan: ScanPlan | None) -> Answer:
    if plan is None:
        return Answer()
    files = {
        part.file.path: part.file
        for group in (*plan.groups, *plan.dirty_groups, *plan.clean_groups)
        for task in group.tasks
        for part in task.data
    }
    dirty = [part.file for task in plan.dirty_tasks for part in task.data]
    clean = [part.file for group in plan.clean_groups for task in group.tasks for part in task.data]
    return Answer(
        snapshot=plan.snapshot,
        size_bytes=sum(file.size_bytes for file in files.values()),
        rows=sum(file.record_count for file in files.values()),
        merged=len(plan.groups),
        files=(*dirty, *clean),
        work=_vector_work(opened, options, plan) if dirty else None,
        verifies_pages=opt.VERIFY_CHECKSUMS.value(options, opened.table.properties),
    )


def _vector_work(opened: OpenTable, options: Mapping[str, str], plan: ScanPlan) -> VectorWork:
    no_columns = pa.schema([])
    return VectorWork(
        tasks=plan.dirty_tasks,
        request=merge_request(opened, options, schema=no_columns, row_filter=None),
        io=opened.io,
    )

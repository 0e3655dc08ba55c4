"""One read of Spark's: planned once on the driver, then each group read by an executor.

Rules:
    - Planning happens when the reader is made: Spark pickles the reader *before* it asks for the
      partitions, and once for each task, so the groups must not travel with it.
    - Every batch has exactly the schema that Spark asked for; Spark checks the first one only.

Must not know: how files are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.open_table import OpenTable, open_table
from arctic.iceberg.plain_columns import plain_columns
from arctic.iceberg.table_io import is_local
from arctic.job.reference import TableReference, parse_reference
from arctic.job.scan_job import GroupReader, ScanJob, scan_opened
from arctic.options import Scope
from arctic.scan.plan import ScanPlan
from arctic.spark.error_surface import message_first
from arctic.spark.hints import hinted_filter
from arctic.spark.question import Answer, Question, question_of
from arctic.spark.types import arrow_schema
from arctic.table.filename import has_format_name
from arctic.table.files import KeyedFile
from arctic.write.cast import cast_array


class ArcticReader(DataSourceReader):
    """Reads groups of node tasks."""

    def __init__(self, reader: GroupReader, schema: pa.Schema, groups: Sequence[Any]) -> None:
        self._reader = reader
        self._schema = schema
        """The schema of every batch, in Spark's types."""
        self._groups = groups

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the groups behind: each task gets its own as the input partition."""
        return ArcticReader, (self._reader, self._schema, ())

    def partitions(self) -> list[InputPartition]:
        """Return one input partition for each group."""
        return [InputPartition(group) for group in self._groups]

    @message_first
    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one group."""
        # What Spark makes of an empty list: None itself in 4.1, a partition of None later.
        if partition is None or partition.value is None:
            return
        for batch in self._reader.read(partition.value):
            columns = [
                cast_array(column, field.type)
                for column, field in zip(batch.columns, self._schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self._schema)


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
    )
    schema = arrow_schema(requested)
    _check_types(job, schema)
    groups = job.groups
    if question is not None:
        clean = () if job.plan is None else job.plan.clean_groups
        groups = (_answer(job.plan).text(), *groups, *clean)
    return ArcticReader(job.reader, schema, groups)


def _spark_reads(
    opened: OpenTable,
    options: Mapping[str, str],
    reference: TableReference,
    question: Question | None,
    requested: StructType,
) -> bool:
    """Say whether Spark can read clean files as Arctic does, and wants to."""
    return (
        question is not None
        and question.reads_clean_files
        and reference.metadata_table is None
        and opt.STORE.value(options) == "merged"
        and is_local(opened.io.location)
        and plain_columns(opened).issuperset(requested.names)
    )


def _is_plain(file: KeyedFile) -> bool:
    """Say whether a file has every column: imported ones may leave their partition columns out."""
    return has_format_name(file.path)


def _answer(plan: ScanPlan | None) -> Answer:
    if plan is None:
        return Answer()
    files = {
        part.file.path: part.file
        for group in (*plan.groups, *plan.clean_groups)
        for task in group.tasks
        for part in task.data
    }
    clean = (task for group in plan.clean_groups for task in group.tasks)
    return Answer(
        snapshot=plan.snapshot,
        size_bytes=sum(file.size_bytes for file in files.values()),
        rows=sum(file.record_count for file in files.values()),
        merged=len(plan.groups),
        clean_paths=[part.file.path for task in clean for part in task.data],
    )


def _check_types(job: ScanJob, requested: pa.Schema) -> None:
    for field, wanted in zip(job.schema, requested, strict=True):
        if _plain(field.type) != wanted.type:
            raise InvalidInputError(
                f"column {field.name!r} is {field.type} in the table, but the given schema says "
                f"{wanted.type}; give the table's type and cast the column after reading"
            )


def _plain(data_type: pa.DataType) -> pa.DataType:
    return pa.binary() if pa.types.is_fixed_size_binary(data_type) else data_type

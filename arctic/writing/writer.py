"""The way in: check a frame once, then write each of its partitions.

The driver calls ``plan_write``; each task ``open_writer``, then ``write`` for every batch and
``close``, or ``abort``; the driver again ``check_key_owners``, and commits ``files_of`` all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import pyarrow as pa

from arctic.errors import InvalidInputError
from arctic.table.row_positions import PLACE_COLUMNS
from arctic.table.table_description import TableDescription
from arctic.writing.base_writer import BaseWriter
from arctic.writing.change_writer import ChangeWriter
from arctic.writing.conform.conform import Conform, plan_conform
from arctic.writing.place_writer import PlaceWriter
from arctic.writing.rows.actions import check_action_type
from arctic.writing.straddle import check_straddling, find_straddling
from arctic.writing.target import Locate, TaskId, TaskResult, WriteTarget
from arctic.writing.write_request import MissingColumns, WriteMode, WriteRequest, check_missing


class Writer(Protocol):
    """Writes the rows of one task."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows; they may be written later."""

    def close(self) -> TaskResult:
        """Complete the files; nothing may be written afterwards."""

    def abort(self) -> None:
        """Give up, and remove what was written as far as that can be done."""


def plan_write(
    table: TableDescription,
    schema: pa.Schema,
    incoming: pa.Schema,
    *,
    request: WriteRequest,
    locates: bool,
) -> Conform:
    """Check everything that can be checked before the first row.

    Args:
        table: the table that is written to.
        schema: its columns, with field ids.
        incoming: the frame's schema.
        request: what is asked for.
        locates: whether the tasks will be able to search for current rows.

    Returns:
        What every task needs to take the frame's batches; pickles.

    Raises:
        InvalidInputError: columns, types or options that do not fit.
    """
    request.check(table)
    conform = plan_conform(
        incoming,
        schema,
        table_name=table.name,
        mode=request.mode,
        key=table.primary_key,
        extra_columns=request.extra_columns,
        ignored_columns=(
            *request.ignored_columns,
            *(PLACE_COLUMNS if request.knows_places else ()),
        ),
        partition_sources=tuple(column.name for column in table.partition_source_columns),
        ordering=table.ordering_columns,
    )
    check_missing(incoming, schema, table_name=table.name, request=request)
    if request.missing_become is MissingColumns.KEEP:
        conform = replace(conform, keeps=bool(conform.missing_columns))
    if request.action_column is not None:
        check_action_type(incoming.field(request.action_column))
    if not conform.has_partition_sources and not locates:
        missing = [
            column.name
            for column in table.partition_source_columns
            if column.name not in incoming.names
        ]
        raise InvalidInputError(
            f"delete from table {table.name!r}: the key does not decide the partition, and the "
            f"frame lacks {', '.join(missing)}; add what is missing, or set "
            "write.upsert.cross-partition=lookup"
        )
    return conform


def open_writer(
    target: WriteTarget,
    task: TaskId,
    *,
    request: WriteRequest,
    conform: Conform,
    locate: Locate | None,
) -> Writer:
    """Begin to write the rows of one task.

    Args:
        target: the table that is written to.
        task: which input partition this is, and which attempt.
        request: the one that ``conform`` was planned for.
        conform: what ``plan_write`` returned.
        locate: finds the current rows of keys, with the columns that are to be kept; None: rows
            are trusted to be where the events say, and nothing is kept.
    """
    _reuse_freed_pages()
    if request.mode is WriteMode.OVERWRITE or not target.table.is_keyed:
        rows = BaseWriter(target, task, request=request, conform=conform)
        return PlaceWriter(rows) if request.knows_places else rows
    return ChangeWriter(target, task, request=request, conform=conform, locate=locate)


def _reuse_freed_pages() -> None:
    """Have Arrow take memory from jemalloc in this process from now on, unless somebody chose.

    A write holds a few large buffers after another. mimalloc, the default, asks the system for each
    of them, which clears every page: two fifths of the processor time of a load. jemalloc gives
    freed pages out again. It stays, because rows of the next write may be read before that begins.
    """
    is_chosen = "ARROW_DEFAULT_MEMORY_POOL" in os.environ
    if is_chosen or pa.default_memory_pool().backend_name != "mimalloc":
        return
    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())


def check_key_owners(
    results: Sequence[TaskResult],
    *,
    table: TableDescription,
    request: WriteRequest,
    assume_stable: bool,
    open_input: Callable[[str], Any],
) -> None:
    """Refuse a write whose rows of one key came to several tasks, where that would be wrong.

    Costs nothing when the frame was arranged before the write; else it reads key columns.

    Args:
        results: of all tasks.
        table: the table that was written to.
        request: what was asked for.
        assume_stable: whether the caller vouches that no key changes its partition.
        open_input: opens a path for reading at any position.

    Raises:
        InvalidInputError: naming a key and the remedy.
        RepeatedKeyError: a key that must be in one row only.
    """
    if not request.must_own_keys(table) and request.key_rule is None:
        return
    # Vouched-for partitions may each have a task of their own: a known move is a delete in one
    # and an insert in another, and any other move was ruled out.
    across_partitions = not table.partition_follows_key and not assume_stable
    check_straddling(
        find_straddling(results, across_partitions=across_partitions),
        key=table.primary_key,
        table_name=table.name,
        open_input=open_input,
        key_rule=request.key_rule,
    )

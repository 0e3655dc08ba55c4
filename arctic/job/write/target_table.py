"""The table that a write goes to: the one that is there, or the one that the options describe."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from arctic import options as opt
from arctic.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_by
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.partitioning import parse_partition_field
from arctic.job.write.asked_write import AskedWrite
from arctic.writing.conform.merged_columns import merged_columns
from arctic.writing.target import WriteMode, WriteOptions, WriteTarget
from arctic.writing.writer import plan_write


def open_or_create(asked: AskedWrite, incoming: pa.Schema, *, exist_ok: bool = True) -> OpenTable:
    """Open the table for writing; create it when it is missing and its key is given.

    Its columns are merged with those of the rows where that is asked for.

    A table without a key is asked for as clearly as one with a key, by an empty ``primaryKey``:
    else a mistyped name would make a second table, and a forgotten option one that never takes an
    upsert.

    Args:
        asked: what the options say.
        incoming: the columns of the rows to be written.
        exist_ok: a table that is there will do.

    Raises:
        AlreadyExistsError: it is there, and it will not do.
        NotFoundError: no such table, and no ``primaryKey`` to create it with.
        InvalidInputError: a metadata table, a key or partition option that contradicts the
            table that is there, or a table without a key that this write could not go to; with
            columns to merge, whatever the write would be refused for with them.
        ConflictError: other commits changed the columns during every try.
    """
    reference = asked.reference
    if reference.metadata_table is not None:
        raise InvalidInputError(
            f"table {reference.identifier}.{reference.metadata_table}: metadata cannot be written"
        )
    key, partition_by = asked.primary_key, asked.partition_by
    try:
        opened = reference.open(for_writing=True, suggests=False)
    except NotFoundError as error:
        if key is None:
            raise NotFoundError(
                f"{error.message}; to create it with this write, give option "
                "primaryKey='column, ...', or primaryKey='' and mode append for a table without "
                "a key"
            ) from error
        if asked.needs_key and not key:
            raise InvalidInputError(
                f"option primaryKey = '': table {reference.identifier!r} would have no key, and "
                "an upsert, a delete and a replay of changes need one; name the key columns, or "
                "write with mode append"
            ) from error
        return create_table(
            reference.config,
            reference.identifier,
            pa.schema([field for field in incoming if field.name != asked.action_column]),
            primary_key=key,
            partition_by=partition_by or (),
            properties={},
            exist_ok=exist_ok,
        )
    if not exist_ok:
        raise AlreadyExistsError(f"table {opened.table.name!r} already exists")
    _check_agrees(opened, key, partition_by)
    return _merged(opened, asked, incoming) if asked.merges_schema else opened


def write_target(opened: OpenTable, options: WriteOptions) -> WriteTarget:
    """Return a table as the tasks of a write see it."""
    return WriteTarget(
        table=opened.table,
        schema=opened.arrow_schema,
        partition_arrays=opened.partitioner.arrays,
        partition_path=opened.partitioner.path,
        create_output=opened.io.create_output,
        delete_files=opened.io.delete_quietly,
        options=options,
    )


def _merged(opened: OpenTable, asked: AskedWrite, incoming: pa.Schema) -> OpenTable:
    """Give the table what the rows have more; nothing is changed for a write that is refused."""

    def decide(now: OpenTable) -> SchemaChange:
        table, request = now.table, asked.request_for(now.table)
        if request.mode is WriteMode.DELETE:
            raise InvalidInputError(
                f"option {opt.MERGE_SCHEMA.name} with mode 'delete', which stores no values; "
                "leave the option out"
            )
        found = merged_columns(
            incoming,
            now.arrow_schema,
            table_name=table.name,
            helpers=(*request.extra_columns, *request.ignored_columns),
            held=(*table.primary_key, *(each.name for each in table.partition_source_columns)),
        )
        if found:
            merged = found.applied(now.arrow_schema)
            plan_write(table, merged, incoming, request=request, locates=True)
        return SchemaChange(add=found.add, widen=found.widen)

    change = decide(opened)
    if not (change.add or change.widen):
        return opened
    return evolve_by(opened.config, opened.table.name, decide)


def _check_agrees(
    opened: OpenTable, key: Sequence[str] | None, partition_by: Sequence[str] | None
) -> None:
    table = opened.table
    if key is not None and tuple(key) != table.primary_key:
        raise InvalidInputError(
            f"option primaryKey = {', '.join(key)!r}: table {table.name!r} exists with key "
            f"{', '.join(table.primary_key) or 'none'!r}; leave the option out"
        )
    if partition_by is None:
        return
    wanted = tuple(parse_partition_field(text) for text in partition_by)
    if wanted != tuple(parse_partition_field(text) for text in opened.partitioner.texts):
        raise InvalidInputError(
            f"option partitionBy = {', '.join(partition_by)!r}: table {table.name!r} exists with "
            f"partitions {', '.join(opened.partitioner.texts) or 'none'!r}; leave the option out"
        )

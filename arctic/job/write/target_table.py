"""The table that a write goes to: the one that is there, or the one that the options describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from arctic import options as opt
from arctic.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.values.partitioning import parse_partition_field
from arctic.job.reference import parse_reference


def open_or_create(
    options: Mapping[str, str], incoming: pa.Schema, *, needs_key: bool, exist_ok: bool = True
) -> OpenTable:
    """Open the table for writing; create it when it is missing and its key is given.

    A table without a key is asked for as clearly as one with a key, by an empty ``primaryKey``:
    else a mistyped name would make a second table, and a forgotten option one that never takes an
    upsert.

    Args:
        options: ``path``, catalog and write options.
        incoming: the columns of the rows to be written.
        needs_key: the write is one that a table without a key cannot take.
        exist_ok: a table that is there will do.

    Raises:
        AlreadyExistsError: it is there, and it will not do.
        NotFoundError: no such table, and no ``primaryKey`` to create it with.
        InvalidInputError: a metadata table, a key or partition option that contradicts the
            table that is there, or a table without a key that this write could not go to.
    """
    reference = parse_reference(options)
    if reference.metadata_table is not None:
        raise InvalidInputError(
            f"table {reference.identifier}.{reference.metadata_table}: metadata cannot be written"
        )
    key = opt.PRIMARY_KEY.value(options)
    partition_by = opt.PARTITION_BY.value(options)
    try:
        opened = open_table(
            reference.config, reference.identifier, for_writing=True, suggests=False
        )
    except NotFoundError as error:
        if key is None:
            raise NotFoundError(
                f"{error.message}; to create it with this write, give option "
                "primaryKey='column, ...', or primaryKey='' and mode append for a table without "
                "a key"
            ) from error
        if needs_key and not key:
            raise InvalidInputError(
                f"option primaryKey = '': table {reference.identifier!r} would have no key, and "
                "an upsert, a delete and a replay of changes need one; name the key columns, or "
                "write with mode append"
            ) from error
        return create_table(
            reference.config,
            reference.identifier,
            _table_columns(incoming, options),
            primary_key=key,
            partition_by=partition_by or (),
            properties={},
            exist_ok=exist_ok,
        )
    if not exist_ok:
        raise AlreadyExistsError(f"table {opened.table.name!r} already exists")
    _check_agrees(opened, key, partition_by)
    return opened


def _table_columns(incoming: pa.Schema, options: Mapping[str, str]) -> pa.Schema:
    action = opt.ACTION_COLUMN.value(options)
    return pa.schema([field for field in incoming if field.name != action])


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

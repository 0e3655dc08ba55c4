"""What the options of a write ask of its table, and how its tasks see that table.

Must not know: catalogs, how rows become files, how they are committed.
"""

from __future__ import annotations

from collections.abc import Mapping

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.keyed_table import KeyedTable
from arctic.writing.target import (
    MissingColumns,
    WriteMode,
    WriteOptions,
    WriteRequest,
    WriteTarget,
)


def asked_mode(options: Mapping[str, str], *, overwrite: bool) -> WriteMode | None:
    """Return the mode that a caller says; None: the table decides.

    Args:
        options: write options.
        overwrite: the caller's save mode was overwrite.

    Raises:
        InvalidInputError: the two contradict each other.
    """
    given = opt.WRITE_MODE.value(options)
    if overwrite and given not in (None, "overwrite"):
        raise InvalidInputError(
            f"option write-mode = {given!r} with mode('overwrite'); expected mode('append') with it"
        )
    if overwrite:
        return WriteMode.OVERWRITE
    return None if given is None else WriteMode(given)


def default_mode(table: KeyedTable) -> WriteMode:
    """Return what a write means that says no mode: never a second row of a key."""
    return WriteMode.UPSERT if table.is_keyed else WriteMode.APPEND


def needs_key(asked: WriteMode | None, options: Mapping[str, str]) -> bool:
    """Say whether a table without a key cannot take a write."""
    columns = (opt.ACTION_COLUMN.value(options), opt.ORDERING_COLUMN.value(options))
    return asked in (WriteMode.UPSERT, WriteMode.DELETE) or any(columns)


def write_request(mode: WriteMode, options: Mapping[str, str]) -> WriteRequest:
    """Return what a write asks for whose rows lie as its caller has them."""
    missing = opt.MISSING_COLUMNS.value(options)
    return WriteRequest(
        mode=mode,
        action_column=opt.ACTION_COLUMN.value(options),
        ordering_column=opt.ORDERING_COLUMN.value(options),
        missing_columns=None if missing is None else MissingColumns(missing),
    )


def write_target(opened: OpenTable, options: Mapping[str, str]) -> WriteTarget:
    """Return a table as write tasks see it."""
    return WriteTarget(
        table=opened.table,
        schema=opened.arrow_schema,
        partition_arrays=opened.partitioner.arrays,
        partition_path=opened.partitioner.path,
        create_output=opened.io.create_output,
        delete_files=opened.io.delete_quietly,
        options=WriteOptions.from_settings(options, opened.table),
    )


def is_dynamic(options: Mapping[str, str]) -> bool:
    """Say whether an overwrite replaces only the partitions it has rows for."""
    return opt.PARTITION_OVERWRITE_MODE.value(options) == "dynamic"


def assumes_stable(target: WriteTarget, options: Mapping[str, str]) -> bool:
    """Say whether the caller vouches that no key ever changes its partition."""
    return opt.CROSS_PARTITION.value(options, target.table.properties) == "assume-stable"


def may_move(target: WriteTarget, request: WriteRequest, options: Mapping[str, str]) -> bool:
    """Say whether a row of the write may have its stored row in another partition."""
    if not target.keys_move or request.mode is WriteMode.OVERWRITE:
        return False
    if request.mode is WriteMode.APPEND and request.action_column is None:
        return False
    return not assumes_stable(target, options)


def refuse_moving_keys(target: WriteTarget, options: Mapping[str, str]) -> None:
    """Refuse a dynamic overwrite whose keys may have rows outside of what it replaces.

    Raises:
        InvalidInputError: the caller does not vouch that none has.
    """
    if target.keys_move and not assumes_stable(target, options):
        raise InvalidInputError(
            f"dynamic overwrite of table {target.table.name!r}: its key does not decide the "
            "partition, so a key of the new rows could also stay in a partition that is not "
            "replaced; overwrite the whole table, or set write.upsert.cross-partition=assume-stable"
        )

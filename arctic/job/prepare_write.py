"""What is decided about a write before its first row, where the catalog can be reached.

Must not know: how rows become files, how they are committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.open_table import OpenTable
from arctic.iceberg.pin import pin
from arctic.job.newest_state import on_newest_state
from arctic.job.shuffle import ARRIVAL_COLUMN, HELPER_COLUMNS, TASK_COLUMN
from arctic.job.target_table import open_or_create
from arctic.options import Scope
from arctic.table.snapshot import TableSnapshot
from arctic.write.conform import Conform
from arctic.write.event_time import EventTime
from arctic.write.straddle import must_own_keys
from arctic.write.target import (
    MissingColumns,
    WriteMode,
    WriteOptions,
    WriteRequest,
    WriteTarget,
)
from arctic.write.writer import plan_write


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWrite:
    """A write that may begin."""

    opened: OpenTable
    snapshot: TableSnapshot
    replaces_up_to: int
    request: WriteRequest
    target: WriteTarget
    kept: tuple[str, ...]
    """Columns that the rows lack, whose stored values stay."""
    locates: bool
    """Whether the keys must be looked up, for their rows may move or keep something."""
    conform: Conform


def prepare_write(
    options: Mapping[str, str], incoming: pa.Schema, *, overwrite: bool
) -> PreparedWrite:
    """Open the table and refuse what cannot be written, whatever the rows are.

    Args:
        options: ``path``, catalog and write options.
        incoming: the columns of the rows, helper columns of a shuffle included.
        overwrite: the caller's save mode was overwrite.

    Raises:
        NotFoundError: an unknown table that the options cannot create.
        InvalidInputError: an option, a column or a type that does not fit.
    """
    opt.check_known(options, Scope.WRITE)
    asked = _asked_mode(options, overwrite=overwrite)
    opened = open_or_create(options, incoming, needs_key=needs_key(asked, options))
    mode = asked or _default_mode(opened)
    snapshot = on_newest_state(opened, lambda: pin(opened))
    spread_at = _spread_at(options, incoming, snapshot)
    replaces_up_to = snapshot.change_sequence_number if spread_at is None else spread_at
    exact_order = not any(type_.startswith(("float", "double")) for type_ in _key_types(opened))
    request = WriteRequest(
        mode=mode,
        action_column=opt.ACTION_COLUMN.value(options),
        ordering_column=opt.ORDERING_COLUMN.value(options),
        arrival_column=None if spread_at is None else ARRIVAL_COLUMN,
        ignored_columns=() if spread_at is None else (TASK_COLUMN,),
        # Spark sorts a negative zero as equal to zero; as keys they differ.
        sorted_input=spread_at is not None and (exact_order or mode is not WriteMode.OVERWRITE),
        transaction_id=replaces_up_to if mode is WriteMode.OVERWRITE else 0,
        missing_columns=_missing_columns(options),
    )
    event_time = EventTime.of(opened.table)
    target = write_target(opened, options)
    moves = _may_move(target, request, options)
    conform = plan_write(
        opened.table, opened.arrow_schema, incoming, request=request, locates=moves
    )
    conform = replace(conform, event_time=event_time)
    kept = conform.missing_columns if conform.keeps else ()
    if kept and request.action_column and not target.options.upsert_inserts:
        raise InvalidInputError(
            "option missing-columns = 'keep' with write.upsert.enabled=false: an insert would not "
            "look for the row whose values it keeps; set option write.upsert.enabled=true"
        )
    if mode is WriteMode.OVERWRITE and is_dynamic(options) and target.keys_move:
        _refuse_moving_keys(target, options)
    return PreparedWrite(
        opened=opened,
        snapshot=snapshot,
        replaces_up_to=replaces_up_to,
        request=request,
        target=target,
        kept=kept,
        locates=moves or bool(kept),
        conform=conform,
    )


def _spread_at(
    options: Mapping[str, str], incoming: pa.Schema, snapshot: TableSnapshot
) -> int | None:
    """Return the change sequence number when the rows were spread; None: nobody spread them."""
    spread_at = opt.SPREAD.value(options)
    reserved = [name for name in HELPER_COLUMNS if name in incoming.names]
    if spread_at is None and reserved:
        raise InvalidInputError(f"column {reserved[0]!r}: the name is reserved; rename the column")
    if spread_at is not None and (
        len(reserved) < len(HELPER_COLUMNS) or not 0 <= spread_at <= snapshot.change_sequence_number
    ):
        raise InvalidInputError(
            f"option {opt.SPREAD.name} = {spread_at}: save() sets it; leave the option out"
        )
    return spread_at


def _refuse_moving_keys(target: WriteTarget, options: Mapping[str, str]) -> None:
    if not assumes_stable(target, options):
        raise InvalidInputError(
            f"dynamic overwrite of table {target.table.name!r}: its key does not decide the "
            "partition, so a key of the new rows could also stay in a partition that is not "
            "replaced; overwrite the whole table, or set write.upsert.cross-partition=assume-stable"
        )


def may_stay(begun: PreparedWrite) -> bool:
    """Say whether tasks that do not own their keys write a keyed table's rows as well.

    The rows are right then, and of a key that several tasks wrote the last task's row stays. Where
    keys are looked up that is not enough: each task would search all nodes for its keys.
    """
    table = begun.target.table
    looks = begun.target.keys_move or begun.locates
    return table.is_keyed and not looks and not must_own_keys(table, begun.request)


def is_dynamic(options: Mapping[str, str]) -> bool:
    """Say whether an overwrite replaces only the partitions it has rows for."""
    return opt.PARTITION_OVERWRITE_MODE.value(options) == "dynamic"


def _key_types(opened: OpenTable) -> tuple[str, ...]:
    return tuple(column.type for column in opened.table.key_columns)


def _asked_mode(options: Mapping[str, str], *, overwrite: bool) -> WriteMode | None:
    given = opt.WRITE_MODE.value(options)
    if overwrite and given not in (None, "overwrite"):
        raise InvalidInputError(
            f"option write-mode = {given!r} with mode('overwrite'); expected mode('append') with it"
        )
    if overwrite:
        return WriteMode.OVERWRITE
    return None if given is None else WriteMode(given)


def needs_key(asked: WriteMode | None, options: Mapping[str, str]) -> bool:
    """Say whether a table without a key cannot take a write."""
    columns = (opt.ACTION_COLUMN.value(options), opt.ORDERING_COLUMN.value(options))
    return asked in (WriteMode.UPSERT, WriteMode.DELETE) or any(columns)


def _default_mode(opened: OpenTable) -> WriteMode:
    """Return what a write means that says no mode: never a second row of a key."""
    return WriteMode.UPSERT if opened.table.is_keyed else WriteMode.APPEND


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


def _missing_columns(options: Mapping[str, str]) -> MissingColumns | None:
    given = opt.MISSING_COLUMNS.value(options)
    return None if given is None else MissingColumns(given)


def _may_move(target: WriteTarget, request: WriteRequest, options: Mapping[str, str]) -> bool:
    if not target.keys_move or request.mode is WriteMode.OVERWRITE:
        return False
    if request.mode is WriteMode.APPEND and request.action_column is None:
        return False
    return not assumes_stable(target, options)


def assumes_stable(target: WriteTarget, options: Mapping[str, str]) -> bool:
    """Say whether the caller vouches that no key ever changes its partition."""
    return opt.CROSS_PARTITION.value(options, target.table.properties) == "assume-stable"

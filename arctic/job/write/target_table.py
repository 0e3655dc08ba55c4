"""The table that a write goes to: the one that is there, or the one that the options describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from arctic import options as opt
from arctic.errors import AlreadyExistsError, ConflictError, InvalidInputError, NotFoundError
from arctic.iceberg.branching.named_branch import names_branch
from arctic.iceberg.snapshots.partition_filter import check_whole_partitions
from arctic.iceberg.storage.local_files import is_local
from arctic.iceberg.tables.create_table import create_table
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_by
from arctic.iceberg.tables.open_table import Identity, OpenTable, reopen, summary_number
from arctic.iceberg.values.partitioning import parse_partition_field
from arctic.job.read.asked_read import asked_cache, cached_access
from arctic.job.write.asked_write import AskedWrite
from arctic.table.node_trees import TINY_ROWS
from arctic.writing.conform.conform import Conform
from arctic.writing.conform.event_time import EventTime
from arctic.writing.conform.merged_columns import merged_columns
from arctic.writing.route import BASE_ROWS, FEW_ROWS
from arctic.writing.target import WriteOptions, WriteTarget
from arctic.writing.write_request import WriteMode, WriteRequest
from arctic.writing.writer import plan_write

_MANY_FILES = 64
"""Change files of this machine from which on their number is what a read costs, and not the nodes
they are in. Where files are far away that is so from the first one on: each is a request or two."""


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
        # One that would be made is not waited for, nor are its neighbours looked at.
        opened = reference.open(for_writing=True, suggests=key is None)
    except NotFoundError as error:
        if names_branch(reference.config, reference.identifier):
            raise
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
        try:
            return create_table(
                reference.config,
                reference.identifier,
                pa.schema([field for field in incoming if field.name != asked.action_column]),
                primary_key=key,
                partition_by=partition_by or (),
                properties=asked.layout,
                exist_ok=exist_ok,
            )
        except AlreadyExistsError:
            if not (exist_ok and asked.merges_schema):
                raise
        # Another write has made it meanwhile, of other columns.
        opened = reference.open(for_writing=True, suggests=False)
    if not exist_ok:
        raise AlreadyExistsError(f"table {opened.table.name!r} already exists")
    _check_agrees(opened, key, partition_by)
    return _merged(opened, asked, incoming) if asked.merges_schema else opened


def open_again(opened: OpenTable, *, identity: Identity) -> OpenTable:
    """Return the table that a write began with, as it is now.

    Raises:
        ConflictError: another one has its name.
    """
    now = reopen(opened, for_writing=True)
    check_same(now, identity=identity)
    return now


def check_same(opened: OpenTable, *, identity: Identity) -> None:
    """Refuse to go on with another table of the same name.

    Raises:
        ConflictError: the table is not the one that a write began with.
    """
    if opened.identity == identity:
        return
    if opened.identity[0] == identity[0]:
        raise ConflictError(
            f"table {opened.table.name!r}: whether it is written on a branch was changed during "
            "the write; write again"
        )
    raise ConflictError(
        f"table {opened.table.name!r} was dropped and created again during the write; write again"
    )


def write_target(opened: OpenTable, options: WriteOptions) -> WriteTarget:
    """Return a table as the tasks of a write see it."""
    # What was written last is asked for first, where a property has reads keep what they fetch.
    written_through = cached_access(opened, asked_cache({}, opened.table.properties))
    return WriteTarget(
        table=opened.table,
        schema=opened.arrow_schema,
        partition_arrays=opened.partitioner.arrays,
        partition_path=opened.partitioner.path,
        create_output=written_through.create_output,
        delete_files=opened.io.delete_quietly,
        options=options,
    )


def few_rows(opened: OpenTable, options: WriteOptions) -> int:
    """Return for how many rows a node of a small table is worth its files; 0: for any.

    A table that is tiny need not be divided at all. Of others only the fewest changes go to one
    node: while they wait, tables are not joined by their nodes, and look-ups read all of them.
    """
    if opened.change is None:
        return 0
    size_bytes = opened.summed("total-files-size")
    if size_bytes is None or size_bytes > options.target_file_bytes:
        return 0
    rows = opened.summed("total-records")
    is_tiny = size_bytes <= _tiny_bytes(opened) and rows is not None and rows <= TINY_ROWS
    if options.grows and is_tiny:
        return BASE_ROWS
    is_far = not is_local(opened.io.location)
    is_crumbled = (summary_number(opened.change, "total-data-files") or 0) >= _MANY_FILES
    return FEW_ROWS if is_far or is_crumbled else 0


def _tiny_bytes(opened: OpenTable) -> int:
    """Return up to what size it costs more to open the files of a table than to read them."""
    return opt.OPEN_FILE_COST.value({}, opened.table.properties)


def planned_rows(
    opened: OpenTable,
    target: WriteTarget,
    schema: pa.Schema,
    incoming: pa.Schema,
    asked: AskedWrite,
) -> Conform:
    """Return how the rows of a write are taken, unless it is refused whatever its rows are.

    Args:
        opened: the table.
        target: what tasks know of it.
        schema: its columns, as they are or are to be.
        incoming: the columns of the rows.
        asked: what the options say.

    Raises:
        InvalidInputError: columns, types or options that do not fit.
    """
    table, request = opened.table, asked.request_for(opened.table)
    is_stable = asked.assumes_stable(table)
    moves = may_move(target, request) and not is_stable
    conform = plan_write(table, schema, incoming, request=request, locates=moves)
    kept = conform.missing_columns if conform.keeps else ()
    if kept and request.action_column and not target.options.upsert_inserts:
        raise InvalidInputError(
            "option missing-columns = 'keep' with write.upsert.enabled=false: an insert would not "
            "look for the row whose values it keeps; set option write.upsert.enabled=true"
        )
    if target.options.keeps_all and request.mode is not WriteMode.OVERWRITE:
        _check_keeps_all(target, kept)
    if asked.where is not None:
        check_whole_partitions(opened.base, asked.where, table_name=table.name)
    replaces_some = asked.is_dynamic or asked.where is not None
    if request.mode is WriteMode.OVERWRITE and replaces_some and not is_stable and target.keys_move:
        raise InvalidInputError(
            f"overwrite of some partitions of table {table.name!r}: its key does not decide "
            "the partition, so a key of the new rows could also stay in a partition that is not "
            "replaced; overwrite the whole table, or set write.upsert.cross-partition=assume-stable"
        )
    return replace(conform, event_time=EventTime.of(table))


def _check_keeps_all(target: WriteTarget, kept: Sequence[str]) -> None:
    """Refuse to keep every event where one cannot tell by itself what it replaces."""
    table, why = target.table, None
    if table.is_keyed and target.keys_move:
        why = "its key does not decide the partition"
    elif table.ordering_columns:
        why = "it has ordering columns"
    elif table.weighs_rows:
        why = f"it has the merge engine {table.merge_engine.value!r}"
    elif kept:
        why = "the rows lack columns whose stored values are kept"
    if why is not None:
        raise InvalidInputError(
            f"{opt.KEEP_ALL_CHANGES.name} = 'true' for table {table.name!r}: {why}; expected a "
            "partition that follows from the key, whole rows and no ordering columns or merge "
            "engine, or leave the property out"
        )


def may_move(target: WriteTarget, request: WriteRequest) -> bool:
    """Say whether a row of the write may have its stored row in another partition."""
    if not target.keys_move or request.mode is WriteMode.OVERWRITE:
        return False
    return request.mode is not WriteMode.APPEND or request.action_column is not None


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
            target = write_target(now, asked.settings(table))
            planned_rows(now, target, found.applied(now.arrow_schema), incoming, asked)
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

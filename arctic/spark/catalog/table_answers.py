"""What a catalog asks of tables, answered."""

from __future__ import annotations

from contextlib import suppress

from pyspark.sql.types import StringType, StructField, StructType

from arctic import options as opt
from arctic.errors import ArcticError, InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.catalogs.listing import list_tables, table_identifiers
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.tables.missing_table import REPLACED, is_aside, returned_store, traces_of
from arctic.iceberg.tables.open_table import open_table
from arctic.job.changes.named_tables import drop_named, rename_named
from arctic.job.edit.whole_files import unmerged_changes
from arctic.job.past_state import PastState
from arctic.job.read.asked_read import AskedRead
from arctic.job.reference import parse_reference
from arctic.spark.base.catalog_protocol import (
    DoneAnswer,
    FailureKind,
    NamesAnswer,
    RowsAnswer,
    TableAnswer,
)
from arctic.spark.base.catalog_questions import (
    DropTableQuestion,
    PartitionsQuestion,
    RenameTableQuestion,
    TableQuestion,
    TablesQuestion,
)
from arctic.spark.catalog.described import config_of, described, dotted, sought_namespace
from arctic.spark.catalog.failures import CatalogFailureError, failures_of
from arctic.table.files import FileKind


def tables(asked: TablesQuestion) -> NamesAnswer:
    """List the tables of a namespace."""
    config = config_of(asked.catalog)
    if not asked.name:
        return NamesAnswer(names=())
    with failures_of(missing=FailureKind.NO_SUCH_NAMESPACE):
        found = list_tables(config, ".".join(sought_namespace(asked.name)))
    return NamesAnswer(names=[name.split(".") for name in found if not is_aside(name)])


def table(asked: TableQuestion) -> TableAnswer:
    """Describe a table; a past state of it must be there."""
    state: dict[str, str] = {}
    if asked.version is not None:
        state[opt.VERSION.name] = asked.version
    if asked.microseconds is not None:
        state[opt.AS_OF_TIMESTAMP.name] = str(asked.microseconds // 1000)
    if len(asked.name) < 2:
        raise CatalogFailureError("no namespace", FailureKind.NO_SUCH_TABLE)
    try:
        answer = described(asked.catalog, asked.name, state=state)
    except NotFoundError as error:
        if not _has_returned(asked):
            _tell_of_traces(asked)
            raise CatalogFailureError(error.message, FailureKind.NO_SUCH_TABLE) from error
        answer = described(asked.catalog, asked.name, state=state)
    if state:
        PastState.of(state).pinned(parse_reference(answer.options).open())
    return answer


def partitions(asked: PartitionsQuestion) -> RowsAnswer:
    """List the partitions of a table that have rows, as texts of their fields."""
    reference = parse_reference(asked.options)
    opened = None if reference.metadata_table is not None else reference.open()
    rows: list[list[str | None]] = []
    names: list[str] = []
    if opened is not None and opened.partitioner.steps:
        names = [step.name for step in opened.partitioner.steps]
        state = AskedRead.of(asked.options).state.pinned(opened)
        listed = list_files(opened, state, field_ids=(), row_filter=None)
        changes = unmerged_changes(listed, state)
        inserts = [file for file in changes if file.kind is FileKind.INSERT]
        found = {file.partition for file in (*listed.base, *inserts)}
        rows = [
            opened.partitioner.values(each) for each in sorted(found, key=opened.partitioner.path)
        ]
    schema = StructType([StructField(name, StringType()) for name in names])
    return RowsAnswer(schema=schema.jsonValue(), rows=rows, changed=())


def _has_returned(asked: TableQuestion) -> bool:
    """Say whether the name was free because the table was being replaced, which is over."""
    with suppress(ArcticError):
        return returned_store(open_catalog(config_of(asked.catalog)), tuple(asked.name)) is not None
    return False


def _tell_of_traces(asked: TableQuestion) -> None:
    """Name the tables that an interrupted replacement has left, which hold what was there."""
    name = ".".join(asked.name)
    traces: list[str] = []
    with suppress(ArcticError):
        found = table_identifiers(open_catalog(config_of(asked.catalog)), tuple(asked.name[:-1]))
        traces = traces_of([".".join(each) for each in found], name)
    if any(REPLACED in each for each in traces):
        raise CatalogFailureError(
            f"table {name!r} is being replaced, or whoever did was interrupted; if it does not "
            f"come back, of {' and '.join(traces)} the one with 'replaced' is the old table, one "
            "with 'staged' the new one: ALTER TABLE ... RENAME TO gives one of them the name, "
            "DROP TABLE removes the other"
        )


def dropped(asked: DropTableQuestion) -> DoneAnswer:
    """Remove a table.

    Raises:
        InvalidInputError: a branch, of which Spark knows as of a table.
    """
    config = config_of(asked.catalog)
    with suppress(NotFoundError):
        name = dotted(asked.name)
        try:
            drop_named(config, name, purge=asked.purge)
        except NotFoundError:
            open_table(config, name, suggests=False)
            raise
        return DoneAnswer(found=True)
    return DoneAnswer(found=False)


def renamed(asked: RenameTableQuestion) -> DoneAnswer:
    """Give a table another name; one without a namespace is in that of the table."""
    new_name = asked.new_name if len(asked.new_name) > 1 else (*asked.name[:-1], *asked.new_name)
    if any("." in part for part in new_name):
        raise InvalidInputError(f"table {new_name[-1]!r}: a name has no dot")
    config = config_of(asked.catalog)
    with failures_of(missing=FailureKind.NO_SUCH_TABLE, exists=FailureKind.TABLE_EXISTS):
        rename_named(config, dotted(asked.name), ".".join(new_name))
    return DoneAnswer(found=True)

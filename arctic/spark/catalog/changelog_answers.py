"""What a catalog asks of the changes of a table, answered: a range as options of a read.

Rules:
    - Spark says of each end whether it counts. Here a start never does and an end always, so an
      end that is meant otherwise is moved by one version, or to the millisecond beside it.
"""

from __future__ import annotations

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_range import version_place
from arctic.job.changes.change_scan import change_schema
from arctic.job.reference import parse_reference
from arctic.options import Option
from arctic.spark.base.catalog_protocol import FailureKind, TableAnswer
from arctic.spark.base.catalog_questions import ChangelogQuestion
from arctic.spark.base.spark_types import spark_schema
from arctic.spark.catalog.described import REFUSED_OPTIONS, table_options
from arctic.spark.catalog.failures import failures_of

_FIRST = "0"
"""The version before the first commit."""


def changelog(asked: ChangelogQuestion) -> TableAnswer:
    """Describe the changes of a table, as a table that is read with options of its own.

    Raises:
        InvalidInputError: a metadata table, or a column that changes have themselves.
        NotFoundError: a version that the table does not have.
    """
    with failures_of(missing=FailureKind.NO_SUCH_TABLE):
        options = table_options(asked.catalog, asked.name)
        reference = parse_reference(options)
        opened = reference.open(suggests=False)
    if reference.metadata_table is not None:
        raise InvalidInputError(
            f"changes of {reference.identifier}.{reference.metadata_table}: a metadata table has "
            f"none; expected {reference.identifier}"
        )
    options |= {
        opt.CHANGE_ROWS.name: "net" if asked.is_net else "commits",
        opt.CHANGE_UPDATES.name: str(asked.tells_updates).lower(),
        **_start(opened, asked),
        **_end(opened, asked),
    }
    return TableAnswer(
        name=".".join(asked.name),
        options=options,
        schema=spark_schema(change_schema(AskedChanges.of(options))).jsonValue(),
        partitions=(),
        properties={},
        key=(),
        ordering=(),
        trusted=(),
        refused_commands=None,
        evolves=False,
        is_writable=False,
        refused_options=REFUSED_OPTIONS,
        staged=None,
    )


def _start(opened: OpenTable, asked: ChangelogQuestion) -> dict[str, str]:
    if asked.start is None:
        return {opt.START_VERSION.name: _FIRST}
    return _place(
        opened,
        asked.start,
        opt.START_VERSION,
        opt.START_TIMESTAMP,
        is_before=asked.start_inclusive,
    )


def _end(opened: OpenTable, asked: ChangelogQuestion) -> dict[str, str]:
    if asked.end is None:
        return {}
    return _place(
        opened,
        asked.end,
        opt.END_VERSION,
        opt.END_TIMESTAMP,
        is_before=not asked.end_inclusive,
    )


def _place(
    opened: OpenTable,
    said: str | int,
    version: Option[str | None],
    timestamp: Option[int | None],
    *,
    is_before: bool,
) -> dict[str, str]:
    """Return the option for the last place that a bound lets in, or that comes right before it."""
    if isinstance(said, str):
        number = version_place(opened, said).version(opened)
        return {version.name: str(max(number - is_before, 0))}
    # The last millisecond up to it, or before it.
    return {timestamp.name: str((said - is_before) // 1000)}

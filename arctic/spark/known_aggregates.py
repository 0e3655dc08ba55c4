"""Aggregates over all rows that a query asks for and metadata answers.

Must not know: how they are computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import StructType

from arctic import options as opt
from arctic.iceberg.open_table import OpenTable, open_table
from arctic.iceberg.pin import pin
from arctic.job.aggregate_job import aggregate_metadata
from arctic.job.change_range import asks_for_changes
from arctic.job.reference import parse_reference
from arctic.options import Scope
from arctic.scan.aggregate import Aggregate, AggregateKind
from arctic.spark.types import arrow_schema, check_types
from arctic.table.files import Value
from arctic.table.snapshot import TableSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAggregates:
    """What metadata says of all rows."""

    values: tuple[Value, ...]
    """One for each aggregate, in Iceberg's internal form; None is null."""
    snapshot: TableSnapshot
    """The state that was asked about."""


def known_aggregates(
    options: Mapping[str, str],
    asked: Sequence[Sequence[str]],
    *,
    relation: StructType,
    snapshot: TableSnapshot | None,
) -> KnownAggregates | None:
    """Return the values of aggregates; None: the rows must be read.

    Args:
        options: ``path``, catalog and read options.
        asked: for each of them its kind, then its column unless it counts rows:
            ``[["count(*)"], ["max", "id"]]``.
        relation: the columns that the query takes the table to have.
        snapshot: what another scan of the query has pinned.

    Raises:
        ArcticError: as ``begin_scan``; InvalidInputError for a column of another type, as when
            the rows are read.
    """
    reference = parse_reference(options)
    if reference.metadata_table is not None or asks_for_changes(options):
        return None
    opt.check_known(options, Scope.READ)
    opened = open_table(reference.config, reference.identifier)
    _check_relation(opened, relation)
    by_name = {column.name: column for column in opened.table.columns}
    aggregates = [
        Aggregate(kind=AggregateKind(kind), column=by_name[names[0]] if names else None)
        for kind, *names in asked
    ]
    state = snapshot or pin(
        opened,
        snapshot_id=opt.SNAPSHOT_ID.value(options),
        as_of_ms=opt.AS_OF_TIMESTAMP.value(options),
    )
    values = aggregate_metadata(opened, state, options, aggregates)
    return None if values is None else KnownAggregates(values=values, snapshot=state)


def _check_relation(opened: OpenTable, relation: StructType) -> None:
    requested = arrow_schema(relation)
    check_types(pa.schema([opened.arrow_schema.field(name) for name in requested.names]), requested)

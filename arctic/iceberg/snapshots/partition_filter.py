"""Which partitions a row filter leaves over: its tests, carried over to partition values.

Rules:
    - A partition is left out only if no row of it can match.
    - Of columns that the table no longer has, and of those that no partition field is made of,
      nothing is known.

Must not know: what transforms do to values.
"""

from __future__ import annotations

from typing import cast

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.types import PrimitiveType

from arctic.errors import InvalidInputError
from arctic.iceberg.metadata.bounds import bound_decoder
from arctic.iceberg.values.partition_values import PartitionValues, holds
from arctic.table.files import ColumnBounds, Partition
from arctic.table.filters.predicate import And, Op, Or, Predicate, may_match, tests_of

_EXACT = frozenset({Op.EQ, Op.IN, Op.IS_NULL, Op.LT, Op.LE, Op.GT, Op.GE})
"""Tests that are of a partition's value what they are of its rows."""


class PartitionFilter:
    """Says which partitions can hold a row that matches; each partition is judged once."""

    def __init__(self, table: Table, row_filter: Predicate) -> None:
        spec, schema = table.spec(), table.schema()
        top_level = {column.field_id: column for column in schema.columns}
        self._fields = tuple(field.field_id for field in spec.fields)
        by_source: dict[int, list[PartitionValues]] = {}
        for field in spec.fields:
            source = top_level.get(field.source_id)
            if source is not None:
                values = PartitionValues.of(field.field_id, field.transform, source.field_type)
                by_source.setdefault(field.source_id, []).append(values)
        self._projected = _projected(row_filter, by_source)
        self._decoders = tuple(
            bound_decoder(cast(PrimitiveType, part.field_type))
            for part in spec.partition_type(schema).fields
        )
        self._known: dict[Partition, bool] = {}

    def matches(self, partition: Partition) -> bool:
        """Say whether some row of the partition can match."""
        known = self._known.get(partition)
        if known is None:
            values = dict(zip(self._fields, partition, strict=True))
            known = self._known[partition] = holds(self._projected, values)
        return known

    def opens(self, manifest: ManifestFile) -> bool:
        """Say whether some partition of a manifest can have a row that matches."""
        summaries = manifest.partitions
        if summaries is None or len(summaries) != len(self._fields):
            return True
        bounds = {}
        for field_id, decode, summary in zip(self._fields, self._decoders, summaries, strict=True):
            lower, upper = summary.lower_bound, summary.upper_bound
            all_null = summary.contains_null and lower is None and upper is None
            bounds[field_id] = ColumnBounds(
                lower=decode(lower),
                upper=decode(upper),
                null_count=int(all_null) if all_null or not summary.contains_null else None,
            )
        return may_match(self._projected, bounds, 1)


def check_whole_partitions(table: Table, row_filter: Predicate, *, table_name: str) -> None:
    """Refuse a filter that can hold for some rows of a partition and not for others.

    Raises:
        InvalidInputError: naming the column whose values partitions do not have.
    """
    sources = {
        field.source_id for field in table.spec().fields if str(field.transform) == "identity"
    }
    for test in tests_of(row_filter):
        if test.field_id not in sources or test.op not in _EXACT:
            raise InvalidInputError(
                f"overwrite of table {table_name!r} where {test}: only whole partitions are "
                "replaced; expected a comparison of a column that the table is partitioned by"
            )


def _projected(predicate: Predicate, by_source: dict[int, list[PartitionValues]]) -> Predicate:
    """Return what is true of the partition of every row for which a filter is."""
    if isinstance(predicate, And):
        return And(tuple(_projected(child, by_source) for child in predicate.children))
    if isinstance(predicate, Or):
        return Or(tuple(_projected(child, by_source) for child in predicate.children))
    fields = by_source.get(predicate.field_id, [])
    return And(tuple(field.projected(predicate) for field in fields))

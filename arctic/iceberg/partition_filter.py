"""Which partitions a row filter leaves over, by PyIceberg's projections of its tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyiceberg.expressions.visitors import (
    expression_evaluator,
    inclusive_projection,
    manifest_evaluator,
)
from pyiceberg.manifest import ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from arctic.iceberg.filters import to_expression
from arctic.table.files import Partition
from arctic.table.predicate import And, Or, Predicate


class PartitionFilter:
    """Says which partitions can hold a row that matches; each partition is judged once."""

    def __init__(self, table: Table, row_filter: Predicate) -> None:
        spec, schema = table.spec(), table.schema()
        names = {column.field_id: column.name for column in schema.columns}
        projected = inclusive_projection(schema, spec, case_sensitive=True)(
            to_expression(_renamed(row_filter, names))
        )
        partition_schema = Schema(*spec.partition_type(schema).fields)
        self._matches_record = expression_evaluator(partition_schema, projected, True)
        self._known: dict[Partition, bool] = {}
        self.opens: Callable[[ManifestFile], bool] = manifest_evaluator(
            spec, schema, projected, case_sensitive=True
        )

    def matches(self, partition: Partition) -> bool:
        """Say whether some row of the partition can match."""
        known = self._known.get(partition)
        if known is None:
            known = self._known[partition] = bool(self._matches_record(Record(*partition)))
        return known


def _renamed(predicate: Predicate, names: dict[int, str]) -> Predicate:
    """Name columns as they are called now; what tests a dropped column may hold everywhere."""
    if isinstance(predicate, And):
        return And(tuple(_renamed(child, names) for child in predicate.children))
    if isinstance(predicate, Or):
        return Or(tuple(_renamed(child, names) for child in predicate.children))
    name = names.get(predicate.field_id)
    return And(()) if name is None else replace(predicate, column=name)

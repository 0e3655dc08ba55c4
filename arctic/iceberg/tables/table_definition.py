"""What a new table is to be, and how an existing one differs from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from arctic.errors import AlreadyExistsError, InvalidInputError
from arctic.iceberg.catalogs.pair import primary_key_of
from arctic.iceberg.tables.user_properties import user_properties
from arctic.iceberg.values.layout.index_columns import check_index
from arctic.iceberg.values.layout.sort_order import check_sort_columns
from arctic.iceberg.values.merge_engines import merge_engine, required_by, row_rules
from arctic.iceberg.values.named_columns import check_named
from arctic.iceberg.values.names import check_new_name, parse_identifier
from arctic.iceberg.values.ordering import ordering_columns
from arctic.iceberg.values.partitioning import partition_spec, partition_texts
from arctic.iceberg.values.schema import arrow_schema, iceberg_schema, with_required
from arctic.tree.key_hash import check_key_type


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefinition:
    """What the caller wants, checked."""

    parts: tuple[str, ...]
    schema: Schema
    spec: PartitionSpec
    primary_key: tuple[str, ...]
    properties: dict[str, str]

    @property
    def name(self) -> str:
        """As the user writes it."""
        return ".".join(self.parts)


def define(
    identifier: str,
    schema: pa.Schema | Schema,
    primary_key: Sequence[str],
    partition_by: Sequence[str],
    properties: Mapping[str, str],
    own_properties: Mapping[str, str],
) -> TableDefinition:
    """Check what a caller wants; the arguments and errors are those of ``create_table``."""
    parts = parse_identifier(identifier)
    check_new_name(parts)
    kept = user_properties(properties)
    if isinstance(partition_by, str):
        raise InvalidInputError(f"partition_by {partition_by!r}: expected a list of fields")
    key = _checked_key(primary_key)
    columns = with_required(iceberg_schema(schema), key)
    check_named(kept, [column.name for column in columns.fields])
    for name in key:
        check_key_type(str(columns.find_field(name).field_type), name)
    spec = partition_spec(columns, partition_by, keyed=bool(key))
    row_rules(kept, columns, spec, key)
    check_sort_columns(kept, columns)
    check_index(kept, columns)
    return TableDefinition(
        parts=parts,
        schema=columns,
        spec=spec,
        primary_key=key,
        properties={**kept, **required_by(kept), **own_properties},
    )


def _checked_key(primary_key: Sequence[str]) -> tuple[str, ...]:
    if isinstance(primary_key, str):
        raise InvalidInputError(f"primary key {primary_key!r}: expected a list of column names")
    key = tuple(primary_key)
    for name in key:
        if "," in name or not name.strip():
            raise InvalidInputError(
                f"primary key column {name!r}: the format joins key names with ',', so it cannot "
                "hold this one"
            )
    if len(set(key)) != len(key):
        raise InvalidInputError(f"primary key {list(key)}: a column is named twice")
    return key


def check_agrees(definition: TableDefinition, base: Table) -> None:
    """Refuse an existing table that is not as the wanted one would be.

    Raises:
        AlreadyExistsError: saying in what it differs.
    """
    differs = difference(definition, base)
    if differs:
        raise AlreadyExistsError(f"table {definition.name!r} already exists, but {differs}")


def difference(definition: TableDefinition, base: Table) -> str | None:
    """Say how an existing table differs from the wanted one."""
    key = primary_key_of(base.properties)
    if key != definition.primary_key:
        return f"its primary key is {list(key)}, not {list(definition.primary_key)}"
    there = partition_texts(base.spec(), base.schema())
    wanted = partition_texts(definition.spec, definition.schema)
    if there != wanted:
        return f"it is partitioned by {list(there)}, not {list(wanted)}"
    columns, wanted_columns = arrow_schema(base.schema()), arrow_schema(definition.schema)
    for column in wanted_columns:
        if column.name not in columns.names:
            return f"it has no column {column.name!r}"
        found = columns.field(column.name)
        if not found.equals(column):
            return f"its column {column.name!r} is {_shown(found)}, not {_shown(column)}"
    if columns.names != wanted_columns.names:
        return f"its columns are {columns.names}, not {wanted_columns.names}"
    order, wanted_order = map(ordering_columns, (base.properties, definition.properties))
    if wanted_order and order != wanted_order:
        return f"its ordering columns are {list(order)}, not {list(wanted_order)}"
    engine, wanted_engine = map(merge_engine, (base.properties, definition.properties))
    if engine is not wanted_engine:
        return f"its merge engine is {engine.value}, not {wanted_engine.value}"
    return None


def _shown(column: pa.Field) -> str:
    return f"{column.type}{'' if column.nullable else ' not null'}"

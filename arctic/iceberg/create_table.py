"""Creating the pair of Iceberg tables that is one keyed table.

Creation goes forward only:
    1. Base is created: one of several concurrent callers does.
    2. Change is created from what base says, by that caller or, if it stopped, by the next one
       that wants the same table. Whoever creates change has created the table.
    3. A change store that names another base is a leftover of a drop that stopped half way. Only
       the caller that created base removes it: nobody else can tell a slow creator from a dead one.

Source: amoro MixedTables @96a4d781a. Differs: a failed creation is completed, not undone, because
another process may be completing it already; and the change store names its base store's UUID.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import TableAlreadyExistsError, ValidationError
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from arctic.errors import AlreadyExistsError, FormatError, InvalidInputError
from arctic.iceberg.catalog import CatalogConfig, create_namespace, load_table, open_catalog
from arctic.iceberg.change_store import find_change
from arctic.iceberg.drop_table import drop_table
from arctic.iceberg.leftover import check_is_leftover, drop_leftover
from arctic.iceberg.named_columns import check_named
from arctic.iceberg.names import change_identifier, check_new_name, parse_identifier
from arctic.iceberg.new_location import discard_lost, new_location
from arctic.iceberg.new_table import note_new
from arctic.iceberg.open_table import OpenTable, open_base, wait_for_creator
from arctic.iceberg.pair import (
    base_properties,
    belongs_to,
    change_identifier_of,
    change_properties,
    primary_key_of,
    store_of,
)
from arctic.iceberg.partitioning import partition_spec, partition_texts
from arctic.iceberg.schema import arrow_schema, iceberg_schema, with_required
from arctic.iceberg.table_io import TableIO
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.user_properties import user_properties
from arctic.tree.key_type import check_key_type

__all__ = ["create_table", "drop_table"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Definition:
    """What the caller wants, checked."""

    parts: tuple[str, ...]
    schema: Schema
    spec: PartitionSpec
    primary_key: tuple[str, ...]
    properties: dict[str, str]

    @property
    def name(self) -> str:
        return ".".join(self.parts)


def create_table(
    config: CatalogConfig,
    identifier: str,
    schema: pa.Schema | Schema,
    *,
    primary_key: Sequence[str],
    partition_by: Sequence[str],
    properties: Mapping[str, str],
    own_properties: Mapping[str, str] | None = None,
    exist_ok: bool = False,
) -> OpenTable:
    """Create a table, or complete one whose creation was interrupted.

    Args:
        config: the catalog; a missing warehouse is made.
        identifier: ``namespace.table``; the namespace is created if need be.
        schema: the columns; key columns become required.
        primary_key: column names in key order; empty makes a table without upserts.
        partition_by: ``region``, ``bucket(16, id)``, ``truncate(4, name)``, ``day(ts)``, ...
        properties: table properties of a user, for both stores.
        own_properties: what Arctic notes in the base store.
        exist_ok: return a table that exists, if it has the same columns, key and partitions.

    Raises:
        AlreadyExistsError: the name is taken, or what is there differs.
        InvalidInputError: a name, column, key, partition field or property that cannot be.
        UnsupportedError: a partition field that a keyed table cannot carry.
        FormatError: a base store with rows but without its own change store.
    """
    definition = _define(
        identifier, schema, primary_key, partition_by, properties, own_properties or {}
    )
    catalog = open_catalog(config, create=True)
    create_namespace(catalog, definition.parts[:-1])
    base, created = _find_or_create_base(catalog, definition)
    if definition.primary_key:
        created = _complete_pair(catalog, definition, base, created=created)
    if not created and not exist_ok:
        raise AlreadyExistsError(
            f"table {definition.name!r} already exists; open it, or choose another name"
        )
    if not created:
        _check_agrees(definition, base)
    opened = open_base(config, catalog, definition.parts, base)
    if created:
        note_new(opened)
    return opened


def _define(
    identifier: str,
    schema: pa.Schema | Schema,
    primary_key: Sequence[str],
    partition_by: Sequence[str],
    properties: Mapping[str, str],
    own_properties: Mapping[str, str],
) -> _Definition:
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
    return _Definition(
        parts=parts,
        schema=columns,
        spec=partition_spec(columns, partition_by, keyed=bool(key)),
        primary_key=key,
        properties={**kept, **own_properties},
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


def _find_or_create_base(catalog: Catalog, definition: _Definition) -> tuple[Table, bool]:
    """Return the base store, and whether this call created it."""
    base = load_table(catalog, definition.parts)
    if base is None:
        change = change_identifier(definition.parts)
        if definition.primary_key:
            check_is_leftover(catalog, change, of=definition.parts)
        properties = base_properties(definition.properties, definition.primary_key, change)
        created = _create(catalog, definition.parts, definition, properties)
        if created is not None:
            return created, True
        base = load_table(catalog, definition.parts)
    if base is None:
        raise AlreadyExistsError(
            f"table {definition.name!r} was created and dropped by others meanwhile; try again"
        )
    if store_of(base.properties) != "base":
        raise AlreadyExistsError(
            f"table {definition.name!r} already exists, but is not Arctic's; choose another name"
        )
    return base, False


def _complete_pair(
    catalog: Catalog, definition: _Definition, base: Table, *, created: bool
) -> bool:
    """Make sure that base has its change store; say whether this call created it."""
    if not primary_key_of(base.properties):
        return False
    if not created and find_change(catalog, base, name=definition.name):
        return False
    identifier = change_identifier_of(base.properties, table_name=definition.name)
    change = load_table(catalog, identifier)
    leftover = change is not None and not belongs_to(change, base)
    if created and change is not None and leftover:
        _check_is_nobodys(catalog, definition, base)
        drop_leftover(catalog, change)
        change = None
    elif not created and (leftover or (change is None and _difference(definition, base))):
        # We cannot complete this pair; whoever created base may still be about to.
        change = wait_for_creator(catalog, base, identifier)
    if change is not None and not belongs_to(change, base):
        raise FormatError(
            f"table {definition.name!r} is half made: {'.'.join(identifier)!r} is the change store "
            "of an earlier table; drop the table and create it again"
        )
    if change is not None:
        return False
    if not created:
        _check_completable(definition, base)
    return _create(catalog, identifier, definition, change_properties(base)) is not None


def _check_is_nobodys(catalog: Catalog, definition: _Definition, base: Table) -> None:
    """Refuse the place of a change store that was moved there by a rename since it was free."""
    try:
        check_is_leftover(
            catalog,
            change_identifier_of(base.properties, table_name=definition.name),
            of=definition.parts,
        )
    except AlreadyExistsError:
        with catalog_errors(f"drop table {definition.name!r}"):
            catalog.drop_table(definition.parts)
        TableIO.of(base).delete_quietly([base.metadata_location])
        raise


def _create(
    catalog: Catalog,
    identifier: tuple[str, ...],
    definition: _Definition,
    properties: dict[str, str],
) -> Table | None:
    """Create one Iceberg table; None: somebody else was faster."""
    location = None
    with catalog_errors(f"create table {'.'.join(identifier)!r}"):
        try:
            location = new_location(catalog, identifier)
            return catalog.create_table(
                identifier,
                location=location,
                schema=definition.schema,
                partition_spec=definition.spec,
                properties=properties,
            )
        except TableAlreadyExistsError:
            winner = load_table(catalog, identifier)
            discard_lost(catalog, location, properties, winner=winner)
            return None
        except (ValueError, ValidationError) as error:
            raise InvalidInputError(
                f"create table {'.'.join(identifier)!r}: {error}; a catalog without a place for "
                "tables needs the option warehouse"
            ) from error


def _check_completable(definition: _Definition, base: Table) -> None:
    if base.metadata.snapshots:
        raise FormatError(
            f"table {definition.name!r} has rows but its change store is missing; register the "
            "change store again, or drop the table"
        )
    difference = _difference(definition, base)
    if difference:
        raise AlreadyExistsError(
            f"table {definition.name!r} is half made with another definition: {difference}; "
            "drop it first"
        )


def _check_agrees(definition: _Definition, base: Table) -> None:
    difference = _difference(definition, base)
    if difference:
        raise AlreadyExistsError(f"table {definition.name!r} already exists, but {difference}")


def _difference(definition: _Definition, base: Table) -> str | None:
    """Say in what the wanted table differs from the one that is there."""
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
    return None


def _shown(column: pa.Field) -> str:
    return f"{column.type}{'' if column.nullable else ' not null'}"

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

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import TableAlreadyExistsError, ValidationError
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from arctic.errors import AlreadyExistsError, FormatError, InvalidInputError
from arctic.iceberg.branching.named_branch import check_no_branch
from arctic.iceberg.catalogs.catalog import (
    CatalogConfig,
    create_namespace,
    load_table,
    open_catalog,
)
from arctic.iceberg.catalogs.change_store import find_change, wait_for_creator
from arctic.iceberg.catalogs.leftover import check_is_leftover, drop_leftover
from arctic.iceberg.catalogs.pair import (
    base_properties,
    belongs_to,
    change_identifier_of,
    change_properties,
    primary_key_of,
    store_of,
)
from arctic.iceberg.ownership.new_location import discard_lost, new_location
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.tables.new_table import note_new
from arctic.iceberg.tables.open_table import OpenTable, open_base
from arctic.iceberg.tables.table_definition import (
    TableDefinition,
    check_agrees,
    define,
    difference,
)
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.layout.sort_order import sort_order
from arctic.iceberg.values.names import change_identifier


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
    definition = define(
        identifier, schema, primary_key, partition_by, properties, own_properties or {}
    )
    catalog = open_catalog(config, create=True)
    check_no_branch(catalog, definition.parts)
    create_namespace(catalog, definition.parts[:-1])
    base, created = _find_or_create_base(catalog, definition)
    if definition.primary_key:
        created = _complete_pair(catalog, definition, base, created=created)
    if not created and not exist_ok:
        raise AlreadyExistsError(
            f"table {definition.name!r} already exists; open it, or choose another name"
        )
    if not created:
        check_agrees(definition, base)
    opened = open_base(config, catalog, definition.parts, base)
    if created:
        note_new(opened)
    return opened


def _find_or_create_base(catalog: Catalog, definition: TableDefinition) -> tuple[Table, bool]:
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
    catalog: Catalog, definition: TableDefinition, base: Table, *, created: bool
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
    elif not created and (leftover or (change is None and difference(definition, base))):
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


def _check_is_nobodys(catalog: Catalog, definition: TableDefinition, base: Table) -> None:
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
    definition: TableDefinition,
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
                sort_order=sort_order(
                    definition.properties if store_of(properties) == "base" else {},
                    definition.schema,
                ),
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


def _check_completable(definition: TableDefinition, base: Table) -> None:
    if base.metadata.snapshots:
        raise FormatError(
            f"table {definition.name!r} has rows but its change store is missing; register the "
            "change store again, or drop the table"
        )
    differs = difference(definition, base)
    if differs:
        raise AlreadyExistsError(
            f"table {definition.name!r} is half made with another definition: {differs}; "
            "drop it first"
        )

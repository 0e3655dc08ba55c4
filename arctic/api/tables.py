"""The verbs that make, find, change and remove tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from arctic.api.table import Table, evolve, renamed, with_properties
from arctic.iceberg.catalogs import catalog as catalogs
from arctic.iceberg.tables import create_table as tables
from arctic.iceberg.tables.open_table import open_table as open_stores
from arctic.iceberg.tables.set_properties import PropertyChange
from arctic.job.reference import Catalog, as_names, call_options, table_reference


def create_table(
    identifier: str,
    schema: Any,
    *,
    primary_key: str | Sequence[str] = (),
    partition_by: str | Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    exist_ok: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Table:
    """Create a table and return it.

    Args:
        identifier: ``namespace.table``; the namespace is created if need be.
        schema: a ``pyarrow.Schema`` or a PyIceberg ``Schema``.
        primary_key: key columns in key order, or the only one; none makes a table without upserts.
        partition_by: such as ``["day(ts)", "bucket(16, id)", "region"]``.
        properties: table properties, see ``docs/options.md``.
        exist_ok: return the table that is there, if it has the same columns, key and partitions.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        AlreadyExistsError: the name is taken.
        InvalidInputError: a column type, key, partition field or property that cannot be.
        UnsupportedError: a partition transform that a keyed table cannot carry.
    """
    options = call_options(identifier, warehouse, catalog)
    reference = table_reference(options)
    opened = tables.create_table(
        reference.config,
        reference.identifier,
        schema,
        primary_key=as_names(primary_key),
        partition_by=as_names(partition_by),
        properties=dict(properties or {}),
        exist_ok=exist_ok,
    )
    return Table(opened, options)


def open_table(
    identifier: str, *, warehouse: str | None = None, catalog: Catalog | None = None
) -> Table:
    """Open a table.

    Raises:
        NotFoundError: no such table.
        UnsupportedError: an Iceberg table that is not Arctic's, or of a newer format.
        FormatError: half of a table, or stores that do not fit together.
    """
    options = call_options(identifier, warehouse, catalog)
    reference = table_reference(options)
    return Table(open_stores(reference.config, reference.identifier), options)


def drop_table(
    identifier: str,
    *,
    purge: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> None:
    """Remove a table from the catalog, and with ``purge`` its files too.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: with ``purge``, another table may have files in the same folders.
        ConflictError: with ``purge``, others renamed or registered it meanwhile; the files stay.
    """
    reference = table_reference(call_options(identifier, warehouse, catalog))
    tables.drop_table(reference.config, reference.identifier, purge=purge)


def evolve_schema(
    identifier: str,
    *,
    add: Mapping[str, pa.DataType | pa.Field] | None = None,
    rename: Mapping[str, str] | None = None,
    widen: Mapping[str, pa.DataType] | None = None,
    drop: str | Sequence[str] = (),
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Table:
    """Change the columns of a table, all at once, and return it as it is then.

    No file is rewritten: older rows have null in an added column. Writers and readers that are at
    work finish with the columns they began with.

    Args:
        identifier: ``namespace.table``.
        add: name -> type of optional columns, which come after the others.
        rename: old name -> new name.
        widen: column -> ``int64`` for int32, ``float64`` for float32, or a decimal of more digits.
        drop: columns that go. Added again, a column of that name begins with nulls.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: an unknown or taken name, a type that values would not survive, or a
            column of the key or of a partition field that is to be dropped or retyped.
        ConflictError: other changes of the columns won every try; nothing was changed.
        CommitStateUnknownError: the catalog did not answer; look at the columns.
    """
    options = call_options(identifier, warehouse, catalog)
    return evolve(options, add=add, rename=rename, widen=widen, drop=drop)


def set_properties(
    identifier: str,
    properties: Mapping[str, str],
    *,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Table:
    """Set properties of a table, and return it as it is then.

    Also of a table that cannot be opened because a property has a bad value. A call that was
    interrupted may have set them for reads and not yet in the change store; call again.

    Args:
        identifier: ``namespace.table``.
        properties: name -> value, as in ``create_table``; others stay as they are.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a name that is not known or Arctic's own, or a value that it cannot have.
        ConflictError: other commits won every try; call again.
        CommitStateUnknownError: the catalog did not answer; call again.
    """
    options = call_options(identifier, warehouse, catalog)
    return with_properties(options, PropertyChange(wanted=properties))


def unset_properties(
    identifier: str,
    names: str | Sequence[str],
    *,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Table:
    """Remove properties of a table, so that defaults count again, and return it as it is then.

    A property that is not there is no failure. Errors are those of ``set_properties``.

    Args:
        identifier: ``namespace.table``.
        names: of the properties.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.
    """
    options = call_options(identifier, warehouse, catalog)
    return with_properties(options, PropertyChange(removed=as_names(names)))


def rename(
    identifier: str,
    new_identifier: str,
    *,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Table:
    """Give a table another name, also in another namespace, and return it under that.

    Its files stay where they are. A call that was interrupted leaves the table under its old name,
    complete; call again. Writers that are at work under the old name fail and commit nothing.

    Args:
        identifier: ``namespace.table``.
        new_identifier: as it shall be called; the namespace is created if need be.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        AlreadyExistsError: the new name is taken.
        InvalidInputError: a name that no table can have.
        UnsupportedError: the catalog cannot rename tables.
        ConflictError: other commits won every try; call again.
    """
    return renamed(call_options(identifier, warehouse, catalog), new_identifier)


def list_tables(
    namespace: str | None = None,
    *,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> list[str]:
    """Return the dotted names of the tables in a namespace, or in all, sorted."""
    config = catalogs.CatalogConfig.from_options(call_options(None, warehouse, catalog))
    return list(catalogs.list_tables(config, namespace))

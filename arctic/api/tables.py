"""The verbs that make, find, change and remove tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from arctic.api.table import Table, evolve, renamed, with_properties
from arctic.iceberg.catalogs import catalog as catalogs
from arctic.iceberg.catalogs import listing
from arctic.iceberg.tables import create_table as tables
from arctic.iceberg.tables.set_properties import PropertyChange
from arctic.iceberg.values.layout.with_layout import with_layout
from arctic.iceberg.values.ordering import with_ordering
from arctic.job.changes.named_tables import drop_named
from arctic.job.reference import (
    Catalog,
    as_names,
    call_options,
    parse_reference,
    table_reference,
)


def create_table(
    identifier: str,
    schema: Any,
    *,
    primary_key: str | Sequence[str] = (),
    partition_by: str | Sequence[str] = (),
    ordering_columns: str | Sequence[str] = (),
    sort_by: str | Sequence[str] = (),
    index: str | Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    exist_ok: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Table:
    """Create a table and return it.

    Args:
        identifier: ``namespace.table``; a missing namespace is created.
        schema: a ``pyarrow.Schema`` or a PyIceberg ``Schema``.
        primary_key: the key columns in key order, or the name of the only one. Empty: the table has
            no key, so it takes appends and overwrites, but no upserts or deletes.
        partition_by: partition fields, such as ``["day(ts)", "bucket(16, id)", "region"]``.
        ordering_columns: columns by which the greatest row of a key wins for ever, however late the
            others come, the most significant first; see ``docs/ordering.md``. Empty: the row that
            is written last wins.
        sort_by: what rows are sorted by in base files, the most significant first, such as
            ``["day", "hilbert(lat, lon)"]``; the columns of a ``hilbert`` count alike. Filters by
            them skip files and parts of files; see ``docs/skipping.md``.
        index: columns of which files have bloom filters, for filters by single values.
        properties: table properties, see ``docs/options.md``.
        exist_ok: return an existing table of this name, if it has the same columns, key, partition
            fields and, where they are given, ordering columns.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        AlreadyExistsError: the name is taken; with ``exist_ok``, by a table that differs.
        InvalidInputError: a name, column type, key, partition field, ordering column or property
            that no table can have.
        UnsupportedError: a partition transform that a table with a key cannot have, or ordering
            columns where the key does not decide the partition.
    """
    options = call_options(identifier, warehouse, catalog)
    reference = table_reference(options)
    opened = tables.create_table(
        reference.config,
        reference.identifier,
        schema,
        primary_key=as_names(primary_key),
        partition_by=as_names(partition_by),
        properties=with_layout(
            with_ordering(properties or {}, as_names(ordering_columns)),
            sort_by=as_names(sort_by),
            index=as_names(index),
        ),
        exist_ok=exist_ok,
    )
    return Table(opened, options)


def open_table(
    identifier: str, *, warehouse: str | None = None, catalog: Catalog | None = None
) -> Table:
    """Open a table.

    Args:
        identifier: ``namespace.table``, or ``namespace.table.branch_x`` for a branch, whose rows
            alone are read and written.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table or branch.
        UnsupportedError: an Iceberg table that is not Arctic's, or of a newer format; a branch of a
            table with a key.
        FormatError: one of its two stores is missing, or they do not fit together.
    """
    options = call_options(identifier, warehouse, catalog)
    return Table(parse_reference(options).whole().open(), options)


def drop_table(
    identifier: str,
    *,
    purge: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> None:
    """Remove a table from the catalog.

    Args:
        identifier: ``namespace.table``.
        purge: delete its files too; without it they stay where they are.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: the table is published; with ``purge``, another table may have files in
            the same folders.
        ConflictError: with ``purge``, somebody renamed or registered the table meanwhile; its files
            stay.
        StorageError: the catalog cannot be reached. Or, with ``purge``, files could not be deleted:
            the table is gone all the same, and the error names what stays.
    """
    reference = table_reference(call_options(identifier, warehouse, catalog))
    drop_named(reference.config, reference.identifier, purge=purge)


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
    """Change the columns of a table in one commit of each store, and return the changed table.

    No file is rewritten: rows written before have null in an added column. Writes and reads that
    have begun finish with the columns they began with.

    Args:
        identifier: ``namespace.table``.
        add: name -> type of new columns. They are optional, and come after the others.
        rename: old name -> new name.
        widen: column -> ``int64`` for int32, ``float64`` for float32, or a decimal of more digits.
        drop: columns to remove. A column added later under the same name begins with nulls.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: an unknown or taken name, a type that does not hold every value of the
            old one, or a drop or change of type of a column that the key or a partition field uses.
        ConflictError: other changes of the columns won every try; nothing was changed.
        CommitStateUnknownError: the catalog did not answer; look at the columns, then try again.
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
    """Set properties of a table, and return the changed table.

    This also mends a table that cannot be opened because one of its properties has a bad value. The
    base store is changed first, then the change store; after a call that was interrupted between
    the two, call again.

    Args:
        identifier: ``namespace.table``.
        properties: name -> value, as in ``create_table``; all others stay as they are.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a name that is unknown or that only Arctic sets, or a value that the
            property cannot have.
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
    """Remove properties of a table, so that their defaults apply, and return the changed table.

    A property that is not set is passed over. Raises the errors of ``set_properties``.

    Args:
        identifier: ``namespace.table``.
        names: the properties to remove, or the name of the only one.
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
    """Rename a table, also into another namespace, and return it under its new name.

    Its files stay where they are. A call that was interrupted leaves the whole table under its old
    name; call again. Writes that have begun under the old name fail and commit nothing.

    Args:
        identifier: ``namespace.table``.
        new_identifier: the new ``namespace.table``; a missing namespace is created.
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
    """List the tables of a catalog.

    Args:
        namespace: only the tables in it, without those of namespaces inside it; None: of all.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Returns:
        Names as ``namespace.table``, sorted. Other Iceberg tables are left out.

    Raises:
        NotFoundError: no such namespace or warehouse.
        StorageError: the catalog cannot be reached.
    """
    config = catalogs.CatalogConfig.from_options(call_options(None, warehouse, catalog))
    return list(listing.list_tables(config, namespace))

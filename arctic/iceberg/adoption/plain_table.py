"""A plain Iceberg table, opened as the base store that it is to become.

Rules:
    - What a pair cannot carry is refused here, before anything is set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyiceberg.table import Table

from arctic.errors import AlreadyExistsError, FormatError, InvalidInputError, UnsupportedError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.pair import check_buckets, store_of
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.tables.check_stores import check_key_columns, check_store
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.tables.open_table import OpenTable, describe
from arctic.iceberg.values.names import check_new_name, parse_identifier
from arctic.iceberg.values.partitioning import check_partition_fields
from arctic.iceberg.values.schema import RESERVED_NAMES, arrow_schema
from arctic.table.property_names import PUBLISHED_OF


def open_plain(config: CatalogConfig, identifier: str, key: Sequence[str]) -> OpenTable:
    """Open a plain Iceberg table as a table of ours without a key.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        key: the columns that are to be its primary key.

    Raises:
        NotFoundError: no such table.
        AlreadyExistsError: it is one of Arctic's already.
        InvalidInputError: a key or name that no table can have.
        UnsupportedError: a format version, type or partition field that a pair cannot have.
        FormatError: a property with a value that it cannot have.
    """
    check_new_name(parse_identifier(identifier))
    if isinstance(key, str) or not key or len(set(key)) != len(key):
        raise InvalidInputError(f"primary key {key!r}: expected a list of columns, each once")
    opened = open_keyless(config, identifier, check=_check_plain)
    plain, subject = opened.base, f"table {identifier!r}"
    _check_names(plain, key, subject)
    try:
        check_key_columns(plain, tuple(key), identifier)
        check_buckets(plain.properties)
    except FormatError as error:
        raise InvalidInputError(error.message) from error
    check_partition_fields(
        plain.spec(), plain.schema(), subject=f"{subject}: partition field", keyed=True
    )
    return opened


def open_keyless(
    config: CatalogConfig,
    identifier: str,
    *,
    check: Callable[[Table, str], None],
    versions: tuple[int, ...] = (2,),
) -> OpenTable:
    """Open an Iceberg table, whosever it is, as a table without a key.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        check: refuses some tables; is given the store, and what messages call it.
        versions: of the format, that are not refused.

    Raises:
        NotFoundError: no such table.
        UnsupportedError: another format version, or several partition specs.
    """
    parts = parse_identifier(identifier)
    catalog = open_catalog(config)
    check_writable(catalog)
    store = existing_store(catalog, parts)
    subject = f"table {identifier!r}"
    check(store, subject)
    check_store(store, subject=subject, versions=versions)
    return OpenTable(
        table=describe(parts, store, None, ()),
        arrow_schema=arrow_schema(store.schema()),
        base=store,
        change=None,
        schema_id=store.metadata.current_schema_id,
        config=config,
    )


def _check_plain(plain: Table, subject: str) -> None:
    if store_of(plain.properties) is not None:
        raise AlreadyExistsError(f"{subject} is one of Arctic's already; open it")
    if PUBLISHED_OF in plain.properties:
        raise UnsupportedError(
            f"{subject} shows rows of another table, whose files it refers to; write to that one"
        )


def _check_names(plain: Table, key: Sequence[str], subject: str) -> None:
    for name in key:
        if "," in name or not name.strip():
            raise InvalidInputError(
                f"{subject}: key column {name!r}: the format joins key names with ','"
            )
    taken = sorted(RESERVED_NAMES & {column.name for column in plain.schema().columns})
    if taken:
        raise UnsupportedError(f"{subject}: column {taken[0]!r} has a name that Arctic uses")

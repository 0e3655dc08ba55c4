"""Tables of a SQLite catalog, loaded through a connection that is kept for a moment.

PyIceberg opens and closes a connection for each table that it loads, and builds its question anew:
for a small commit, which asks five times, that is much of its time.

Rules:
    - A table that is not found, and every error, is left to PyIceberg, which tells what is wrong.
"""

from __future__ import annotations

from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from arctic.iceberg.catalogs.in_database.kept_connections import KEPT_CONNECTIONS

_WHERE = "catalog_name = ? and table_namespace = ? and table_name = ?"
_STATEMENT = (
    f"select table_namespace, table_name, metadata_location from iceberg_tables where {_WHERE}"
)
_NO_VIEWS = " and (iceberg_type = 'TABLE' or iceberg_type is null)"
_DATABASE = "_arctic_database"
"""Where a catalog that is asked so has its file."""
_PYICEBERGS = SqlCatalog.load_table


def load_quickly(catalog: SqlCatalog, database: Path) -> None:
    """Let a catalog load tables so.

    Args:
        catalog: of SQLite.
        database: its file, which is in WAL mode.
    """
    catalog.__dict__[_DATABASE] = database


def _load_table(catalog: SqlCatalog, identifier: str | Identifier) -> Table:
    """Take the place of PyIceberg's method, which is that of other catalogs still."""
    database = catalog.__dict__.get(_DATABASE)
    if database is None:
        return _PYICEBERGS(catalog, identifier)
    has_views = catalog._iceberg_type_filter() is not None
    statement = _STATEMENT + _NO_VIEWS if has_views else _STATEMENT
    namespace = Catalog.namespace_to_string(Catalog.namespace_from(identifier))
    values = (catalog.name, namespace, Catalog.table_name_from(identifier))
    rows = KEPT_CONNECTIONS.ask(database, statement, values)
    if not rows:
        return _PYICEBERGS(catalog, identifier)
    found_namespace, name, location = rows[0]
    return catalog._convert_orm_to_iceberg(
        IcebergTables(
            catalog_name=catalog.name,
            table_namespace=found_namespace,
            table_name=name,
            metadata_location=location,
            previous_metadata_location=None,
        )
    )


SqlCatalog.load_table = _load_table  # type: ignore[method-assign,assignment]

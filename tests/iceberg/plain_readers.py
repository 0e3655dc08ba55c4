"""Engines that know nothing of Arctic, and read a table of its catalog as plain Iceberg."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlparse

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog


@contextmanager
def plain_catalog(folder: str | Path) -> Iterator[SqlCatalog]:
    """Open the catalog of a warehouse as anybody does."""
    catalog = SqlCatalog(
        "arctic", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
    )
    try:
        yield catalog
    finally:
        catalog.close()


def by_pyiceberg(folder: str | Path, name: str) -> pa.Table:
    """Read a table with PyIceberg."""
    with plain_catalog(folder) as catalog:
        return catalog.load_table(name).scan().to_arrow()


def by_duckdb(folder: str | Path, name: str) -> pa.Table:
    """Read the newest metadata file of a table with DuckDB."""
    with plain_catalog(folder) as catalog:
        location = urlparse(catalog.load_table(name).metadata_location).path
    return scanned_by_duckdb(location)


def scanned_by_duckdb(metadata_file: str) -> pa.Table:
    """Read the table that a metadata file is of with DuckDB."""
    with _duckdb().cursor() as connection:
        return connection.execute(f"SELECT * FROM iceberg_scan('{metadata_file}')").to_arrow_table()


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """Return the one of this process: to load an extension takes a fifth of a second of a core.

    It keeps nothing of a file, so that each read is of what is there.
    """
    connection = duckdb.connect(
        config={"autoload_known_extensions": "false", "enable_external_file_cache": "false"}
    )
    for each in ("avro", "iceberg"):
        connection.execute(f"LOAD '{extension(each)}'")
    return connection


def extension(name: str) -> Path:
    """Return the extension file that a wheel carries for exactly this DuckDB."""
    spec = importlib.util.find_spec(f"duckdb_extension_{name}")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (file,) = Path(spec.submodule_search_locations[0]).rglob("*.duckdb_extension")
    return file

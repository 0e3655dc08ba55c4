"""Engines that know nothing of Arctic, and read a table of its catalog as plain Iceberg."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
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


def scanned_by_duckdb(metadata_file: str, where: str = "TRUE") -> pa.Table:
    """Read the table that a metadata file is of with DuckDB."""
    with _duckdb().cursor() as connection:
        return connection.execute(
            f"SELECT * FROM iceberg_scan('{metadata_file}') WHERE {where}"
        ).to_arrow_table()


def assert_filters_find(
    folder: str | Path, name: str, rows: Sequence[Mapping[str, Any]], *, by_duckdb: bool
) -> None:
    """By each column a reader finds all rows that have its least value, and its greatest.

    Of a file with wrong bounds it finds none, which reading all rows does not show.

    Args:
        folder: of the warehouse.
        name: of the table.
        rows: all that it has; texts without quotes, and numbers.
        by_duckdb: by this one, not by PyIceberg.
    """
    with plain_catalog(folder) as catalog:
        table = catalog.load_table(name)
        place = urlparse(table.metadata_location).path
        for column in rows[0] if rows else ():
            values = [row[column] for row in rows if row[column] is not None]
            for value in {min(values), max(values)} if values else ():
                where = f'"{column}" = {value!r}'
                read = (
                    scanned_by_duckdb(place, where)
                    if by_duckdb
                    else table.scan(row_filter=where).to_arrow()
                )
                expected = [row for row in rows if row[column] == value]
                assert sorted(read.to_pylist(), key=repr) == sorted(expected, key=repr), where


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

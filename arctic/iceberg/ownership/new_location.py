"""Where a new store keeps its files: in a folder that no table has, or ever had.

Rules:
    - Where anything lies in the folder that the catalog would choose, a name of its own is added:
      a table that was renamed or dropped keeps its old folder.
    - A catalog that is a service chooses by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.table import Table

from arctic.errors import UnsupportedError
from arctic.iceberg.storage.metadata_document import METADATA_FILE, metadata_document
from arctic.iceberg.storage.table_io import TableIO


def new_location(catalog: Catalog, identifier: tuple[str, ...]) -> str | None:
    """Return a location for a store; None: the catalog chooses.

    Raises:
        ValueError: the catalog has no place for tables.
        StorageError: the place cannot be listed.
    """
    if not isinstance(catalog, MetastoreCatalog):
        return None
    natural = catalog._resolve_table_location(None, ".".join(identifier[:-1]), identifier[-1])
    try:
        is_taken = TableIO(properties=catalog.properties, location=natural).holds_anything(natural)
    except UnsupportedError:
        is_taken = True  # as far as anybody can tell
    return f"{natural}-{uuid4().hex[:12]}" if is_taken else natural


def discard_lost(
    catalog: Catalog, location: str | None, properties: Mapping[str, str], *, winner: Table | None
) -> None:
    """Delete the metadata file of a creation that another one outran; its folder, if empty.

    Args:
        catalog: left it there.
        location: of the store that was to be made.
        properties: of that store; the time of creation tells it from others.
        winner: the store that is there now.
    """
    if location is None or winner is None:
        return
    io = TableIO(properties=catalog.properties, location=location)
    folder = f"{location}/metadata"
    try:
        files = io.list_files(folder)
    except UnsupportedError:
        return
    for file in files:
        document = (metadata_document(io, file.path) if METADATA_FILE in file.path else None) or {}
        written = (document.get("properties") or {}).items()
        is_lost = str(document.get("table-uuid")) != str(winner.metadata.table_uuid)
        if is_lost and written and written <= properties.items():
            io.delete_quietly([file.path])
    io.delete_if_empty(folder)
    io.delete_if_empty(location)

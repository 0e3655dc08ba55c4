"""The folders that a store keeps its files in, and who else keeps files there."""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from arctic.iceberg.catalog import load_table, table_identifiers

FOLDERS = ("data", "metadata")
"""All that a store keeps below its location."""


def table_in_same_place(catalog: Catalog, stores: Sequence[Table]) -> tuple[str, str] | None:
    """Return a table of the namespace that keeps files in a folder of these stores, and where.

    Args:
        catalog: holds them all.
        stores: of one table; what they share among themselves does not count.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    own = {store.name() for store in stores}
    places = [f"{store.location()}/{folder}/" for store in stores for folder in FOLDERS]
    for identifier in table_identifiers(catalog, stores[0].name()[:-1]):
        other = None if identifier in own else load_table(catalog, identifier)
        if other is None:
            continue
        theirs = [f"{other.location()}/{folder}/" for folder in FOLDERS]
        theirs.append(other.metadata_location)
        for place in places:
            if any(place.startswith(their) or their.startswith(place) for their in theirs):
                return ".".join(identifier), place
    return None

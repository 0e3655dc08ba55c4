"""Properties of a store, changed only where its rows, columns and owner are as they were seen."""

from __future__ import annotations

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.update import AssertDefaultSpecId, AssertRefSnapshotId, TableUpdate

from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.own_properties import own_properties, same_own_properties
from arctic.iceberg.values.same_schemas import same_schemas


def commit_as_seen(store: Table, updates: tuple[TableUpdate, ...], name: str) -> bool:
    """Commit updates that make no snapshot; False: others have committed since.

    Args:
        store: as the caller saw it; it is not changed.
        updates: what is to be committed.
        name: of the table, for messages.

    Raises:
        NotFoundError: it was dropped.
        StorageError: the catalog cannot be reached.
    """
    metadata, catalog = store.metadata, store.catalog
    seen = own_properties(store.properties)
    if isinstance(catalog, RestCatalog) and own_properties(newest(store).properties) != seen:
        return False
    required = (
        *same_schemas(catalog, store),
        AssertRefSnapshotId.model_validate(
            {"ref": "main", "snapshot-id": metadata.current_snapshot_id}
        ),
        AssertDefaultSpecId.model_validate({"default-spec-id": metadata.default_spec_id}),
        *same_own_properties(catalog, store.properties),
    )
    with catalog_errors(f"change the properties of table {name!r}"):
        try:
            catalog.commit_table(store, required, updates)
        except CommitFailedException:
            return False
    return True

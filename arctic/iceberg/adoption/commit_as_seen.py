"""Properties of a store, changed only where its rows, columns and owner are as they were seen.

The snapshot of a store does not tell whose it is: upserts, publishing and adopting leave it alone.
So all properties that only Arctic sets must be as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AssertDefaultSpecId,
    AssertRefSnapshotId,
    TableUpdate,
    ValidatableTableRequirement,
)

from arctic.iceberg.catalogs.refresh import newest
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.same_schemas import same_schemas
from arctic.table.property_names import is_own


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
    seen = _own_properties(store.properties)
    if isinstance(catalog, RestCatalog) and _own_properties(newest(store).properties) != seen:
        return False
    required = (
        *same_schemas(catalog, store),
        AssertRefSnapshotId.model_validate(
            {"ref": "main", "snapshot-id": metadata.current_snapshot_id}
        ),
        AssertDefaultSpecId.model_validate({"default-spec-id": metadata.default_spec_id}),
        *_same_own_properties(catalog, store.properties),
    )
    with catalog_errors(f"change the properties of table {name!r}"):
        try:
            catalog.commit_table(store, required, updates)
        except CommitFailedException:
            return False
    return True


def _own_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that only Arctic sets."""
    return {name: text for name, text in properties.items() if is_own(name)}


def _same_own_properties(catalog: Catalog, properties: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the requirement that a store still has these of Arctic's properties, and no others.

    The protocol of REST catalogs cannot say this: there, look at them right before.
    """
    if isinstance(catalog, RestCatalog):
        return ()
    return (_OwnAsSeen(expected=_own_properties(properties)),)


class _OwnAsSeen(ValidatableTableRequirement):
    type: str = "arctic-own-properties"
    expected: dict[str, str]

    def validate(  # type: ignore[override]  # PyIceberg's name hides one of pydantic
        self, base_metadata: TableMetadata | None
    ) -> None:
        """Refuse metadata with other properties of ours."""
        found = _own_properties({} if base_metadata is None else base_metadata.properties)
        if found != self.expected:
            names = sorted(dict(found.items() ^ self.expected.items()))
            raise CommitFailedException(f"Requirement failed: properties {names} have changed")

"""A condition of every schema change: its store still has the schemas that it was planned on.

Rules:
    - The current schema's id is not enough: a table that went on to another schema and back has
      it too, and a new schema would get the id of that other one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AssertCurrentSchemaId,
    AssertLastAssignedFieldId,
    AssertTableUUID,
    ValidatableTableRequirement,
)


def same_schemas(catalog: Catalog, table: Table) -> tuple[Any, ...]:
    """Return what must still hold when a schema change is committed."""
    return tuple(_requirements(catalog, table))


def _requirements(catalog: Catalog, table: Table) -> Iterator[Any]:
    metadata = table.metadata
    yield AssertTableUUID(uuid=metadata.table_uuid)
    yield AssertCurrentSchemaId.model_validate({"current-schema-id": metadata.current_schema_id})
    yield AssertLastAssignedFieldId.model_validate(
        {"last-assigned-field-id": metadata.last_column_id}
    )
    if not isinstance(catalog, RestCatalog):
        yield _NoOtherSchemas(count=len(metadata.schemas))


class _NoOtherSchemas(ValidatableTableRequirement):
    """No schema was added meanwhile: it would have the id that the next one is to get.

    The protocol of REST catalogs cannot say this, and their services give the ids themselves; the
    others check it in this process.
    """

    type: str = "arctic-no-other-schemas"
    count: int

    def validate(  # type: ignore[override]  # PyIceberg's name hides one of pydantic
        self, base_metadata: TableMetadata | None
    ) -> None:
        """Refuse metadata with another number of schemas."""
        found = self.count if base_metadata is None else len(base_metadata.schemas)
        if found != self.count:
            raise CommitFailedException(
                f"Requirement failed: expected {self.count} schemas, found {found}"
            )

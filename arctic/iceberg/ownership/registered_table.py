"""A new table with the columns of another one, field ids and all.

Rules:
    - It is made from metadata with the other's own schemas, spec and sort orders. A catalog that
      creates a table numbers the columns anew, and files that both tables refer to, or that move
      from one to the other, would be read as other columns.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from uuid import uuid4

from pyiceberg.exceptions import TableAlreadyExistsError
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataV2

from arctic.errors import UnsupportedError
from arctic.iceberg.ownership.new_location import new_location
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.translate import catalog_errors


def register_like(
    model: Table, parts: tuple[str, ...], properties: Mapping[str, str]
) -> Table | None:
    """Register a table without snapshots; None: somebody else has the name.

    Args:
        model: has the columns, partition fields and sort orders; of format version 2.
        parts: the name, in a namespace that is there.
        properties: all that it is to have.

    Raises:
        UnsupportedError: a catalog that takes no metadata that it has not made.
        StorageError: the catalog cannot be reached.
    """
    catalog, name = model.catalog, ".".join(parts)
    with catalog_errors(f"create table {name!r}"):
        location = new_location(catalog, parts) or _beside(model, parts[-1])
        path = f"{location}/metadata/00000-{uuid4()}.metadata.json"
        metadata = _metadata(model, location, properties)
        ToOutputFile.table_metadata(metadata, model.io.new_output(path))
        try:
            return catalog.register_table(parts, path)
        except TableAlreadyExistsError:
            TableIO.of(model).delete_quietly([path])
            return None
        except NotImplementedError as error:
            TableIO.of(model).delete_quietly([path])
            raise UnsupportedError(
                f"table {name!r} cannot be made: its catalog cannot register a table by metadata "
                "that is there"
            ) from error


def _metadata(model: Table, location: str, properties: Mapping[str, str]) -> TableMetadataV2:
    known = model.metadata
    return TableMetadataV2.model_validate(
        {
            "location": location,
            "table-uuid": uuid4(),
            "last-updated-ms": time.time_ns() // 1_000_000,
            "last-column-id": known.last_column_id,
            "schemas": list(known.schemas),
            "current-schema-id": known.current_schema_id,
            "partition-specs": list(known.partition_specs),
            "default-spec-id": known.default_spec_id,
            "last-partition-id": known.last_partition_id,
            "sort-orders": list(known.sort_orders),
            "default-sort-order-id": known.default_sort_order_id,
            "properties": dict(properties),
            "last-sequence-number": 0,
        }
    )


def _beside(model: Table, name: str) -> str:
    """Return a folder beside the other table's, where the catalog would choose one by itself."""
    parent = model.location().rstrip("/").rpartition("/")[0]
    return f"{parent}/{name}-{uuid4().hex[:12]}"

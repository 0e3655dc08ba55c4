"""The schemas that a table has had, oldest first."""

from __future__ import annotations

from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.schema import described_columns
from arctic.table.table_description import SchemaVersion


def schema_versions(opened: OpenTable) -> tuple[SchemaVersion, ...]:
    """Return the schemas of the base store, which the change store follows.

    A change that was undone makes an older schema the current one again, under its old number.
    """
    metadata = opened.base.metadata
    since: dict[int, int] = {}
    for snapshot in metadata.snapshots:
        if snapshot.schema_id is not None:
            known = since.get(snapshot.schema_id, snapshot.timestamp_ms)
            since[snapshot.schema_id] = min(known, snapshot.timestamp_ms)
    return tuple(
        SchemaVersion(
            number=schema.schema_id,
            since_ms=since.get(schema.schema_id),
            is_current=schema.schema_id == metadata.current_schema_id,
            columns=described_columns(schema),
        )
        for schema in sorted(metadata.schemas, key=lambda schema: schema.schema_id)
    )

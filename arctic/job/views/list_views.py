"""The views of a catalog, with how far each is behind its sources."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from arctic import options as opt
from arctic.errors import NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.snapshots.heads import catalog_heads
from arctic.job.changes.consumer_job import list_consumers
from arctic.job.reference import table_reference
from arctic.job.views.view_state import ViewDefinition, consumer_of
from arctic.table.property_names import VIEW

VIEWS_SCHEMA = pa.schema(
    [
        ("view", pa.string()),
        ("source", pa.string()),
        ("refreshed_at", pa.timestamp("us", tz="UTC")),
        ("commits_behind", pa.int64()),
        ("rows_behind", pa.int64()),
        ("behind", pa.duration("ms")),
        ("refreshes_every", pa.duration("ms")),
        ("statement", pa.string()),
    ]
)
_LOADS = 4
"""Tables whose metadata is loaded at a time."""


def list_views(place: Mapping[str, str]) -> pa.Table:
    """Return the views of a catalog with each of their sources, by name.

    Args:
        place: options that say where the catalog is.

    Raises:
        FormatError: what a view is of cannot be read.
        StorageError: the catalog cannot be reached.
    """
    heads = catalog_heads(CatalogConfig.from_options(place), threads=_LOADS)
    rows = []
    for head in heads.tables:
        if VIEW not in head.properties:
            continue
        definition = ViewDefinition.told(head.properties, head.name)
        every_ms = opt.SELF_REFRESHING_MS.value({}, head.properties)
        told = {"view": head.name, "refreshes_every": every_ms, "statement": definition.sql}
        consumer = consumer_of(head.name)
        rows += [
            {**told, "source": source, **_lag(place, source, consumer)}
            for source in definition.sources
        ]
    return pa.Table.from_pylist(rows, schema=VIEWS_SCHEMA)


def _lag(place: Mapping[str, str], source: str, consumer: str) -> dict[str, object]:
    """Return how far a view is behind; nothing where the source does not know it any more."""
    try:
        found = list_consumers(table_reference({**place, opt.PATH.name: source}))
    except NotFoundError:
        return {}
    for row in found.to_pylist():
        if row["consumer"] == consumer:
            same = ("commits_behind", "rows_behind", "behind")
            return {"refreshed_at": row["moved_at"], **{name: row[name] for name in same}}
    return {}

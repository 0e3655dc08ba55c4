"""The views of a catalog, with how far each is behind its sources."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pyarrow as pa

from arctic import options as opt
from arctic.errors import NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.snapshots.heads import catalog_heads, loads_of
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.changes.commits_ahead import commits_ahead
from arctic.job.reference import table_reference
from arctic.job.views.view_state import Standing
from arctic.table.property_names import CHANGE_IDENTIFIER, VIEW
from arctic.table.streams.stream_position import StreamPosition
from arctic.views.view_definition import ViewDefinition

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
    heads = catalog_heads(CatalogConfig.from_options(place), loads=loads_of(threads=_LOADS))
    rows, sources = [], _Sources(place)
    for head in heads.tables:
        if VIEW not in head.properties:
            continue
        definition = ViewDefinition.told(head.properties, head.name)
        every_ms = opt.SELF_REFRESHING_MS.value({}, head.properties)
        arrive_in = heads.stores.get(head.properties.get(CHANGE_IDENTIFIER, head.name))
        told = {"view": head.name, "refreshes_every": every_ms, "statement": definition.sql}
        standing = Standing.told({} if arrive_in is None else arrive_in.properties, head.name)
        if standing.refreshed_ms is not None:
            told["refreshed_at"] = standing.refreshed_ms * 1000
        rows += [
            {**told, "source": each, **sources.lag(each, standing.positions.get(each))}
            for each in definition.sources
        ]
    return pa.Table.from_pylist(rows, schema=VIEWS_SCHEMA)


class _Sources:
    """The sources of a catalog's views, each loaded once."""

    def __init__(self, place: Mapping[str, str]) -> None:
        self._place = place
        self._opened: dict[str, OpenTable | None] = {}

    def lag(self, source: str, position: StreamPosition | None) -> dict[str, object]:
        """Return how far a place is behind; nothing where there is no such table any more."""
        if source not in self._opened:
            self._opened[source] = self._open(source)
        opened = self._opened[source]
        if position is None or opened is None:
            return {}
        if position.table_uuid != str(opened.base.metadata.table_uuid):
            return {}
        now_ms = time.time_ns() // 1_000_000
        ahead = commits_ahead(opened, position.sequence_number, now_ms=now_ms)
        return {
            "commits_behind": ahead.commits,
            "rows_behind": ahead.rows,
            "behind": ahead.behind_ms,
        }

    def _open(self, source: str) -> OpenTable | None:
        try:
            return table_reference({**self._place, opt.PATH.name: source}).open(suggests=False)
        except NotFoundError:
            return None

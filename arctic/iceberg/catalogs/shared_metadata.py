"""Commits that copy only the metadata that they change, and share the rest with what was before.

PyIceberg copies all of the metadata, down to the last snapshot, before it writes what a commit
makes of it. That is a fifth of a late commit, and nobody needs the copy: parts of metadata are
frozen, and no update changes a list or mapping in place.

Rules:
    - Catalogs that were opened otherwise, and metadata of another version, are left alone.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.metadata import TableMetadataV2


class _Shared(TableMetadataV2):
    """Metadata whose parts are not copied with it."""

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> _Shared:
        return self.__copy__()


def share_metadata(catalog: Catalog) -> None:
    """Let commits through this object keep the parts of metadata that they do not change."""
    if not isinstance(catalog, MetastoreCatalog):
        return
    stage = catalog._update_and_stage_table

    def staged(current: Table | None, *arguments: Any, **named: Any) -> StagedTable:
        if current is None or type(current.metadata) is not TableMetadataV2:
            return stage(current, *arguments, **named)
        before = copy(current)
        before.metadata = _as(_Shared, current.metadata)
        table = stage(before, *arguments, **named)
        if isinstance(table.metadata, _Shared):
            table.metadata = _as(TableMetadataV2, table.metadata)
        return table

    catalog._update_and_stage_table = staged  # type: ignore[method-assign,assignment]


def _as(kind: type[TableMetadataV2], metadata: TableMetadataV2) -> TableMetadataV2:
    """Return a copy of the top level of metadata that is of this kind."""
    changed = metadata.model_copy()
    object.__setattr__(changed, "__class__", kind)
    return changed

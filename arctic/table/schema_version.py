"""The columns of a table at some time."""

from __future__ import annotations

from dataclasses import dataclass

from arctic.table.table_description import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """One of the schemas that a table has had."""

    number: int
    """Its id in the base store."""
    since_ms: int | None
    """When the oldest snapshot was committed that has it, as far as snapshots are kept; None: no
    snapshot that is kept has it."""
    is_current: bool
    columns: tuple[Column, ...]

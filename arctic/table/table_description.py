"""A table as a value: its names, columns by field id, key and partition fields.

Must not know: catalogs, files, how the table is read or written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arctic.errors import InternalError
from arctic.table.merge_engine import FoldRules, MergeEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One top-level column; nested fields are part of its type."""

    field_id: int
    name: str
    type: str
    """Iceberg's text: ``long``, ``decimal(10, 2)``, ``timestamptz``, ``struct<...>``, ..."""
    required: bool
    doc: str | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """One partition field of the (single, never changing) spec."""

    source_id: int
    name: str
    """The name in partition paths, for example ``ts_day``."""
    transform: str
    """Iceberg's text: ``identity``, ``bucket[16]``, ``truncate[4]``, ``day``, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDescription:
    """A table with or without a primary key; without one there is no change store."""

    identifier: tuple[str, ...]
    """Namespace parts, then the name."""
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    """Column names in key order, which is the order of the hash; empty when unkeyed."""
    ordering_columns: tuple[str, ...] = ()
    """Columns whose greatest values win among the rows of a key, most significant first; empty:
    the latest row wins."""
    merge_engine: MergeEngine = MergeEngine.LAST_ROW
    """What becomes of the rows of a key."""
    fold: FoldRules | None = None
    """By what they are made one; None: one of them is read."""
    partition_fields: tuple[PartitionField, ...]
    properties: Mapping[str, str]
    base_location: str
    change_location: str | None

    @property
    def name(self) -> str:
        """The dotted identifier."""
        return ".".join(self.identifier)

    @property
    def is_keyed(self) -> bool:
        """Whether the table has a primary key, hence a change store."""
        return bool(self.primary_key)

    def column(self, name: str) -> Column:
        """Return a column that is known to exist."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InternalError(f"table {self.name!r} has no column {name!r}")

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The key columns in key order."""
        return tuple(self.column(name) for name in self.primary_key)

    @property
    def weighs_rows(self) -> bool:
        """Whether a later row need not win: those of a key are held against one another."""
        return self.merge_engine.weighs_rows(is_ordered=bool(self.ordering_columns))

    @property
    def weighed_by(self) -> str:
        """By what those of a key are held against one another, for messages."""
        if self.ordering_columns:
            return f"ordering columns {', '.join(self.ordering_columns)}"
        return f"the merge engine {self.merge_engine.value!r}"

    @property
    def order_columns(self) -> tuple[Column, ...]:
        """The ordering columns, most significant first."""
        return tuple(self.column(name) for name in self.ordering_columns)

    @property
    def partition_source_columns(self) -> tuple[Column, ...]:
        """The columns that partition values are computed from, each once, in schema order."""
        sources = {field.source_id for field in self.partition_fields}
        return tuple(column for column in self.columns if column.field_id in sources)

    @property
    def partition_follows_key(self) -> bool:
        """Whether the key alone decides the partition, so that a key never moves."""
        key_ids = {column.field_id for column in self.key_columns}
        return all(field.source_id in key_ids for field in self.partition_fields)

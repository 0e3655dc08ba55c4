"""What a table of a source is, whatever database it is of: columns by number, key, its identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from arctic.cdc.events import SourceColumn


class DescribeColumn(Protocol):
    """Says what a column becomes whose type is written as its source writes it."""

    def __call__(self, name: str, type_: str, *, position: int | None) -> SourceColumn:
        """Return the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """One column, as the source has it."""

    position: int
    """Stays when the column is renamed, and is not that of another column of the table."""
    name: str
    type: str
    """As the source writes it."""
    describe: DescribeColumn
    is_toastable: bool = False
    """Whether a large value is kept outside of the row, and left out of updates."""
    has_missing: bool = False
    """Rows from before the column show a default that the log never mentions."""

    @property
    def source_column(self) -> SourceColumn:
        """What it becomes."""
        return self.describe(self.name, self.type, position=self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """One table, at one moment."""

    schema: str
    name: str
    oid: int
    """Another one means another table of the same name."""
    columns: tuple[TableColumn, ...]
    key: tuple[str, ...]
    identity: str
    """Of PostgreSQL, ``relreplident``: d for the key, f for full rows, n for nothing, i for an
    index."""
    filenode: int
    """Changes when the table is rewritten, of which the log says nothing."""
    is_current: bool
    """Whether the snapshot that looked sees its rows: a rewrite hides them from older ones."""
    named: int = -1
    """Of PostgreSQL: changes when the table gets a name or a schema, its old one too, of which the
    log says nothing."""
    place: int = -1
    """Up to where of the log this is known to hold; -1: the log does not say."""

    @property
    def full_name(self) -> str:
        """``schema.table``, as events have it."""
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How the events of a kind of source describe their columns."""

    source: str
    """The kind of source, as errors name it."""
    source_column: DescribeColumn
    columns_of: Callable[[str], tuple[SourceColumn, ...]]
    """Reads what an event carries as its ``shape``."""
    numbers_columns: bool
    """Whether events number their columns; else a column is known by its name."""

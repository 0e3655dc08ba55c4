"""What a catalog of Spark is answered; ``catalog_questions`` has what it asks.

``CatalogProtocol.java`` is the other half; a golden file holds both to the same words.

Must not know: how anything is answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from arctic.spark.base.catalog_questions import Transform
from arctic.spark.base.namespace_questions import Name


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesAnswer:
    """The names of tables, namespaces or procedures."""

    names: Sequence[Name]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAnswer:
    """What Spark is told of a table."""

    name: str
    options: Mapping[str, str]
    """By which a read or a write of it says which one it means."""
    schema: Mapping[str, Any]
    partitions: Sequence[Transform]
    """With the column as a name, quoted, at the end."""
    properties: Mapping[str, str]
    key: Sequence[str]
    """The columns of the key, in key order."""
    ordering: Sequence[str]
    """Columns of which the greatest values of a key win; none: the later commit does."""
    trusted: Sequence[str]
    """Columns beside the key that say in which partition a stored row is, where a write trusts what
    its rows say of that; none: it looks, or the key says it."""
    refused_commands: str | None
    """Why DELETE, UPDATE and MERGE are refused; None: they are not."""
    is_writable: bool
    evolves: bool
    """Whether a statement may change its columns beside its rows."""
    refused_options: Sequence[str]
    """Names in lower case of what would make another table of it."""
    staged: str | None
    """Of a table that is to be settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesAnswer:
    """What is known of a namespace."""

    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureAnswer:
    """What Spark is told of a procedure."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """In their order, each with its comment, as Spark writes a ``StructType``."""
    defaults: Sequence[str | None]
    """Of each, as SQL; None: it must be given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAnswer:
    """Rows of a call, or partitions."""

    schema: Mapping[str, Any]
    """As Spark writes a ``StructType``."""
    rows: Sequence[Sequence[Any]]
    """Values in its order; a time is its microseconds."""
    changed: Sequence[str]
    """Names of tables that have other rows after the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneAnswer:
    """It is done."""

    found: bool
    """Whether there was something to do it with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtAnswer:
    """Which rows the source of a MERGE can equal."""

    found: bool
    """Whether that is known, or worth finding out."""
    columns: Sequence[Sequence[Sequence[Any]] | None]
    """For each column that was asked about the ranges in which all values are, each with its least
    and its greatest one, both inclusive and plain: a time in microseconds, a decimal as its text.
    None: any value."""
    reads_less: bool
    """Whether the ranges leave out so much that a scan is to test them."""
    nodes: Sequence[Any] | None
    """A hint for the scan, outside of which no key is; None: there is none."""


class FailureKind(Enum):
    """What Spark calls a failure."""

    NO_SUCH_TABLE = "no_such_table"
    TABLE_EXISTS = "table_exists"
    NO_SUCH_NAMESPACE = "no_such_namespace"
    NAMESPACE_EXISTS = "namespace_exists"
    NAMESPACE_NOT_EMPTY = "namespace_not_empty"
    MERGE_CARDINALITY = "merge_cardinality"
    OTHER = "other"


CatalogAnswer = (
    NamesAnswer
    | TableAnswer
    | PropertiesAnswer
    | ProcedureAnswer
    | RowsAnswer
    | DoneAnswer
    | SoughtAnswer
)

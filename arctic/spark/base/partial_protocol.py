"""What the JVM asks Python of aggregates that tasks make, and how Python answers.

The other half of ``PartialProtocol.java``.

Must not know: how anything is answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialQuestion:
    """Are aggregates of rows made by the tasks that read them, in parts that Spark adds up?"""

    options: Mapping[str, str]
    """Of the relation."""
    schema: Mapping[str, Any]
    """The columns that the query takes the table to have, as Spark writes a ``StructType``."""
    yields: Mapping[str, Any]
    """The same of what a scan of the parts returns: the keys, then the aggregates."""
    keys: Sequence[str]
    """Columns by which rows are grouped; none: all rows are one group."""
    aggregates: Sequence[Sequence[str]]
    """For each its kind, then its column unless it counts rows: ``[["count(*)"], ["sum", "n"]]``;
    rows of a scan have them in this order."""
    averaged: Sequence[str]
    """Columns whose sums are wanted for their averages."""
    hints: Sequence[Sequence[Any]]
    """What tasks filter by, as in ``ScanQuestion``: Spark does not."""
    floats: bool
    """Whether sums of floating-point numbers are wanted, in whatever order they are made."""
    parallelism: int
    """Cores that Spark has for the query."""
    query: str | None
    """As in ``ScanQuestion``."""
    pin: str | None
    """Likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialAnswer:
    """They are."""

    pin: str
    """The state that was asked about."""
    size_bytes: int
    """Of all data files that tasks read, all their columns."""
    rows: int
    """In them, deleted ones too."""
    plan: Sequence[str]
    """What a query hands back that begins, cut as ``texts_of`` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuestion:
    """What do the tasks of a plan do? Before, nothing is looked up: it may only be explained."""

    plan: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginAnswer:
    """How executors make the parts."""

    function: str
    """As in ``PlanAnswer``."""
    partitions: Sequence[str]
    """Likewise."""

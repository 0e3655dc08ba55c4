"""What is committed to one of several tables, of which all change or none does."""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.update import TableRequirement, TableUpdate


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """What is committed to one of several tables."""

    table: Table
    requirements: tuple[TableRequirement, ...]
    updates: tuple[TableUpdate, ...]

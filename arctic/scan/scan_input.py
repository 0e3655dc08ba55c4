"""What a plan is made of, in one record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from arctic.scan.store_files import StoreFiles
from arctic.scan.task import ScanOptions
from arctic.table.filters.predicate import Predicate
from arctic.table.merge_engine import MergeEngine
from arctic.table.snapshot import TableSnapshot
from arctic.table.table_description import Column
from arctic.tree.touched_nodes import TouchedNodes


class SetApart(Enum):
    """Which files the caller reads by itself, faster than a merge would."""

    NOTHING = "nothing"
    CLEAN = "files that no delete can touch"
    CLEAN_AND_DIRTY = "those, and files whose dead rows it can leave out by their numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanInput:
    """A read, before anything is decided about it."""

    table_name: str
    """For ``explain``."""
    is_merged_view: bool
    """False: a look at one store alone, whose files are ``files.base``."""
    files: StoreFiles
    """With bounds of the key and of the columns that the filter tests."""
    snapshot: TableSnapshot
    """The pinned state that the files are of."""
    key: tuple[Column, ...]
    """The primary key; empty for an unkeyed table, and where one store is looked at."""
    ordering: tuple[Column, ...]
    """The table's ordering columns, where its key counts; empty: it has none."""
    engine: MergeEngine
    """What becomes of the rows of a key, where it counts."""
    row_filter: Predicate | None
    """Rows that do not match it are not wanted; None wants them all."""
    options: ScanOptions
    set_apart: SetApart
    takes_others: bool
    """Whether the caller finds what it reads in files of other writers too, by the names of
    columns; else those are merged."""
    nodes: TouchedNodes | None
    """Of the keys that are wanted; None: any."""

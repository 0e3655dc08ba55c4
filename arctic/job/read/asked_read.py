"""What a caller's options ask of a read, and what is in force once its table is open.

Which rows are read is asked: columns, filters, moments and stores. How they are read is a setting,
which a property of the table may say as well.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from arctic import options as opt
from arctic.iceberg.storage.cache.cache_settings import CacheSettings
from arctic.iceberg.storage.cache.newest_partitions import NewestPartitions
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.past_state import PastState
from arctic.job.reference import TableReference, parse_reference
from arctic.job.tables_of_queries import TABLES_OF_QUERIES
from arctic.options import Scope
from arctic.scan.task import ScanOptions

_CACHE_BYTES = {"memory": 256 * 2**20, "disk": 10 * 2**30}
"""Bounds where nobody says one: every process of a machine has its memory, and all share a disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """What is in force for a read of one table."""

    division: ScanOptions
    """How the read is divided."""
    max_delete_bytes: int
    """Above it the change deletes of a task are taken in pieces."""
    verifies_pages: bool
    """Whether checksums of pages are compared."""
    cache: CacheSettings | None
    """What stays on the machines that read; None: nothing."""

    @classmethod
    def of(
        cls,
        options: Mapping[str, str],
        properties: Mapping[str, str],
        *,
        parallelism: int | None = None,
    ) -> ReadSettings:
        """Read the settings.

        Args:
            options: what the call gave.
            properties: of the table.
            parallelism: tasks at a time, where neither says it; None: the cores of this machine.

        Raises:
            InvalidInputError: a text that is not a value.
        """
        return cls(
            division=ScanOptions(
                weight_ratio=opt.WEIGHT_RATIO.value(options, properties),
                parallel_multiple=opt.PARALLEL_MULTIPLE.value(options, properties),
                parallelism=opt.PARALLELISM.value(options, properties)
                or parallelism
                or opt.default_parallelism(),
                target_bytes=opt.TARGET_SIZE.value(options, properties),
                open_file_cost_bytes=opt.OPEN_FILE_COST.value(options, properties),
                vector_min_rows=opt.VECTOR_MIN_ROWS.value(options, properties),
            ),
            max_delete_bytes=opt.MAX_DELETE_BYTES.value(options, properties),
            verifies_pages=opt.VERIFY_CHECKSUMS.value(options, properties),
            cache=asked_cache(options, properties),
        )

    def for_rewriting(self) -> ReadSettings:
        """Return those of a read whose rows are written again.

        Damage must not get a checksum that fits it.
        """
        return replace(self, verifies_pages=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRead:
    """Which rows of which table, and how they are read."""

    reference: TableReference
    columns: tuple[str, ...] | None
    """In this order; None: all."""
    store: str
    """``merged``, ``base`` or ``change``."""
    state: PastState
    given: Mapping[str, str] = field(repr=False)
    """All that the call gave, for what a property of the table may say as well."""
    query: str | None = None
    """Of an engine, which asks more of the table in its name; None: nobody asks again."""

    @classmethod
    def of(cls, options: Mapping[str, str], *, query: str | None = None) -> AskedRead:
        """Read ``path``, catalog and read options.

        Args:
            options: what the call gave.
            query: as the field of that name.

        Raises:
            InvalidInputError: an unknown option, a bad value, or no table.
        """
        options = opt.Texts.of(options)
        opt.check_known(options, Scope.READ)
        return cls(
            reference=parse_reference(options),
            columns=opt.COLUMNS.value(options),
            store=opt.STORE.value(options),
            state=PastState.of(options),
            given=options,
            query=query,
        )

    def opened(self) -> OpenTable:
        """Return the table as the query has opened it before, else as it is now.

        Raises:
            ArcticError: as ``open_table``.
        """
        return TABLES_OF_QUERIES.opened(self.query, self.reference)

    def settings(self, opened: OpenTable, *, parallelism: int | None = None) -> ReadSettings:
        """Return the settings in force for a table; raises as ``ReadSettings.of``."""
        return ReadSettings.of(self.given, opened.table.properties, parallelism=parallelism)


def asked_cache(options: Mapping[str, str], properties: Mapping[str, str]) -> CacheSettings | None:
    """Read what is to stay on the machines that read; None: nothing.

    Args:
        options: what the call gave.
        properties: of the table.

    Raises:
        InvalidInputError: a text that is not a value.
    """
    kind = opt.READ_CACHE.value(options, properties)
    if kind == "off":
        return None
    return CacheSettings(
        on_disk=kind == "disk",
        folder=opt.READ_CACHE_PATH.value(options),
        max_bytes=opt.READ_CACHE_MAX_BYTES.value(options, properties) or _CACHE_BYTES[kind],
        max_age_ms=opt.READ_CACHE_MAX_AGE.value(options, properties),
        with_local=opt.READ_CACHE_LOCAL.value(options, properties),
    )


def cached_access(opened: OpenTable, cache: CacheSettings | None) -> TableIO:
    """Return the access to a table's files, with a cache where there is to be one.

    Args:
        opened: the table.
        cache: in force for it; None: nothing is kept.
    """
    if cache is None:
        return opened.io
    if cache.max_age_ms is None:
        return replace(opened.io, cache=cache)
    since_ms = time.time_ns() // 1_000_000 - cache.max_age_ms
    return replace(opened.io, cache=cache, newest=NewestPartitions.of(opened.table, since_ms))

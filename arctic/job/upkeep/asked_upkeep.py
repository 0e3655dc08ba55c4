"""What a caller's options ask of optimizing and of cleaning, before the table is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic import options as opt
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.edit.retention import RetentionSettings
from arctic.job.read.asked_read import ReadSettings
from arctic.job.reference import TableReference, table_reference
from arctic.optimizing.settings import OptimizeSettings
from arctic.options import Scope
from arctic.options.sort_terms import SortTerm
from arctic.writing.target import WriteOptions

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOptimize:
    """Which table is looked at or optimized, and with which settings."""

    reference: TableReference
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    """All that the call gave, for what a property of the table may say as well."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> AskedOptimize:
        """Read ``path``, catalog options and ``self-optimizing.*``.

        Raises:
            InvalidInputError: an unknown option, a bad value, or no table.
        """
        opt.check_known(options, Scope.OPTIMIZE)
        return cls(reference=table_reference(options), given=opt.Texts.of(options))

    def settings(self, opened: OpenTable) -> OptimizeSettings:
        """Return what is in force for a table; raises as ``OptimizeSettings.of``."""
        return OptimizeSettings.of(self.given, opened.table.properties)

    def read_settings(self, opened: OpenTable) -> ReadSettings:
        """Return how the rows are read that are rewritten."""
        return ReadSettings.of(self.given, opened.table.properties).for_rewriting()

    def write_options(self, opened: OpenTable) -> WriteOptions:
        """Return how the new files are written."""
        return WriteOptions.of(self.given, opened.table)

    def sort_columns(self, opened: OpenTable) -> tuple[SortTerm, ...]:
        """Return what rows are to be sorted by, unchecked; empty: by nothing."""
        return opt.SORT_COLUMNS.value(self.given, opened.table.properties) or ()

    def sort_buffer_bytes(self, opened: OpenTable) -> int | None:
        """Return how much of the rows of a node is sorted in memory; None: nobody says."""
        return opt.SORT_BUFFER_BYTES.value(self.given, opened.table.properties)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireSettings:
    """What is in force for a cleaning of one table."""

    change_ttl_ms: int
    keep_ms: int
    min_count: int
    cleans_orphans: bool
    orphan_age_ms: int
    deletes_outside: bool
    """Files beyond the folders of the table go too."""
    consumer_age_ms: int
    """How long a consumer that does not move holds snapshots back."""
    retention: RetentionSettings | None
    """How long rows stay; None: for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedExpire:
    """Which table is cleaned, and with which settings."""

    reference: TableReference
    given: Mapping[str, str] = field(repr=False)
    """All that the call gave, for what a property of the table may say as well."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> AskedExpire:
        """Read ``path``, catalog and expire options.

        Raises:
            InvalidInputError: an unknown option, a bad value, no table, or a metadata table.
        """
        opt.check_known(options, Scope.EXPIRE)
        return cls(reference=table_reference(options), given=opt.Texts.of(options))

    def settings(self, opened: OpenTable) -> ExpireSettings:
        """Return what is in force for a table.

        Raises:
            InvalidInputError: a property with a text that is not a value.
        """
        options, properties = self.given, opened.table.properties
        return ExpireSettings(
            change_ttl_ms=opt.CHANGE_TTL_MINUTES.value(options, properties) * _MINUTE_MS,
            keep_ms=opt.SNAPSHOT_KEEP_MS.value(options, properties),
            min_count=opt.SNAPSHOT_KEEP_COUNT.value(options, properties),
            cleans_orphans=opt.CLEAN_ORPHANS.value(options, properties),
            orphan_age_ms=opt.ORPHAN_AGE_MINUTES.value(options, properties) * _MINUTE_MS,
            deletes_outside=opt.DELETE_OUTSIDE_FILES.value(options),
            consumer_age_ms=opt.CONSUMER_EXPIRATION_MS.value(options, properties),
            retention=RetentionSettings.of(options, opened.table),
        )

"""What the properties of a table ask of a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from arctic import options as opt
from arctic.iceberg.commits.lease import cleaned_ms
from arctic.iceberg.ownership.clones import may_delete
from arctic.optimizing.settings import min_plan_interval_ms
from arctic.service.scheduling.refresh_queue import Refreshing
from arctic.service.scheduling.table_state import TableTerms
from arctic.table.property_names import VIEW
from arctic.views.view_definition import DAYS, ViewDefinition


class CleaningStep(Enum):
    """What is to be done for cleaning; the value is its name in the log."""

    DRY_RUN = "dry run"
    """The table is met for the first time: only say what would go."""
    CLEAN = "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is in force for a table."""

    group: str
    is_optimized: bool
    terms: TableTerms
    is_published: bool
    refreshing: Refreshing | None
    """None: it is no view, or not to be refreshed."""
    is_cleaned: bool
    cleaned_ms: int | None

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Wishes:
        """Read the properties of base.

        Raises:
            InvalidInputError: one with a text that is not a value.
            FormatError: what the table remembers of its runs cannot be read.
        """
        return cls(
            group=opt.OPTIMIZE_GROUP.value({}, properties),
            is_optimized=opt.OPTIMIZE_ENABLED.value({}, properties),
            terms=TableTerms(
                quota=opt.OPTIMIZE_QUOTA.value({}, properties),
                min_interval_ms=min_plan_interval_ms({}, properties) or 0,
            ),
            is_published=opt.SELF_PUBLISHING.value({}, properties),
            refreshing=_refreshing(properties),
            is_cleaned=opt.TABLE_EXPIRE.value({}, properties) and may_delete(properties),
            cleaned_ms=cleaned_ms(properties),
        )

    @property
    def kinds(self) -> frozenset[str]:
        """What is to be done by itself: ``optimize``, ``clean``, ``publish``, ``refresh``."""
        wished = {
            "optimize": self.is_optimized,
            "clean": self.is_cleaned,
            "publish": self.is_published,
            "refresh": self.refreshing is not None,
        }
        return frozenset(kind for kind, is_wished in wished.items() if is_wished)

    def cleaning(self, now_ms: int, *, every_ms: int) -> CleaningStep | None:
        """Say what cleaning is due; None: nothing.

        A time beyond now is that of another clock, and counts as long as it is away.
        """
        if not self.is_cleaned:
            return None
        if self.cleaned_ms is None:
            return CleaningStep.DRY_RUN
        return CleaningStep.CLEAN if abs(now_ms - self.cleaned_ms) >= every_ms else None


def _refreshing(properties: Mapping[str, str]) -> Refreshing | None:
    every_ms = opt.SELF_REFRESHING_MS.value({}, properties)
    if every_ms is None or VIEW not in properties:
        return None
    view = ViewDefinition.told(properties, "")
    return Refreshing(sources=view.sources, every_ms=every_ms, is_of_days=view.kind == DAYS)

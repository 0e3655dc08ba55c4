"""The settings of optimizing, as values.

Must not know: where they come from beyond options and table properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from arctic import options as opt
from arctic.table.table_sizing import TableSizing

T = TypeVar("T")


class OptimizeType(Enum):
    """How much is rewritten; the value is the name that a caller gives."""

    MINOR = "minor"
    """Changes and fragments become base files; segments get position deletes."""
    MAJOR = "major"
    """The same, and undersized segments are joined, and those with many deleted rows rewritten."""
    FULL = "full"
    """Everything is rewritten into files of the target size, without deletes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizeSettings:
    """``self-optimizing.*`` in force for a table."""

    is_enabled: bool
    target_bytes: int
    fragment_bytes: int
    """A base file up to this size, inclusive, is a fragment."""
    min_target_bytes: int
    """A segment up to this size, inclusive, is undersized."""
    minor_file_count: int
    minor_interval_ms: int | None
    """None: time makes no minor due."""
    duplicate_ratio: float
    most_overlapping: int
    """Segments of a node that can hold one value of the first sort column, inclusive."""
    full_interval_ms: int | None
    """None: no full is ever due."""
    rewrites_all: bool
    max_change_files: int
    max_task_bytes: int
    min_plan_interval_ms: int | None
    base_buckets: int
    """Nodes of a partition that was never divided into more."""
    open_file_cost_bytes: int

    @classmethod
    def of(cls, options: Mapping[str, str], properties: Mapping[str, str]) -> OptimizeSettings:
        """Read the settings.

        Args:
            options: what the call gave.
            properties: of the table.

        Raises:
            InvalidInputError: a text that is not a value.
            FormatError: what the table remembers of its runs cannot be read.
        """
        sizing = TableSizing.of(properties)

        def value(option: opt.Option[T]) -> T:
            return option.value(options, properties)

        def chosen(option: opt.Option[T], by_itself: T) -> T:
            return value(option) if _is_said(option, options, properties) else by_itself

        # What counts as small does not follow the size that a table chose, or it would rewrite
        # everything whenever it chooses.
        target = value(opt.OPTIMIZE_TARGET_SIZE)
        return cls(
            is_enabled=value(opt.OPTIMIZE_ENABLED),
            target_bytes=chosen(opt.OPTIMIZE_TARGET_SIZE, sizing.target_bytes),
            fragment_bytes=target // value(opt.FRAGMENT_RATIO),
            min_target_bytes=int(target * value(opt.MIN_TARGET_RATIO)),
            minor_file_count=value(opt.MINOR_FILE_COUNT),
            minor_interval_ms=chosen(opt.MINOR_INTERVAL, sizing.minor_interval_ms),
            duplicate_ratio=value(opt.DUPLICATE_RATIO),
            most_overlapping=value(opt.OVERLAP),
            full_interval_ms=value(opt.FULL_INTERVAL),
            rewrites_all=value(opt.FULL_REWRITE_ALL),
            max_change_files=value(opt.MAX_FILE_COUNT),
            max_task_bytes=chosen(opt.MAX_TASK_SIZE, sizing.target_bytes),
            min_plan_interval_ms=min_plan_interval_ms(options, properties),
            base_buckets=opt.BASE_BUCKETS.value({}, properties),
            open_file_cost_bytes=opt.OPEN_FILE_COST.value({}, properties),
        )

    @property
    def tiny_bytes(self) -> int:
        """A partition up to this size, inclusive, is tiny, unless it states how many nodes it has.

        To open its files costs more than to read them, and a file of it is a fragment, which goes
        to deeper nodes once there is more.
        """
        return min(self.open_file_cost_bytes, self.fragment_bytes)


def min_plan_interval_ms(options: Mapping[str, str], properties: Mapping[str, str]) -> int | None:
    """Return how long nothing is due after a run; raises as ``OptimizeSettings.of``."""
    if _is_said(opt.MIN_PLAN_INTERVAL, options, properties):
        return opt.MIN_PLAN_INTERVAL.value(options, properties)
    return TableSizing.of(properties).rest_ms


def _is_said(
    option: opt.Option[T], options: Mapping[str, str], properties: Mapping[str, str]
) -> bool:
    return option.is_given(options) or option.is_given(properties)

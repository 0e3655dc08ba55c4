"""Whether something is due in a partition, what, and why.

Rules:
    - Full, major, minor: the first that fires. A stronger one does all that a weaker one does.
    - A partition that was never optimized counts from the beginning of the table.
    - What fires is satisfied by running it: nothing is due twice for the same reason.
    - A time in the future was set by a clock that runs ahead. It counts as if it lay as far in the
      past, so that a wrong clock never holds a run back for ever.

Source: amoro MixedIcebergPartitionPlan @96a4d781a. Differs: changes that are only deletes fire
the interval too, position-delete files beyond the first of a data file count as delete files, and
undersized segments are judged by node, because only those of one node can be joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arctic.optimizing.planning.health import PartitionHealth
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.scan.explain import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTimes:
    """When a partition was optimized, in milliseconds since 1970-01-01 UTC."""

    any_ms: int | None
    """By any type; None: never."""
    full_ms: int | None
    """By a full; None: never."""
    first_ms: int
    """When the table began, from which intervals count where there is no last time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is due in one partition."""

    type: OptimizeType | None
    """None: nothing."""
    reason: str
    """For people, such as ``14 fragments + 3 change delete files >= 12``."""

    def __str__(self) -> str:
        """Return type and reason."""
        return f"{self.type.value if self.type else 'nothing due'}: {self.reason}"


def evaluate(
    health: PartitionHealth,
    *,
    times: LastTimes,
    settings: OptimizeSettings,
    is_keyed: bool,
    now_ms: int,
) -> Verdict:
    """Decide what is due in a partition.

    Args:
        health: what it consists of.
        times: when it was optimized.
        settings: of the table.
        is_keyed: whether the table has a change store.
        now_ms: the time now, in milliseconds since 1970-01-01 UTC.
    """
    any_age = _Age.of(times.first_ms if times.any_ms is None else times.any_ms, now_ms)
    full_age = _Age.of(times.first_ms if times.full_ms is None else times.full_ms, now_ms)
    if not settings.is_enabled:
        return Verdict(type=None, reason="self-optimizing.enabled is false")
    if times.any_ms is not None and any_age.ms < (settings.min_plan_interval_ms or 0):
        return Verdict(type=None, reason=f"optimized {any_age.text('ago')}")
    due = (
        _full(health, full_age, settings, is_keyed=is_keyed)
        or _major(health, settings)
        or _minor(health, any_age, settings, is_keyed=is_keyed)
    )
    return due or Verdict(type=None, reason=_idle(health, settings, is_keyed=is_keyed))


def strongest(verdicts: Iterable[Verdict]) -> OptimizeType | None:
    """Return the strongest type of several partitions; None when nothing is due."""
    order = list(OptimizeType)
    types = [verdict.type for verdict in verdicts if verdict.type is not None]
    return max(types, key=order.index, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Age:
    """How far a time is from now."""

    ms: int
    is_ahead: bool
    """The time is beyond now."""

    @classmethod
    def of(cls, then_ms: int, now_ms: int) -> _Age:
        return cls(ms=abs(now_ms - then_ms), is_ahead=then_ms > now_ms)

    def text(self, what: str) -> str:
        return f"{_time(self.ms)} {'ahead of this clock' if self.is_ahead else what}"


def _full(
    health: PartitionHealth, age: _Age, settings: OptimizeSettings, *, is_keyed: bool
) -> Verdict | None:
    interval = settings.full_interval_ms
    if interval is None or age.ms <= interval:
        return None
    allowed = _allowed_files(health, is_keyed=is_keyed)
    if not (health.delete_files or health.inserts.files or health.fragments.files > allowed):
        return None
    return Verdict(
        type=OptimizeType.FULL,
        reason=f"{age.text('since the last full')} > {_time(interval)}",
    )


def _major(health: PartitionHealth, settings: OptimizeSettings) -> Verdict | None:
    if health.worn_segments:
        return Verdict(
            type=OptimizeType.MAJOR,
            reason=f"{counted(health.worn_segments, 'segment')} with more than "
            f"{settings.duplicate_ratio:.0%} of the rows deleted",
        )
    if health.joinable_nodes:
        return Verdict(
            type=OptimizeType.MAJOR,
            reason=f"{counted(health.undersized.files, 'undersized segment')} that fill files of "
            f"the target size in {counted(health.joinable_nodes, 'node')}",
        )
    if health.overlapping:
        return Verdict(
            type=OptimizeType.MAJOR,
            reason=f"{counted(health.overlapping, 'segment')} of a node that can hold one value of "
            f"the first sort column > {settings.most_overlapping}",
        )
    return None


def _minor(
    health: PartitionHealth, age: _Age, settings: OptimizeSettings, *, is_keyed: bool
) -> Verdict | None:
    number, least = _minor_files(health), least_files(health, settings, is_keyed=is_keyed)
    if number >= least:
        return Verdict(type=OptimizeType.MINOR, reason=f"{_minor_text(health)} >= {least}")
    interval = settings.minor_interval_ms
    at_rest = _allowed_files(health, is_keyed=is_keyed)
    pending = bool(health.unmerged_files) or number > at_rest
    if interval is not None and age.ms > interval and pending:
        return Verdict(
            type=OptimizeType.MINOR,
            reason=f"{_minor_text(health)}, {age.text('since the last run')} > {_time(interval)}",
        )
    return None


def _minor_files(health: PartitionHealth) -> int:
    return (
        health.fragments.files
        + health.inserts.files
        + health.change_deletes.files
        + health.surplus_position_deletes
    )


def _minor_text(health: PartitionHealth) -> str:
    fragments = health.fragments.files + health.inserts.files
    parts = [counted(fragments, "fragment")]
    if health.change_deletes.files:
        parts.append(counted(health.change_deletes.files, "change delete file"))
    if health.surplus_position_deletes:
        parts.append(counted(health.surplus_position_deletes, "surplus position delete file"))
    return " + ".join(parts)


def _idle(health: PartitionHealth, settings: OptimizeSettings, *, is_keyed: bool) -> str:
    if not _minor_files(health):
        return "no fragments, no unmerged changes"
    return f"{_minor_text(health)} < {least_files(health, settings, is_keyed=is_keyed)}"


def _allowed_files(health: PartitionHealth, *, is_keyed: bool) -> int:
    """Return how many small files a partition has at rest: one for each of its nodes."""
    return max(health.least_nodes, health.fragment_nodes) if is_keyed else 1


def least_files(health: PartitionHealth, settings: OptimizeSettings, *, is_keyed: bool) -> int:
    """Return how many small files and deletes of a partition make a minor due."""
    return max(_allowed_files(health, is_keyed=is_keyed) + 1, settings.minor_file_count)


def _time(milliseconds: int) -> str:
    """Return a duration in its largest whole unit.

    >>> _time(3_600_000), _time(90_000), _time(250)
    ('1 h', '1 min', '250 ms')
    """
    for unit, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if milliseconds >= unit:
            return f"{milliseconds // unit:,} {name}"
    return f"{milliseconds} ms"

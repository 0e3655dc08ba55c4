"""What the service remembers of a table: one that nobody changed is not listed again.

Rules:
    - What is due depends on the time as well: it is decided anew at each look, from the counts of
      the last listing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.job.upkeep.survey import partition_status, survey_table
from arctic.optimizing.planning.evaluate import LastTimes, Verdict, evaluate
from arctic.optimizing.planning.health import PartitionHealth, health_score
from arctic.optimizing.settings import OptimizeSettings, OptimizeType
from arctic.service.scheduling.outlook import Outlook, predict


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """One table as it was when its files were listed."""

    settings: OptimizeSettings
    is_keyed: bool
    partitions: tuple[tuple[PartitionHealth, LastTimes], ...]

    @classmethod
    def of(cls, asked: AskedOptimize) -> TableLook:
        """List the files of a table.

        Raises:
            ArcticError: as ``arctic.status``.
        """
        survey = survey_table(asked, None, for_writing=False)
        statuses = [partition_status(files, survey) for files in survey.partitions]
        return cls(
            settings=survey.settings,
            is_keyed=survey.opened.table.is_keyed,
            partitions=tuple((each.health, each.times) for each in statuses),
        )

    @property
    def health(self) -> int:
        """Return the score of the table, 0 to 100."""
        return health_score(health for health, _ in self.partitions)

    @property
    def optimized_ms(self) -> int | None:
        """Return when a run last ended in any partition, or else the table began; None: empty."""
        ran = [times.any_ms for _, times in self.partitions if times.any_ms is not None]
        return max(ran or [times.first_ms for _, times in self.partitions], default=None)

    @property
    def bytes(self) -> int:
        """Of the files that a read opens."""
        return sum(health.stored_bytes for health, _ in self.partitions)

    @property
    def unmerged_bytes(self) -> int:
        """Of those, what base does not hold yet."""
        return sum(health.unmerged_bytes for health, _ in self.partitions)

    def behind_ms(self, now_ms: int) -> int:
        """Return for how long at most base has not held all that was written; 0: it does."""
        since = [
            times.any_ms or times.first_ms
            for health, times in self.partitions
            if health.unmerged_files
        ]
        return max(0, now_ms - min(since, default=now_ms))

    def outlook_of(self, kind: OptimizeType | None, now_ms: int) -> Outlook:
        """Say what a run is worth that somebody asks for.

        Args:
            kind: of every partition; None: what is due in each.
            now_ms: the time.
        """
        if kind is None:
            return self.outlook(now_ms, with_full=True)
        asked = Verdict(type=kind, reason="asked for")
        return predict(
            ((health, asked) for health, _ in self.partitions),
            open_file_cost_bytes=self.settings.open_file_cost_bytes,
        )

    def outlook(self, now_ms: int, *, with_full: bool) -> Outlook:
        """Say what is due at a time, and what doing it is worth.

        Args:
            now_ms: the time.
            with_full: fulls may be due.
        """
        settings = self.settings if with_full else replace(self.settings, full_interval_ms=None)
        return predict(
            self._judged(settings, now_ms), open_file_cost_bytes=settings.open_file_cost_bytes
        )

    def verdicts(self, now_ms: int) -> Iterator[tuple[PartitionHealth, Verdict]]:
        """Say of each partition how it is, and what is due in it at a time."""
        return self._judged(self.settings, now_ms)

    def _judged(
        self, settings: OptimizeSettings, now_ms: int
    ) -> Iterator[tuple[PartitionHealth, Verdict]]:
        for health, times in self.partitions:
            yield (
                health,
                evaluate(
                    health, times=times, settings=settings, is_keyed=self.is_keyed, now_ms=now_ms
                ),
            )

"""One table, worked on under a lease: optimized, or cleaned.

Rules:
    - Nothing that a table does to the work reaches the service: every failure is an answer.
    - What was decided at a look may wait for hours. A table is asked anew under the lease, and
      nothing is done that was not decided both times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from arctic.errors import ArcticError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.commits.lease import Lease, end_lease, extend_lease, take_lease
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.values.names import parse_identifier
from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.job.upkeep.asked_upkeep import AskedExpire, AskedOptimize
from arctic.job.upkeep.expire_job import expire_table
from arctic.job.upkeep.optimize_job import optimize_table
from arctic.service.event_log import Say, why
from arctic.service.slot_runner import StoppingError
from arctic.service.wishes import CleaningStep, Wishes

_WITHOUT_FULL = {"self-optimizing.full.trigger.interval": "-1"}


class Outcome(Enum):
    """What came of the work on one table."""

    DONE = "done"
    LEASED = "leased"
    """Another service is at it."""
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWork:
    """Works on tables of one catalog."""

    config: CatalogConfig
    place: Mapping[str, str] = field(repr=False)
    """Options that say where the catalog is."""
    owner: str
    lease_ms: int
    now_ms: Callable[[], int]
    say: Say

    def asked(self, table: str, given: Mapping[str, str] | None = None) -> AskedOptimize:
        """Return what asks for a table."""
        return AskedOptimize.of({**self.place, "path": table, **(given or {})})

    def optimize(self, table: str, runner: TaskRunner, *, is_peak: bool) -> Outcome:
        """Do what is due in a table; in a peak no full."""

        def work() -> bool:
            if not self._wishes(table).is_optimized:
                return False
            report = optimize_table(
                self.asked(table, _WITHOUT_FULL if is_peak else None),
                type=None,
                where=None,
                runner=runner,
                progress=SilentProgress(),
            )
            self.say(
                "optimized",
                table=table,
                type=report.type.value if report.type else None,
                reason=report.partitions[0].reason if report.partitions else None,
                partitions=len(report.partitions),
                tasks=report.tasks,
                attempts=report.attempts,
                files_before=report.before.files,
                files_after=report.after.files,
                bytes_written=report.bytes_written,
                seconds=round(report.seconds, 3),
                peak=is_peak,
            )
            return False

        return self._leased(table, "optimizing", work)

    def clean(self, table: str, step: CleaningStep, *, every_ms: int) -> Outcome:
        """Remove what the table needs no more, or say what would go.

        Args:
            table: its name.
            step: what was due at the look; what is no longer due is not done.
            every_ms: between two cleanings.
        """

        def work() -> bool:
            if self._wishes(table).cleaning(self.now_ms(), every_ms=every_ms) is not step:
                return False
            is_dry = step is CleaningStep.DRY_RUN
            asked = AskedExpire.of({**self.place, "path": table})
            report = expire_table(asked, dry_run=is_dry)
            self.say(
                "would clean" if is_dry else "cleaned",
                table=table,
                **{kind.name.lower(): count for kind, count in report.counts.items()},
                bytes=sum(report.bytes.values()),
                notes="; ".join(report.notes) or None,
                seconds=round(report.seconds, 3),
            )
            return True

        return self._leased(table, "cleaning", work)

    def extend(self, table: str) -> None:
        """Extend the lease of a table that is worked on; without it, commits still decide."""
        try:
            extend_lease(self.config, table, self._lease(), now_ms=self.now_ms())
        except ArcticError as error:
            self.say("failed", table=table, what="extending the lease", why=why(error))

    def _leased(self, table: str, what: str, work: Callable[[], bool]) -> Outcome:
        """Work under a lease; the work says whether the table is cleaned then."""
        lease = self._lease()
        try:
            holder = take_lease(self.config, table, lease, now_ms=self.now_ms())
        except Exception as error:  # noqa: BLE001 - a table must not stop the service, see above
            return self._failed(table, what, error)
        if holder.owner != self.owner:
            self.say("leased", table=table, what=what, owner=holder.owner)
            return Outcome.LEASED
        cleaned, outcome = False, Outcome.DONE
        try:
            cleaned = work()
        except StoppingError:
            outcome = Outcome.STOPPED
        except Exception as error:  # noqa: BLE001 - a table must not stop the service, see above
            outcome = self._failed(table, what, error)
        try:
            end_lease(self.config, table, lease, now_ms=self.now_ms(), cleaned=cleaned)
        except Exception as error:  # noqa: BLE001 - it expires by itself
            self._failed(table, "giving the lease back", error)
        return outcome

    def _wishes(self, table: str) -> Wishes:
        """Load what a table asks for now."""
        base = existing_store(open_catalog(self.config), parse_identifier(table))
        return Wishes.of(base.properties)

    def _failed(self, table: str, what: str, error: Exception) -> Outcome:
        self.say("failed", table=table, what=what, why=why(error))
        return Outcome.FAILED

    def _lease(self) -> Lease:
        return Lease(owner=self.owner, until_ms=self.now_ms() + self.lease_ms)

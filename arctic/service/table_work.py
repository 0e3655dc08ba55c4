"""One table, worked on: optimized or cleaned under a lease, or published, or refreshed.

Rules:
    - Nothing that a table does to the work reaches the service: every failure is an answer.
    - What a look decided may wait for hours. It is decided again under the lease, and only what was
      decided both times is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from arctic.errors import ArcticError, ConflictError
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.commits.lease import Lease, end_lease, extend_lease, take_lease
from arctic.iceberg.commits.service_mark import mark_namespaces, unmark_namespaces
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.values.names import parse_identifier
from arctic.job.publish.after_write import publish_all
from arctic.job.tasks.progress import SilentProgress
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.job.upkeep.asked_upkeep import AskedExpire, AskedOptimize
from arctic.job.upkeep.expire_job import expire_table
from arctic.job.upkeep.optimize_job import optimize_table
from arctic.job.views.refresh_job import refresh_view
from arctic.optimizing.report import OptimizeReport
from arctic.options import FULL_INTERVAL, OPTIMIZE_ENABLED
from arctic.service.cleaning_queue import Cleaning
from arctic.service.event_log import Say, why
from arctic.service.slot_runner import CancelledError, StoppingError
from arctic.service.watching.wishes import CleaningStep, Wishes
from arctic.table.expire_report import ExpireReport

_MOST_JUMP_MS = 60_000
_WITHOUT_FULL = {FULL_INTERVAL.name: "-1"}
IN_ANY_CASE = {OPTIMIZE_ENABLED.name: "true"}
"""Settings of a run that somebody asks for: a table that is switched off is optimized as well."""


class Outcome(Enum):
    """What came of the work on one table."""

    DONE = "done"
    LEASED = "leased"
    """Another service is at it."""
    OUTRUN = "outrun"
    """Others were faster; it is tried again."""
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    GONE = "gone"
    """The table was dropped meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What came of the work, and what is told of it."""

    outcome: Outcome
    failure: str | None = None
    report: OptimizeReport | ExpireReport | None = None
    """None: it did not come so far, or nothing was to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWork:
    """Works on tables of one catalog."""

    config: CatalogConfig
    place: Mapping[str, str] = field(repr=False)
    """Options that say where the catalog is."""
    owner: str
    lease_ms: int
    now_ms: Callable[[], int]
    passed_ms: Callable[[], int]
    """When the service began, and what has passed since: a clock that is set does not move it."""
    say: Say

    def asked(self, table: str, given: Mapping[str, str] | None = None) -> AskedOptimize:
        """Return what asks for a table."""
        return AskedOptimize.of({**self.place, "path": table, **(given or {})})

    def optimize(
        self, table: str, runner: TaskRunner, *, is_peak: bool, type: str | None, is_asked: bool
    ) -> Worked:
        """Optimize a table.

        Args:
            table: its name.
            runner: where tasks run.
            is_peak: no full is run.
            type: of every partition; None: what is due in each.
            is_asked: by a call, which counts for a table that is switched off, too.
        """

        def work() -> OptimizeReport | None:
            if not is_asked and not self._wishes(table).is_optimized:
                return None
            given = IN_ANY_CASE if is_asked else _WITHOUT_FULL if is_peak else None
            report = optimize_table(
                self.asked(table, given),
                type=type,
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
            return report

        return self._leased(table, "optimizing", work)

    def clean(self, cleaning: Cleaning, *, every_ms: int) -> Worked:
        """Remove what a table needs no more, or say what would go.

        Args:
            cleaning: what is due; what is no longer due is not done, unless a call asked for it.
            every_ms: between two cleanings.
        """
        table, step = cleaning.table, cleaning.step

        def work() -> ExpireReport | None:
            due = self._wishes(table).cleaning(self.now_ms(), every_ms=every_ms)
            if due is not step and cleaning.process_id is None:
                return None
            is_dry = step is CleaningStep.DRY_RUN
            asked = AskedExpire.of({**self.place, "path": table})
            self._tell_jump(table)
            report = expire_table(asked, dry_run=is_dry, now_ms=self._aged_ms())
            self.say(
                "would clean" if is_dry else "cleaned",
                table=table,
                **{kind.name.lower(): count for kind, count in report.counts.items()},
                bytes=sum(report.bytes.values()),
                notes="; ".join(report.notes) or None,
                seconds=round(report.seconds, 3),
            )
            return report

        return self._leased(table, "cleaning", work)

    def publish(self, table: str) -> Worked:
        """Publish a table for other engines; without a lease, as commits decide."""
        try:
            if not self._wishes(table).is_published:
                return Worked(outcome=Outcome.DONE)
            reference = self.asked(table).reference
            for report in publish_all(reference, every=1, now_ms=self._aged_ms()):
                if report.snapshot_id is not None:
                    self.say(
                        "published",
                        table=table,
                        into=report.into,
                        data_files_added=report.data_files_added,
                        delete_files_added=report.delete_files_added,
                        seconds=round(report.seconds, 3),
                    )
        except Exception as error:  # noqa: BLE001 - a table must not stop the service, see above
            return self._failed(table, "publishing", error)
        return Worked(outcome=Outcome.DONE)

    def refresh(self, view: str) -> Worked:
        """Refresh a view; without a lease, as commits decide."""
        try:
            if self._wishes(view).refreshing is None:
                return Worked(outcome=Outcome.DONE)
            report = refresh_view(self.asked(view).reference, is_full=False)
            if report.snapshot_id is not None:
                self.say(
                    "refreshed",
                    table=view,
                    upserts=report.upserts,
                    deletes=report.deletes,
                    full=report.is_full,
                    seconds=round(report.seconds, 3),
                )
        except ConflictError as error:
            # Others may have refreshed it as its sources were before.
            return Worked(outcome=Outcome.OUTRUN, failure=why(error))
        except Exception as error:  # noqa: BLE001 - a view must not stop the service, see above
            return self._failed(view, "refreshing", error)
        return Worked(outcome=Outcome.DONE)

    def extend(self, table: str) -> None:
        """Extend the lease of a table that is worked on; without it, commits still decide."""
        try:
            extend_lease(self.config, table, self._lease(), now_ms=self.now_ms())
        except Exception as error:  # noqa: BLE001 - other tables have leases to be extended, too
            self.say("failed", table=table, what="extending the lease", why=why(error))

    def mark(self, groups: Iterable[str]) -> None:
        """Let writers see that this service looks after some groups."""
        try:
            mark_namespaces(self.config, groups, self._lease())
        except Exception as error:  # noqa: BLE001 - writers look after their tables themselves then
            self.say("failed", what="marking the namespaces", why=why(error))

    def unmark(self, groups: Iterable[str]) -> None:
        """Let writers look after their tables themselves again."""
        try:
            unmark_namespaces(self.config, groups, self.owner)
        except Exception as error:  # noqa: BLE001 - the marks expire by themselves
            self.say("failed", what="taking the marks away", why=why(error))

    def _leased(
        self, table: str, what: str, work: Callable[[], OptimizeReport | ExpireReport | None]
    ) -> Worked:
        """Work under a lease; a report of a cleaning is noted in the table."""
        lease = self._lease()
        try:
            holder = take_lease(self.config, table, lease, now_ms=self.now_ms())
        except Exception as error:  # noqa: BLE001 - a table must not stop the service, see above
            return self._failed(table, what, error)
        if holder.owner != self.owner:
            self.say("leased", table=table, what=what, owner=holder.owner)
            return Worked(outcome=Outcome.LEASED, failure=f"{holder.owner} has the table")
        try:
            done = Worked(outcome=Outcome.DONE, report=work())
        except StoppingError:
            done = Worked(outcome=Outcome.STOPPED)
        except CancelledError:
            self.say("cancelled", table=table)
            done = Worked(outcome=Outcome.CANCELLED)
        except Exception as error:  # noqa: BLE001 - a table must not stop the service, see above
            done = self._failed(table, what, error)
        if done.outcome is Outcome.GONE:
            return done
        is_cleaned = isinstance(done.report, ExpireReport)
        try:
            end_lease(self.config, table, lease, now_ms=self.now_ms(), cleaned=is_cleaned)
        except Exception as error:  # noqa: BLE001 - it expires by itself
            self._failed(table, "giving the lease back", error)
        return done

    def _is_gone(self, table: str) -> bool:
        try:
            return load_table(open_catalog(self.config), parse_identifier(table)) is None
        except ArcticError:
            return False

    def _aged_ms(self) -> int:
        """Return the time by which ages are counted: a clock that jumps ahead makes nothing old."""
        return min(self.now_ms(), self.passed_ms())

    def _tell_jump(self, table: str) -> None:
        """Tell of a clock that has jumped ahead."""
        ahead_ms = self.now_ms() - self.passed_ms()
        if ahead_ms > _MOST_JUMP_MS:
            self.say(
                "failed",
                table=table,
                what="telling the time",
                why=f"the clock went {ahead_ms // 1_000} seconds ahead of what has passed since "
                "the service began; ages are counted without them: begin the service anew if it "
                "is right now",
            )

    def _wishes(self, table: str) -> Wishes:
        """Load what a table asks for now."""
        base = existing_store(open_catalog(self.config), parse_identifier(table))
        return Wishes.of(base.properties)

    def _failed(self, table: str, what: str, error: Exception) -> Worked:
        if self._is_gone(table):
            # The next look tells of it.
            return Worked(outcome=Outcome.GONE, failure=f"the table was dropped while {what}")
        said = why(error)
        self.say("failed", table=table, what=what, why=said)
        return Worked(outcome=Outcome.FAILED, failure=said)

    def _lease(self) -> Lease:
        return Lease(owner=self.owner, until_ms=self.now_ms() + self.lease_ms)

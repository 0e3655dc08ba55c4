"""What the processes of a soak left, beside what they must have left."""

from __future__ import annotations

from dataclasses import dataclass, field

import arctic
from arctic.table.expire_report import ExpiredKind, ExpireReport
from soak.crew import Crew
from soak.model import WRITERS, Replay, Row, divided, kept_rows, rows_of

_CLEAN = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
}


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a soak found."""

    failures: list[str] = field(default_factory=list)
    orphans: int = 0
    rows: int = 0
    operations: int = 0
    retried: int = 0

    @property
    def is_good(self) -> bool:
        """Whether everything was as it must be."""
        return not self.failures


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Compares the tables of one soak when everybody has ended."""

    warehouse: str
    seed: int
    crew: Crew
    kept: int = 0
    """Rows that each table has from its beginning, and that nobody changed."""
    outcome: Outcome = field(default_factory=Outcome)

    def sum_up(self) -> None:
        """Take over what the processes said."""
        last = self.crew.last.values()
        self.outcome.failures += self.crew.found()
        self.outcome.operations = sum(report.operations for report in last)
        self.outcome.retried = sum(report.retried for report in last)

    def compare(self, table: str, *, cleans: bool) -> None:
        """Compare a table with its oracle: as it is, cleaned, and when it was optimized.

        Args:
            table: its name.
            cleans: take away what killed processes left; else nobody may have left anything.
        """
        want: dict[int, Row] = {}
        for writer in WRITERS:
            count = self.crew.counts(writer, table)
            want |= Replay(seed=self.seed, table=table, writer=writer).to(count)
        self._check_rows(table, want)
        if cleans:
            self._expired(table, dry_run=False)
        self._check_orphans(table)
        arctic.optimize(table, type="full", warehouse=self.warehouse)
        self._check_rows(table, want)
        self.outcome.rows += len(want) + self.kept

    def _check_rows(self, table: str, want: dict[int, Row]) -> None:
        changed, unchanged = divided(arctic.read(table, warehouse=self.warehouse).read_all())
        if not unchanged.equals(kept_rows(self.seed, self.kept)):
            self.outcome.failures.append(
                f"{table}: {len(unchanged)} rows that nobody changes, where {self.kept} were"
            )
        found = rows_of(changed)
        if sorted(found) != sorted(want.values()):
            lost = sorted(set(want.values()) - set(found))
            wrong = sorted(set(found) - set(want.values()))
            self.outcome.failures.append(
                f"{table}: {len(found)} rows where the oracle has {len(want)}; "
                f"lost {lost[:3]}, wrong {wrong[:3]}"
            )

    def _check_orphans(self, table: str) -> None:
        report = self._expired(table, dry_run=True)
        orphans = [item.name for item in report.items if item.kind is ExpiredKind.ORPHAN]
        self.outcome.orphans += len(orphans)
        if orphans:
            self.outcome.failures.append(
                f"{table}: {len(orphans)} files that nobody refers to: {orphans[:5]}"
            )

    def _expired(self, table: str, *, dry_run: bool) -> ExpireReport:
        return arctic.expire(table, options=_CLEAN, dry_run=dry_run, warehouse=self.warehouse)

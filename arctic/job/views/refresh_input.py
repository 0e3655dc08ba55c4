"""What a refresh reads into its workspace: changes and rows of the sources, rows of the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.edit.rows_among import Values, rows_among
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import ScanJob
from arctic.job.reference import TableReference
from arctic.job.views.most_rows import most_rows
from arctic.job.views.source_rows import CHANGE_TYPE, Stretch
from arctic.job.views.view_plan import ViewPlan
from arctic.job.views.workspace import GIVEN, Workspace
from arctic.views.sql_tree import quoted
from arctic.views.view_keeping import SIGN
from arctic.views.view_query import Source, ViewQuery
from arctic.views.view_statements import STORED, Statements, difference


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshInput:
    """One refresh of one view."""

    space: Workspace
    plan: ViewPlan
    view: OpenTable
    """As it was when it was asked where its sources stand."""
    reference: TableReference
    stretches: Mapping[str, Stretch]
    """Of each source, by name."""
    raised: Mapping[str, int]
    """What is added to the numbers of a source's versions, by name; absent: nothing."""

    @property
    def statements(self) -> Statements:
        """The statements of the view."""
        assert self.plan.statements is not None
        return self.plan.statements

    @property
    def query(self) -> ViewQuery:
        """What the view is of."""
        return self.statements.query

    def columns(self, source: Source) -> list[str]:
        """Return the columns of a source that the view reads."""
        return [name for name in source.columns if name in self.query.used[source.alias]]

    def schema(self, source: Source) -> pa.Schema:
        """Return the schema of the rows that are read of a source."""
        own = self.plan.sources[source.identifier].opened.arrow_schema
        return pa.schema([own.field(name) for name in self.columns(source)])

    def load_changes(self, source: Source, table: str) -> None:
        """Fill a table with the changed rows of a source: those that went, and those that came."""
        self.space.load(table, *self._changes(source))

    def make_of_changes(
        self, table: str, source: Source, statement: Callable[[str], str], *commits: str
    ) -> None:
        """Fill a table with what a statement makes of the changed rows of a source.

        Args:
            table: to be made.
            source: of the view.
            statement: SQL, of the relation of these rows.
            commits: columns that tell of their commits.
        """
        job, relation = self._changes(source, *commits)
        self.space.make_from(table, job, statement(relation))

    def _changes(self, source: Source, *commits: str) -> tuple[ScanJob, str]:
        """Return the changed rows of a source, and what selects them with their ``SIGN``."""
        columns, stretch = [*self.columns(source), *commits], self.stretches[source.identifier]
        job = self._expected(self.plan.sources[source.identifier].changes(stretch, columns))
        sign = f"CAST(CASE {CHANGE_TYPE} WHEN 'insert' THEN 1 ELSE -1 END AS TINYINT) AS {SIGN}"
        return job, f"(SELECT {', '.join([*map(quoted, columns), sign])} FROM {GIVEN})"

    def rows(self, source: Source, among: Values | None = None) -> ScanJob:
        """Plan a read of the rows of a source, where its stretch ends."""
        end = self.stretches[source.identifier].end
        table = self.plan.sources[source.identifier]
        return self._expected(table.rows(end, self.columns(source), among))

    def newest_commit(self, source: Source) -> tuple[str, int]:
        """Return the number of the version where a source's stretch ends, and its time in ms."""
        end = self.stretches[source.identifier].end
        number, committed_ms = self.plan.sources[source.identifier].newest_commit(end)
        return self.version(source, str(number)), committed_ms

    def version(self, source: Source, number: str) -> str:
        """Return SQL of what the view calls a version of a source.

        Args:
            source: of the view.
            number: SQL of the number that the source has for it.
        """
        return f"({number} + {self.raised.get(source.identifier, 0)})"

    def difference(self) -> str:
        """Return the statement of the changes that turn ``STORED`` into ``FRESH``."""
        return self.space.held(difference(self.plan.schema.names, self.plan.key))

    def load_stored(self, among: Values | None = None) -> None:
        """Fill ``STORED`` with rows of the view: with all of them, or at least those needed."""
        job = rows_among(
            self.view,
            AskedRead.of(self.reference.options),
            self.plan.schema.names,
            among,
        )
        self.space.load(STORED, self._expected(job))

    def _expected(self, job: ScanJob) -> ScanJob:
        """Return a read, once the workspace knows how much comes."""
        self.space.expect(most_rows(job))
        return job

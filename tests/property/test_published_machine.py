"""A published table against the dict: any history of the pair, and any moment to publish."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

import arctic
from tests.iceberg.plain_readers import assert_filters_find, by_duckdb, by_pyiceberg
from tests.property.table_machine import LakeMachine, Row, assert_rows
from tests.property.test_table_machine import TableMachine


class PublishedMachine(TableMachine):
    """A table with a primary key, and what was shown of it last."""

    shown: list[Row] | None = None

    @precondition(lambda self: self.commits > 0)
    @rule(
        engine=st.sampled_from([by_pyiceberg, by_pyiceberg, by_duckdb]),
        output=st.sampled_from(["v2", "v3", "clean"]),
    )
    def publish(self, engine: Any, output: str) -> None:
        """Others read the rows of now, filtered too; publishing them again changes nothing."""
        given = output if self.shown is None else None
        arctic.publish("m.t", output=given, warehouse=self.folder)
        self.shown = self.rows_now()
        assert_rows(engine(self.folder, "m.t_fresh").to_pylist(), self.shown)
        by_other = engine is by_duckdb
        assert_filters_find(self.folder, "m.t_fresh", self.shown, by_duckdb=by_other)
        assert arctic.publish("m.t", warehouse=self.folder).snapshot_id is None

    @precondition(lambda self: self.commits - self.commits_at_cleaning > 2)
    @rule(
        target=LakeMachine.snapshots,
        ttl_minutes=st.sampled_from(["0", "10080"]),
        keep=st.sampled_from(["0", "12h"]),
        count=st.integers(1, 3),
    )
    def expire(self, ttl_minutes: str, keep: str, count: int) -> Any:
        """Cleaning leaves what is shown alone; it may say so."""
        options = {
            "change.data.ttl.minutes": ttl_minutes,
            "snapshot.keep.duration": keep,
            "snapshot.keep.min-count": str(count),
            "clean-orphan-file.min-existing-time-minutes": "0",
        }
        before = self.snapshot_ids()
        arctic.expire("m.t", options=options, warehouse=self.folder)
        after = self.snapshot_ids()
        if (ttl_minutes, keep) != ("10080", "12h"):
            self.cleanings += 1
        made = self.remembered(*sorted(after - before))
        self.commits_at_cleaning = self.commits
        return made

    @invariant()
    def shows_what_was_published(self) -> None:
        """Until the next publish, whatever becomes of the pair meanwhile."""
        if self.shown is not None:
            assert_rows(by_pyiceberg(self.folder, "m.t_fresh").to_pylist(), self.shown)


TestPublishedMachine = PublishedMachine.TestCase
TestPublishedMachine.settings = settings(
    max_examples=12,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

"""A table without a primary key against a list: any history, any layout, any plan."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from tests.property.table_machine import LakeMachine, Row, as_row, ids, payloads, regions
from tests.property.table_machine import rows as some_rows


class UnkeyedMachine(LakeMachine):
    """A table of one store; ``model`` is its rows, equal ones as often as they were written."""

    @initialize(partition_by=st.sampled_from([[], ["region"], ["bucket(2, id)"]]))
    def create(self, partition_by: list[str]) -> None:
        """Create the table."""
        self.create_table(partition_by=partition_by)
        self.model: list[Row] = []

    def rows_now(self) -> list[Row]:
        """Return the rows of the model."""
        return list(self.model)

    def become(self, rows: list[Row]) -> None:
        """Let the model be these rows."""
        self.model = list(rows)

    @rule(target=LakeMachine.snapshots, drawn=some_rows)
    def append(self, drawn: Any) -> Any:
        """An append adds its rows, whatever is there."""
        batch = [as_row(each) for each in drawn]
        self.model += batch
        return self.write(batch, "append")

    @rule(
        target=LakeMachine.snapshots,
        drawn=st.lists(st.tuples(ids, regions, payloads), max_size=8),
    )
    def overwrite(self, drawn: Any) -> Any:
        """An overwrite leaves its own rows only."""
        self.model = [as_row(each) for each in drawn]
        return self.write(self.model, "overwrite")

    @invariant()
    def equals_the_model(self) -> None:
        """The table holds the rows of the list."""
        self.assert_equal_to_the_model()


TestUnkeyedMachine = UnkeyedMachine.TestCase
TestUnkeyedMachine.settings = settings(
    max_examples=6,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

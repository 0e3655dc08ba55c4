"""Long lives of tables with ordering columns: late, doubled and shuffled events between everything.

``HYPOTHESIS_PROFILE=deep`` lives 10,000 of them, or as many as ``ARCTIC_HISTORIES`` says.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arctic

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
HISTORIES = int(os.environ.get("ARCTIC_HISTORIES", 10_000 if IS_DEEP else 8))
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("day", pa.date32()),
        pa.field("step", pa.int32()),
        pa.field("note", pa.string()),
    ]
)
Event = tuple[int, int]
"""A key and its place in the order; what it does follows from both."""

events = st.tuples(st.integers(0, 4), st.integers(0, 8))
deliveries = st.lists(events, min_size=1, max_size=6)
steps = st.one_of(
    st.tuples(st.just("write"), deliveries),
    st.tuples(st.just("write"), deliveries),
    st.tuples(st.just("write again"), st.randoms(use_true_random=False)),
    st.tuples(st.just("optimize"), st.sampled_from(["minor", "major", "full"])),
    st.tuples(st.just("expire"), st.none()),
    st.tuples(st.sampled_from(["add", "rename", "rename order", "widen"]), st.none()),
)


def deletes(event: Event) -> bool:
    """Say whether an event deletes its key."""
    return sum(event) % 4 == 0


class Life:
    """A table and what it should hold, under the names that its columns have by now."""

    def __init__(self, ordering: Sequence[str], buckets: str, warehouse: str) -> None:
        self.table = arctic.create_table(
            "db.t",
            SCHEMA,
            primary_key="id",
            ordering_columns=list(ordering),
            properties={
                "base.file-index.hash-bucket": buckets,
                "change.file-index.hash-bucket": "2",
            },
            warehouse=warehouse,
        )
        self.names = {name: name for name in SCHEMA.names}
        self.ordering = ordering
        self.delivered: list[Event] = []
        self.best: dict[int, tuple[Event, bool]] = {}

    @property
    def added(self) -> bool:
        """Whether the table has one more column by now."""
        return "extra" in self.table.schema.names

    def step(self, kind: str, argument: Any) -> None:
        """Do one thing to the table, and the same to what it should hold."""
        if kind == "write":
            self.deliver(argument)
        elif kind == "write again" and self.delivered:
            again = list(self.delivered)
            argument.shuffle(again)
            self.deliver(again)
        elif kind == "optimize":
            self.table.optimize(type=argument)
        elif kind == "expire":
            # Deletes stay for as long as change.data.ttl.minutes says.
            self.table.expire(options={"snapshot.keep.duration": "0"})
        elif kind == "add" and not self.added:
            self.table.evolve_schema(add={"extra": pa.int64()})
        elif kind == "widen":
            step = self.names["step"]
            if self.table.schema.field(step).type == pa.int32():
                self.table.evolve_schema(widen={step: pa.int64()})
        elif kind.startswith("rename"):
            column = self.ordering[-1] if kind == "rename order" else "note"
            new = self.names[column] + "x"
            self.table.evolve_schema(rename={self.names[column]: new})
            self.names[column] = new

    def deliver(self, batch: Sequence[Event]) -> None:
        """Write events by their actions."""
        rows = [
            {**self.row(event, self.added), "op": "D" if deletes(event) else "U"} for event in batch
        ]
        schema = self.table.schema.append(pa.field("op", pa.string()))
        self.table.write(
            pa.Table.from_pylist(rows, schema=schema),
            mode="upsert",
            options={"action-column": "op"},
        )
        self.delivered += batch
        for event in batch:
            if event[0] not in self.best or event >= self.best[event[0]][0]:
                self.best[event[0]] = event, self.added

    def row(self, event: Event, has_extra: bool) -> dict[str, Any]:
        """Return the row of an event, as it was written before or after a column was added."""
        key, place = event
        high, low = (place // 3, place % 3) if len(self.ordering) > 1 else (place, place)
        days = pa.scalar(high, pa.int32()).cast(pa.date32()).as_py()
        row = {"id": key, "day": days, "step": low, "note": f"{key}-{place}"}
        row = {self.names[name]: value for name, value in row.items()}
        return {**row, "extra": place if has_extra else None} if self.added else row

    def check(self) -> None:
        """Read the table whole, and by a filter that drops some of what outdoes other rows."""
        wanted = [
            self.row(event, has_extra)
            for _, (event, has_extra) in sorted(self.best.items())
            if not deletes(event)
        ]
        assert rows_of(self.table) == wanted
        note = self.names["note"]
        few = [row for row in wanted if row[note] > "2"]
        assert rows_of(self.table, filter=f"{note} > '2'") == few


def rows_of(table: arctic.Table, **asked: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a read by their key."""
    return sorted(table.read(**asked).read_all().to_pylist(), key=lambda row: int(row["id"]))


@given(
    ordering=st.sampled_from([("step",), ("day", "step"), ("day",)]),
    buckets=st.sampled_from(["1", "4"]),
    life=st.lists(steps, min_size=3, max_size=9),
)
@settings(max_examples=HISTORIES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_life_of_late_events(
    ordering: tuple[str, ...], buckets: str, life: list[tuple[str, Any]]
) -> None:
    """After every step, and once everything has come again and is merged, as a dictionary says."""
    warehouse = tempfile.mkdtemp()
    try:
        lived = Life(ordering, buckets, warehouse)
        for kind, argument in life:
            lived.step(kind, argument)
            lived.check()
        if lived.delivered:
            lived.deliver(lived.delivered[::-1])
        lived.table.optimize(type="full")
        lived.check()
    finally:
        shutil.rmtree(warehouse)

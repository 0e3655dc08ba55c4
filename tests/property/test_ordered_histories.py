"""Long lives of tables with ordering columns: late, doubled and shuffled events between everything.

``HYPOTHESIS_PROFILE=deep`` lives 10,000 of them, or as many as ``ARCTIC_HISTORIES`` says.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import arctic
from tests.iceberg.plain_readers import by_pyiceberg
from tests.property.drawn import may_occur, occurred
from tests.property.merge_history import histories, lives, optimizings

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("day", pa.date32()),
        pa.field("step", pa.int32()),
        pa.field("note", pa.string()),
    ]
)
Event = tuple[int, int, int]
"""A key, its place in the order, and which of several at that place; all say what it does."""

events = st.tuples(st.integers(0, 4), st.integers(0, 8), st.integers(0, 1))
deliveries = st.lists(events, min_size=1, max_size=6)
again = st.tuples(st.just("write again"), st.randoms(use_true_random=False))
schemas = [st.just((kind, None)) for kind in ("add", "rename", "rename order", "widen")]
steps = [again, again, *optimizings(), *optimizings(), st.just(("expire", None)), *schemas]


def deletes(event: Event) -> bool:
    """Say whether an event deletes its key."""
    return sum(event) % 4 == 0


_EVENTS = ["late", "late after a delete", "at the place of the last", "a key twice in a write"]
_STEPS = ["write", "write again", "optimize minor", "optimize major", "optimize full", "expire"]
_SCHEMAS = ["add", "rename", "rename order", "widen"]
_TABLES = ["step", "day, step", "day", "bucket(2, id)", "no partition"]
may_occur(*_TABLES, *_EVENTS, *_STEPS, *_SCHEMAS, "published v2", "published clean")


class Life:
    """A table and what it should hold, under the names that its columns have by now."""

    def __init__(
        self, ordering: Sequence[str], fields: Sequence[str], buckets: str, warehouse: str
    ) -> None:
        occurred(", ".join(ordering))
        occurred("".join(fields) or "no partition")
        self.warehouse = warehouse
        self.table = arctic.create_table(
            "db.t",
            SCHEMA,
            primary_key="id",
            ordering_columns=list(ordering),
            partition_by=list(fields),
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
        elif kind == "write again":
            if not self.delivered:
                return
            again = list(self.delivered)
            argument.shuffle(again)
            self.deliver(again)
        elif kind == "optimize":
            if self.table.optimize(type=argument).snapshot_id is None:
                return
        elif kind == "expire":
            # Deletes stay for as long as change.data.ttl.minutes says.
            if not self.table.expire(options={"snapshot.keep.duration": "0"}).items:
                return
        elif not self.evolve(kind):
            return
        occurred(f"{kind} {argument}" if kind == "optimize" else kind)

    def evolve(self, kind: str) -> bool:
        """Change a column; say whether it could be."""
        if kind == "add" and not self.added:
            self.table.evolve_schema(add={"extra": pa.int64()})
        elif kind.startswith("rename"):
            column = self.ordering[-1] if kind == "rename order" else "note"
            new = self.names[column] + "x"
            self.table.evolve_schema(rename={self.names[column]: new})
            self.names[column] = new
        elif kind == "widen" and pa.field(self.names["step"], pa.int32()) in self.table.schema:
            self.table.evolve_schema(widen={self.names["step"]: pa.int64()})
        else:
            return False
        return True

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
        if len({key for key, *_ in batch}) < len(batch):
            occurred("a key twice in a write")
        for event in batch:
            self.take(event)

    def take(self, event: Event) -> None:
        """Let an event be the last of its key, unless it comes late."""
        key, place, _ = event
        last, _ = self.best.get(key, (event, False))
        if place < last[1]:
            occurred("late after a delete" if deletes(last) else "late")
            return
        if place == last[1] and event != last:
            occurred("at the place of the last")
        self.best[key] = event, self.added

    def row(self, event: Event, has_extra: bool) -> dict[str, Any]:
        """Return the row of an event, as it was written before or after a column was added."""
        key, place, which = event
        high, low = (place // 3, place % 3) if len(self.ordering) > 1 else (place, place)
        days = pa.scalar(high, pa.int32()).cast(pa.date32()).as_py()
        row = {"id": key, "day": days, "step": low, "note": f"{key}-{place}-{which}"}
        row = {self.names[name]: value for name, value in row.items()}
        return {**row, "extra": place if has_extra else None} if self.added else row

    @property
    def expected(self) -> list[dict[str, Any]]:
        """The rows that the table should have."""
        return [
            self.row(event, has_extra)
            for _, (event, has_extra) in sorted(self.best.items())
            if not deletes(event)
        ]

    def check(self) -> None:
        """Read the table whole, and by a filter that drops some of what outdoes other rows."""
        wanted = self.expected
        assert rows_of(self.table) == wanted
        note = self.names["note"]
        few = [row for row in wanted if row[note] > "2"]
        assert rows_of(self.table, filter=f"{note} > '2'") == few

    def check_published(self, output: str) -> None:
        """Publish the merged view, and read it by another reader."""
        arctic.publish("db.t", output=output, warehouse=self.warehouse)
        found = by_pyiceberg(self.warehouse, "db.t_fresh").to_pylist()
        assert sorted(found, key=lambda row: int(row["id"])) == self.expected
        occurred(f"published {output}")


def rows_of(table: arctic.Table, **asked: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a read by their key."""
    return sorted(table.read(**asked).read_all().to_pylist(), key=lambda row: int(row["id"]))


@given(
    ordering=st.sampled_from([("step",), ("day", "step"), ("day",)]),
    fields=st.sampled_from([(), ("bucket(2, id)",)]),
    buckets=st.sampled_from(["1", "4"]),
    life=lives(st.tuples(st.just("write"), deliveries), steps),
    output=st.sampled_from(["v2", "clean"]),
)
@histories(6)
def test_a_life_of_late_events(
    ordering: tuple[str, ...],
    fields: tuple[str, ...],
    buckets: str,
    life: list[tuple[str, Any]],
    output: str,
) -> None:
    """After every step, and once everything has come again and is merged, as a dictionary says."""
    warehouse = tempfile.mkdtemp()
    try:
        lived = Life(ordering, fields, buckets, warehouse)
        for kind, argument in life:
            lived.step(kind, argument)
            lived.check()
        lived.check_published(output)
        if lived.delivered:
            lived.deliver(lived.delivered[::-1])
        lived.table.optimize(type="full")
        lived.check()
    finally:
        shutil.rmtree(warehouse)

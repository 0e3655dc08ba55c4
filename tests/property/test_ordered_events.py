"""Events of a table with ordering columns: in any order, any number of times, the same table."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import arctic
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.scan.changes.change_limit import ChangeLimit
from arctic.table.streams.stream_position import StreamPosition
from tests.iceberg.plain_readers import by_pyiceberg
from tests.property.drawn import may_occur, occurred
from tests.property.late_events import SCHEMA, Event, deliver, events, expected, rows_of
from tests.property.merge_history import histories
from tests.property.table_machine import SEGMENTS_ONLY

ORDERINGS = [("step",), ("at", "step"), ("at",)]
writes = st.lists(st.lists(events, min_size=1, max_size=5), min_size=1, max_size=5)
optimizing = st.none() | st.tuples(
    st.sampled_from(["minor", "major", "full"]),
    st.fixed_dictionaries(
        {},
        optional={
            "self-optimizing.target-size": st.sampled_from(["1", "1500"]),
            "self-optimizing.fragment-ratio": st.sampled_from(["1", str(SEGMENTS_ONLY)]),
            "self-optimizing.max-task-size-bytes": st.just("1"),
            "self-optimizing.sort-columns": st.sampled_from(["note", "step", "id"]),
            "self-optimizing.max-file-count": st.sampled_from(["1", "3"]),
            "merge.max-delete-bytes": st.just("1"),
        },
    ),
)
layouts = st.fixed_dictionaries(
    {
        "base.file-index.hash-bucket": st.sampled_from(["1", "4"]),
        "change.file-index.hash-bucket": st.sampled_from(["1", "2"]),
    }
)

_RUNS = ["optimize minor", "optimize major", "optimize full", "published v2", "published clean"]
may_occur("actions", "modes", *_RUNS, "followed", "bucket(2, id)", "no partition")


def as_event(row: Mapping[str, Any], ordering: Sequence[str]) -> Event:
    """Return the event that a row of a stream tells."""
    place = int(row["step"]) if "step" in ordering else row["at"].microsecond // 1_000
    if len(ordering) > 1:
        place += 3 * (row["at"].microsecond // 1_000)
    return row["id"], place, row["_change_action"] == "-D"


def told_since(changes: Changes, at: StreamPosition, max_files: int | None) -> list[Any]:
    """Return the rows of a stream from a position on, in micro-batches."""
    told: list[Any] = []
    while (end := changes.advance(at, limit=ChangeLimit(max_files=max_files))) != at:
        told += changes.plan(at, end, columns=None).table().to_pylist()
        at = end
    return told


@given(
    writes=writes,
    hows=st.lists(st.sampled_from(["actions", "modes"]), min_size=10, max_size=10),
    runs=st.lists(optimizing, min_size=10, max_size=10),
    layout=layouts,
    ordering=st.sampled_from(ORDERINGS),
    partition_by=st.sampled_from([(), ("bucket(2, id)",)]),
    shown=st.lists(st.booleans(), min_size=20, max_size=20),
    output=st.sampled_from(["v2", "clean"]),
    followed_from=st.integers(0, 4),
    max_files=st.sampled_from([None, 1, 3]),
    random=st.randoms(use_true_random=False),
)
@histories(15)
def test_events_make_the_same_table_in_any_order_and_any_number(
    writes: list[list[Event]],
    hows: list[str],
    runs: list[Any],
    layout: Mapping[str, str],
    ordering: tuple[str, ...],
    partition_by: tuple[str, ...],
    shown: list[bool],
    output: str,
    followed_from: int,
    max_files: int | None,
    random: Any,
) -> None:
    """After each write and run of optimizing, published now and then; then all again, shuffled."""
    again = [event for batch in writes for event in batch]
    random.shuffle(again)
    batches = [*writes, again[: len(again) // 2], again]
    warehouse = tempfile.mkdtemp()
    occurred("".join(partition_by) or "no partition")
    try:
        table = arctic.create_table(
            "db.t",
            SCHEMA,
            primary_key="id",
            ordering_columns=ordering,
            partition_by=partition_by,
            properties=dict(layout),
            warehouse=warehouse,
        )
        shows = iter(shown)

        def publish(wanted: list[dict[str, Any]]) -> None:
            if next(shows):
                arctic.publish("db.t", output=output, warehouse=warehouse)
                found = by_pyiceberg(warehouse, "db.t_fresh").to_pylist()
                assert sorted(found, key=lambda row: int(row["id"])) == wanted
                occurred(f"published {output}")

        delivered: list[Event] = []
        changes = Changes(AskedChanges.of({"path": "db.t", "warehouse": warehouse}))
        beginning: StreamPosition | None = None
        known: list[Event] = []
        for number, (batch, how, run) in enumerate(zip(batches, hows, runs, strict=False)):
            if number == followed_from:
                beginning = changes.beginning()
                there = expected(delivered, ordering)
                known = [as_event({**row, "_change_action": "+I"}, ordering) for row in there]
            if not batch:
                continue
            known += batch
            deliver(table, batch, ordering, how)
            delivered += batch
            occurred(how)
            wanted = expected(delivered, ordering)
            assert rows_of(table) == wanted
            assert rows_of(table, options={"merge.max-delete-bytes": "1"}) == wanted
            late = [row for row in wanted if row["step"] <= 1]
            assert rows_of(table, filter="step <= 1") == late
            noted = [row for row in wanted if row["note"] < "3"]
            assert rows_of(table, filter="note < '3'") == noted
            assert rows_of(table, filter="id = 3") == [row for row in wanted if row["id"] == 3]
            assert table.count() == len(wanted)
            publish(wanted)
            if run is not None:
                report = arctic.optimize("db.t", type=run[0], options=run[1], warehouse=warehouse)
                if report.snapshot_id is not None:
                    occurred(f"optimize {run[0]}")
                assert rows_of(table) == wanted
                publish(wanted)
        if beginning is not None:
            told = told_since(changes, beginning, max_files)
            replayed = [as_event(row, ordering) for row in told]
            assert expected(replayed, ordering) == expected(known, ordering)
            occurred("followed")
    finally:
        shutil.rmtree(warehouse)

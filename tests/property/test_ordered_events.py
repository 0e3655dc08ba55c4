"""Events of a table with ordering columns: in any order, any number of times, the same table."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import arctic
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.scan.changes.change_limit import ChangeLimit
from arctic.table.streams.stream_position import StreamPosition
from tests.iceberg.plain_readers import by_pyiceberg
from tests.property.table_machine import SEGMENTS_ONLY

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("at", pa.timestamp("us")),
        pa.field("step", pa.int32()),
        pa.field("note", pa.string()),
    ]
)
ORDERINGS = [("step",), ("at", "step"), ("at",)]
Event = tuple[int, int, bool]
"""A key, its place in the order, and whether it deletes the key; a place tells which it does."""

events = st.tuples(st.integers(0, 5), st.integers(0, 9)).map(
    lambda drawn: (*drawn, (drawn[0] + drawn[1]) % 3 == 0)
)
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


def as_row(event: Event, ordering: Sequence[str]) -> dict[str, Any]:
    """Return the event as a row whose ordering columns rise with its place, however many."""
    key, place, _ = event
    day, step = (place // 3, place % 3) if len(ordering) > 1 else (place, place)
    return {
        "id": key,
        "at": pa.scalar(day * 1_000, pa.timestamp("us")).as_py(),
        "step": step,
        "note": f"{key}-{place}",
    }


def deliver(table: arctic.Table, batch: Sequence[Event], ordering: Sequence[str], how: str) -> None:
    """Write events: by their actions in one write, or upserts and deletes each in their own."""
    if how == "actions":
        rows = [{**as_row(e, ordering), "op": "D" if e[2] else "U"} for e in batch]
        schema = SCHEMA.append(pa.field("op", pa.string()))
        table.write(
            pa.Table.from_pylist(rows, schema=schema),
            mode="upsert",
            options={"action-column": "op"},
        )
        return
    for deletes, mode in ((True, "delete"), (False, "upsert")):
        rows = [as_row(event, ordering) for event in batch if event[2] is deletes]
        if rows:
            names = ["id", *ordering] if deletes else SCHEMA.names
            written = pa.Table.from_pylist(rows, schema=SCHEMA).select(names)
            table.write(written, mode=mode)


def expected(delivered: Sequence[Event], ordering: Sequence[str]) -> list[dict[str, Any]]:
    """Return what a dictionary would hold that keeps the greatest event of each key."""
    last: dict[int, Event] = {}
    for event in delivered:
        if event[0] not in last or event[1] >= last[event[0]][1]:
            last[event[0]] = event
    return [as_row(event, ordering) for _, event in sorted(last.items()) if not event[2]]


def rows_of(table: arctic.Table, **asked: Any) -> list[dict[str, Any]]:
    """Return the rows of a read by their key."""
    return sorted(table.read(**asked).read_all().to_pylist(), key=lambda row: int(row["id"]))


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
@settings(max_examples=15)
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
                arctic.optimize("db.t", type=run[0], options=run[1], warehouse=warehouse)
                assert rows_of(table) == wanted
                publish(wanted)
        if beginning is not None:
            told = told_since(changes, beginning, max_files)
            replayed = [as_event(row, ordering) for row in told]
            assert expected(replayed, ordering) == expected(known, ordering)
    finally:
        shutil.rmtree(warehouse)


COMMANDS = st.lists(
    st.one_of(
        st.tuples(st.just("events"), st.lists(events, min_size=1, max_size=4)),
        st.tuples(st.just("update"), st.integers(0, 5)),
        st.tuples(st.just("raise"), st.integers(0, 5)),
        st.tuples(st.just("delete"), st.integers(0, 5)),
        st.tuples(
            st.sampled_from(["merge", "merge notes", "merge away"]),
            st.lists(events, min_size=1, max_size=4, unique_by=lambda event: event[0]),
        ),
        st.tuples(st.just("optimize"), st.sampled_from(["minor", "major", "full"])),
    ),
    min_size=3,
    max_size=8,
)


def command(table: arctic.Table, step: str, argument: Any, note: str) -> list[Any]:
    """Carry a command out; return what it is to do: key, place (None: as stored), note or None.

    A command but a merge of whole rows, which is events, acts on stored rows alone.
    """
    if step == "events":
        deliver(table, argument, ("step",), "actions")
        return [(key, place, None if gone else f"{key}-{place}") for key, place, gone in argument]
    if step == "update":
        table.update(f"id = {argument}", set={"note": f"'{note}'"})
        return [(argument, None, note)]
    if step == "raise":
        table.update(f"id = {argument}", set={"note": f"'{note}'", "step": "step + 1"})
        return [(argument, 1, note)]
    if step == "delete":
        table.delete(f"id = {argument}")
        return [(argument, None, None)]
    rows = pa.Table.from_pylist([as_row(event, ("step",)) for event in argument], schema=SCHEMA)
    merge = table.merge(rows, on="id")
    if step == "merge away":
        merge.when_matched_delete().execute()
        return [(key, None, None) for key, *_ in argument]
    if step == "merge notes":
        merge.when_matched_update(set={"note": f"'{note}'"}).execute()
        return [(key, None, note) for key, *_ in argument]
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    return [(key, place, f"{key}-{place}") for key, place, _ in argument]


@given(commands=COMMANDS)
@settings(max_examples=15)
def test_commands_are_events_that_have_the_values_of_their_rows(
    commands: list[tuple[str, Any]],
) -> None:
    """Between late events and runs of optimizing, they do what a dictionary does.

    What is told to have become of rows leads from the state of each version to that of the next.
    """
    states: list[dict[int, Any]] = [{}]
    best: dict[int, tuple[int, str | None]] = {}
    with tempfile.TemporaryDirectory() as warehouse:
        table = arctic.create_table(
            "db.t", SCHEMA, primary_key="id", ordering_columns="step", warehouse=warehouse
        )
        for number, (step, argument) in enumerate(commands):
            if step == "optimize":
                table.optimize(type=argument)
            else:
                for key, given, note in command(table, step, argument, f"n{number}"):
                    place, there = best.get(key, (-1, None))
                    if step in ("events", "merge") and given >= place:
                        best[key] = given, note
                    elif step not in ("events", "merge") and there is not None:
                        best[key] = (place + (given or 0), note)
            found = {row["id"]: (row["step"], row["note"]) for row in rows_of(table)}
            assert found == {key: each for key, each in best.items() if each[1] is not None}
            made = table.refresh().versions().num_rows + 1 - len(states)
            states += [found] * made
        last = len(states) - 1
        for start, kind in ((0, "commits"), (last // 2, "commits"), (0, "net"), (last // 2, "net")):
            if start < last:
                check_told(table, states, start, kind)


def check_told(table: arctic.Table, states: list[dict[int, Any]], start: int, kind: str) -> None:
    """Carry out what is told from a version on, and compare with the states of versions."""
    asked = {"start-version": str(start), "end-version": str(len(states) - 1), "change-rows": kind}
    names = ["id", "step", "note", "_change_type", "_commit_version"]
    told = table.read_changes(columns=names, options=asked).read_all().to_pylist()
    rows = dict(states[start])
    versions = range(start + 1, len(states)) if kind == "commits" else [len(states) - 1]
    for version in versions:
        own = [row for row in told if kind == "net" or row["_commit_version"] == version]
        for goes in (True, False):
            for row in own:
                there = row["step"], row["note"]
                if goes and row["_change_type"] in ("delete", "update_preimage"):
                    assert rows.pop(row["id"]) == there
                elif not goes and row["_change_type"] in ("insert", "update_postimage"):
                    assert row["id"] not in rows
                    rows[row["id"]] = there
        assert rows == states[version]

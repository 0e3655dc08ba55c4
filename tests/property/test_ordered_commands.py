"""Commands on tables with ordering columns: events that have the values of their rows."""

from __future__ import annotations

import tempfile
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import arctic
from tests.property.drawn import may_occur, occurred
from tests.property.late_events import SCHEMA, as_row, deliver, events, rows_of
from tests.property.merge_history import histories, lives, optimizings

_MERGES = ["merge", "merge notes", "merge away"]
merged = st.lists(events, min_size=1, max_size=4, unique_by=lambda event: event[0])
steps = [st.tuples(st.just(kind), st.integers(0, 5)) for kind in ("update", "raise", "delete")]
steps += [st.tuples(st.just(kind), merged) for kind in _MERGES]
COMMANDS = lives(
    st.tuples(st.just("events"), st.lists(events, min_size=1, max_size=4)),
    [*steps, *optimizings()],
)
_RUNS = ["optimize minor", "optimize major", "optimize full"]
may_occur("events", "late", "update", "raise", "delete", *_MERGES, *_RUNS, "commits", "net")


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
@histories(12)
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
                if table.optimize(type=argument).snapshot_id is not None:
                    occurred(f"optimize {argument}")
            else:
                occurred(step)
                for key, given, note in command(table, step, argument, f"n{number}"):
                    place, there = best.get(key, (-1, None))
                    if step in ("events", "merge"):
                        if given >= place:
                            best[key] = given, note
                        else:
                            occurred("late")
                    elif there is not None:
                        best[key] = (place + (given or 0), note)
            found = {row["id"]: (row["step"], row["note"]) for row in rows_of(table)}
            assert found == {key: each for key, each in best.items() if each[1] is not None}
            made = table.refresh().versions().num_rows + 1 - len(states)
            states += [found] * made
        last = len(states) - 1
        for start, kind in ((0, "commits"), (last // 2, "commits"), (0, "net"), (last // 2, "net")):
            if start < last:
                check_told(table, states, start, kind)
                occurred(kind)


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

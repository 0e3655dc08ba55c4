"""What commits did to rows is the difference of the states around them, whatever else happened."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import arctic
from arctic.errors import NotFoundError

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string()),
        pa.field("number", pa.int32()),
        pa.field("region", pa.string()),
        pa.field("value", pa.int64()),
    ]
)
KEYS = st.tuples(st.sampled_from(["", "ä", "key"]), st.integers(0, 2))
ROWS = st.dictionaries(
    KEYS, st.tuples(st.sampled_from(["eu", "us", None]), st.integers(0, 9)), min_size=1, max_size=5
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("upsert"), ROWS),
        st.tuples(st.just("actions"), ROWS),
        st.tuples(st.just("append"), ROWS),
        st.tuples(st.just("overwrite"), ROWS),
        st.tuples(st.just("delete region"), st.sampled_from(["eu", "us"])),
        st.tuples(st.just("restore"), st.integers(1, 9)),
        st.tuples(st.just("add column"), st.none()),
        st.tuples(st.just("delete"), st.lists(KEYS, min_size=1, max_size=4, unique=True)),
        st.tuples(st.just("optimize"), st.sampled_from(["minor", "major", "full"])),
        st.tuples(st.just("expire"), st.none()),
    ),
    min_size=3,
    max_size=9,
)
NULLS = {"missing-columns": "null"}
"""Of columns that were added since."""
AT_ONCE = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
Key = tuple[str, int]
State = dict[Key, tuple[str | None, int]]
Told = dict[Key, list[tuple[str, tuple[str | None, int]]]]


def write(table: arctic.Table, step: str, argument: Any, state: State) -> State:
    """Carry a step out, and return what the table holds then."""
    if step == "optimize":
        table.optimize(type=argument)
    elif step == "expire":
        table.expire(options=AT_ONCE)
    elif step == "delete region":
        table.delete(f"region = '{argument}'")
        return {key: row for key, row in state.items() if row[0] != argument}
    elif step == "add column":
        table.evolve_schema(add={f"c{len(table.schema)}": pa.string()})
    elif step == "delete":
        names, numbers = zip(*argument, strict=True)
        rows = pa.table([names, numbers], schema=pa.schema([SCHEMA.field(0), SCHEMA.field(1)]))
        table.write(rows, mode="delete")
        return {key: row for key, row in state.items() if key not in argument}
    else:
        given = {key: row for key, row in argument.items() if step != "append" or key not in state}
        listed = [(*key, *row) for key, row in given.items()]
        if step == "actions":  # an insert, a delete and an insert of one key are one event of it
            listed = [(*each, action) for each in listed for action in ("+I", "-D", "+I")]
            told = pa.schema([*SCHEMA, pa.field("op", pa.string())])
            rows = pa.table(list(map(list, zip(*listed, strict=True))), schema=told)
            table.write(rows, mode="upsert", options={"action-column": "op", **NULLS})
        elif listed:
            rows = pa.table(list(map(list, zip(*listed, strict=True))), schema=SCHEMA)
            table.write(rows, mode=step, options=NULLS)
        if step == "overwrite":
            return given
        return {**state, **given}
    return state


def told(rows: list[dict[str, Any]]) -> Told:
    """Return what is told of each key."""
    found: Told = defaultdict(list)
    for row in rows:
        key = row["name"], row["number"]
        found[key].append((row["_change_type"], (row["region"], row["value"])))
    return found


def check(rows: list[dict[str, Any]], before: State, after: State, *, is_net: bool) -> None:
    """Compare what is told with two states; a commit may replace a row by one that is equal."""
    found = told(rows)
    for key in {*found, *before, *after}:
        there = sorted(found.get(key, []))
        if key in before and key in after:
            both = [("update_postimage", after[key]), ("update_preimage", before[key])]
            is_same = before[key] == after[key]
            assert (there == both and not (is_net and is_same)) or (not there and is_same)
        elif key in before:
            assert there == [("delete", before[key])]
        else:
            assert there == ([("insert", after[key])] if key in after else [])


@settings(max_examples=10)
@given(steps=STEPS, partition_by=st.sampled_from([(), ("region",), ("bucket(2, number)",)]))
def test_changes_of_rows_are_differences_of_states(
    steps: list[tuple[str, Any]], partition_by: tuple[str, ...]
) -> None:
    """Of each commit, and of a range; what has expired is refused, never guessed."""
    with tempfile.TemporaryDirectory() as warehouse:
        table = arctic.create_table(
            "db.t",
            SCHEMA,
            primary_key=("name", "number"),
            partition_by=partition_by,
            warehouse=warehouse,
        )
        states: list[State] = [{}]
        for step, argument in steps:
            if step == "restore":
                kept = table.versions()["version"].to_pylist()
                if not kept:
                    continue
                number = kept[argument % len(kept)]
                table.restore(version=number)
                state = states[number]
            else:
                state = write(table, step, argument, states[-1])
            versions = table.versions()["version"].to_pylist()
            made = (versions[-1] if versions else len(states) - 1) + 1 - len(states)
            states += [state] * made
        kept = set(table.versions()["version"].to_pylist()) | {0}
        last = len(states) - 1
        for start, end in sorted({(0, last), (last // 2, last), (last // 4, 3 * last // 4)}):
            if start == end:
                continue
            asked = {"start-version": str(start), "end-version": str(end), "change-rows": "net"}
            try:
                net = table.read_changes(options=asked).read_all().to_pylist()
            except NotFoundError:
                assert any(step == "expire" for step, _ in steps)
                continue
            assert {start, end} <= kept
            check(net, states[start], states[end], is_net=True)
            asked["change-rows"] = "commits"
            rows = table.read_changes(options=asked).read_all().to_pylist()
            for version in range(start + 1, end + 1):
                one = [row for row in rows if row["_commit_version"] == version]
                check(one, states[version - 1], states[version], is_net=False)
            assert all(start < row["_commit_version"] <= end for row in rows)

"""Tables that make one row of all rows of a key, through long lives.

``HYPOTHESIS_PROFILE=deep`` lives 10,000 of them, or as many as ``ARCTIC_HISTORIES`` says.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arctic
from tests.property.drawn import may_occur, occurred
from tests.property.merge_history import (
    CASES,
    Fold,
    MergeHistory,
    Row,
    histories,
    layouts,
    steps,
)

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("small", pa.int32()),
        pa.field("money", pa.decimal128(12, 2)),
        pa.field("flag", pa.bool_()),
        pa.field("note", pa.string()),
        pa.field("at", pa.date32()),
        pa.field("list", pa.list_(pa.int64())),
        pa.field("factor", pa.float64()),
    ]
)
numbers = st.none() | st.integers(-3, 3)
notes = st.none() | st.sampled_from(["a", "b", ""])
rows = st.fixed_dictionaries(
    {
        "id": st.integers(0, 5),
        "n": numbers,
        "small": numbers,
        "money": st.none() | st.sampled_from([Decimal("1.25"), Decimal("-0.50")]),
        "flag": st.none() | st.booleans(),
        "note": notes,
        "at": st.none() | st.integers(0, 3).map(lambda day: pa.scalar(day, pa.date32()).as_py()),
        "list": st.none() | st.lists(st.integers(0, 2), max_size=2),
        "factor": st.sampled_from([None, 0.5, 2.0, -1.0]),
        "extra": notes,
    }
)
events = st.tuples(
    st.just("events"),
    st.lists(st.tuples(rows, st.sampled_from(["+I", "-U", "+U", "D"])), min_size=1, max_size=5),
)
commands = [
    st.tuples(st.just("update"), st.integers(0, 5)),
    st.just(("delete where", None)),
    st.tuples(
        st.just("merge"),
        st.lists(rows, min_size=1, max_size=3, unique_by=lambda row: str(row["id"])),
    ),
]
deletes = st.tuples(st.just("delete"), st.lists(st.integers(0, 5), min_size=1, max_size=2))
FILTERS: list[tuple[str, Callable[[Row], bool]]] = [
    ("n > 0", lambda row: row["n"] is not None and row["n"] > 0),
    ("note = 'b'", lambda row: bool(row["note"] == "b")),
    ("at is null", lambda row: row["at"] is None),
]


def last_known(stored: Any, new: Any) -> Any:
    """Return the last value that is not null."""
    return stored if new is None else new


def unless_null(fold: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a fold in which a null takes no part."""

    def folded(stored: Any, new: Any) -> Any:
        return last_known(stored, new) if stored is None or new is None else fold(stored, new)

    return folded


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": unless_null(lambda stored, new: stored + new),
    "count": unless_null(lambda stored, new: stored + new),
    "product": unless_null(lambda stored, new: stored * new),
    "max": unless_null(max),
    "min": unless_null(min),
    "bool_or": unless_null(lambda stored, new: stored or new),
    "bool_and": unless_null(lambda stored, new: stored and new),
    "listagg": unless_null(lambda stored, new: f"{stored},{new}"),
    "collect": unless_null(lambda stored, new: stored + new),
    "last_value": lambda stored, new: new,
    "first_value": lambda stored, new: stored,
    "first_non_null_value": unless_null(lambda stored, new: stored),
    "last_non_null_value": last_known,
}


def aggregate(functions: dict[str, str]) -> Fold:
    """Return what a table with these functions does."""
    counted = [name for name, function in functions.items() if function == "count"]

    def fold(stored: Row | None, row: Row) -> Row:
        row = {**row, **{name: int(row[name] is not None) for name in counted}}
        if stored is None:
            return row
        known = {name: FUNCTIONS[functions.get(name, "last_non_null_value")] for name in row}
        return {name: known[name](stored[name], value) for name, value in row.items()}

    return fold


def taken_off(row: Row) -> Row:
    """Return what a row brings that goes, where some columns are summed and one is counted."""
    own = dict.fromkeys(row) | {"id": row["id"]}
    return own | {name: None if row[name] is None else -row[name] for name in ("n", "money")}


def partial_update(groups: list[tuple[list[str], list[str]]]) -> Fold:
    """Return what a table with these groups does."""

    def fold(stored: Row | None, row: Row) -> Row:
        if stored is None:
            return row
        folded = {name: last_known(stored[name], value) for name, value in row.items()}
        for order, columns in groups:
            wins = place(row, order) >= place(stored, order) and any(
                row[name] is not None for name in order
            )
            if not wins:
                occurred("late in a sequence group")
            for name in (*order, *columns):
                folded[name] = row[name] if wins else stored[name]
        return folded

    return fold


def place(row: Row, order: list[str]) -> list[tuple[bool, Any]]:
    """Return what orders rows: null is the least."""
    return [(row[name] is not None, row[name]) for name in order]


def as_property(functions: dict[str, str]) -> str:
    """Return functions as a property."""
    return ", ".join(f"{name}: {word}" for name, word in functions.items())


def deliver(history: MergeHistory, events: list[tuple[Row, str]]) -> None:
    """Write rows that come and rows that go."""
    own: list[Row] = [{name: row.get(name) for name in history.names} for row, _ in events]
    history.table.write(
        history.as_rows(own).append_column("op", pa.array([op for _, op in events])),
        mode="upsert",
        options={"action-column": "op"},
    )
    for row, (_, op) in zip(own, events, strict=True):
        stored = history.rows.get(row["id"])
        brought = history.fold(stored, row)
        if op in ("-U", "D"):
            ones = int(row["small"] is not None)
            brought = history.fold(stored, taken_off(row))
            brought["small"] = (0 if stored is None else stored["small"]) - ones
        history.rows[row["id"]] = brought


def command(history: MergeHistory, kind: str, argument: Any) -> None:
    """Set or remove rows: what they had before plays no part."""
    stored = history.rows
    if kind == "update":
        history.table.update(f"id = {argument}", set={"note": "'z'", "n": "small"})
        if argument in stored:
            row = stored[argument]
            stored[argument] = {**row, "note": "z", "n": row["small"]}
    elif kind == "delete where":
        history.table.delete("n > 0")
        for key in [key for key, row in stored.items() if FILTERS[0][1](row)]:
            del stored[key]
    else:
        own: list[Row] = [{name: row.get(name) for name in history.names} for row in argument]
        merge = history.table.merge(history.as_rows(own), on="id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        stored.update({row["id"]: row for row in own})


def check_few_columns(history: MergeHistory, wanted: list[Row]) -> None:
    """Read some columns, in another order, of the rows that a filter lets through."""
    columns = ["note", "id", "n"]
    few = history.table.read(columns=columns, filter="n > 0").read_all().to_pylist()
    assert sorted(few, key=lambda row: int(row["id"])) == [
        {name: row[name] for name in columns} for row in wanted if FILTERS[0][1](row)
    ]


ADDED: dict[str, str] = {"n": "sum", "small": "count", "money": "sum"}
"""What a row can be taken off."""
AGGREGATES = [
    ADDED,
    {"n": "sum", "small": "sum", "money": "sum", "flag": "bool_or", "note": "listagg", "at": "max"},
    {"n": "max", "small": "min", "money": "max", "flag": "bool_and", "note": "min", "at": "min"},
    {
        "n": "last_value",
        "small": "first_value",
        "note": "first_non_null_value",
        "list": "collect",
        "factor": "product",
    },
]
GROUPS: list[list[tuple[list[str], list[str]]]] = [
    [],
    [(["at"], ["note", "flag"])],
    [(["at", "small"], ["note"]), (["n"], ["money", "list"])],
]
_COMMANDS = ["events", "update", "delete where", "merge"]
_LATE = ["late in a sequence group", "publish refused"]
_TYPES = [f"{count} sequence groups" for count in range(len(GROUPS))]
may_occur(*CASES, *_COMMANDS, *_LATE, *_TYPES, *FUNCTIONS)
engines = st.one_of(
    st.sampled_from(AGGREGATES).map(
        lambda functions: (
            {
                "write.merge-engine": "aggregate",
                "write.merge-engine.aggregate-functions": as_property(functions),
            },
            aggregate(functions),
        )
    ),
    st.sampled_from(GROUPS).map(
        lambda groups: (
            {
                "write.merge-engine": "partial-update",
                "write.merge-engine.sequence-groups": "; ".join(
                    f"{', '.join(order)}: {', '.join(columns)}" for order, columns in groups
                ),
            }
            if groups
            else {"write.merge-engine": "partial-update"},
            partial_update(groups),
        )
    ),
)


def cases_of(engine: dict[str, str]) -> list[str]:
    """Return by what an engine folds, as it is counted."""
    if "write.merge-engine.aggregate-functions" in engine:
        named = re.findall(r": (\w+)", engine["write.merge-engine.aggregate-functions"])
        return sorted({*named, "last_non_null_value"})
    groups = engine.get("write.merge-engine.sequence-groups", "").split("; ")
    return [f"{len([each for each in groups if each])} sequence groups"]


@given(
    engine=engines,
    layout=layouts,
    life=steps(rows, deletes, events, *commands),
    output=st.sampled_from(["v2", "clean"]),
)
@histories(9)
def test_all_rows_of_a_key_make_one(
    engine: tuple[dict[str, str], Fold],
    layout: dict[str, str],
    life: list[tuple[str, Any]],
    output: str,
) -> None:
    """In reads, filters, counts and changes, merged or not; a deleted key begins anew."""
    properties, fold = engine
    for case in cases_of(properties):
        occurred(case)
    with tempfile.TemporaryDirectory() as warehouse:
        history = MergeHistory(SCHEMA, {**layout, **properties}, fold, warehouse)
        takes_off = properties.get("write.merge-engine.aggregate-functions") == as_property(ADDED)
        for kind, argument in life:
            if kind in ("update", "delete where", "merge"):
                command(history, kind, argument)
                occurred(kind)
            elif kind != "events":
                history.step(kind, argument)
            elif takes_off:
                deliver(history, argument)
                occurred(kind)
            history.check(*FILTERS, more=[partial(check_few_columns, history)])
        history.check_past()
        if any(kind == "write" for kind, _ in life[-1:]):
            with pytest.raises(arctic.UnsupportedError, match="optimize"):
                history.check_published(output)
            occurred("publish refused")
        history.step("optimize", "full")
        history.check()
        history.check_published(output)

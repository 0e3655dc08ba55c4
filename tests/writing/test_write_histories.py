"""Random histories, written to real files and merged plainly, against a dict."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.tree.node_tree import NodeTree
from arctic.writing.target import TaskResult, WriteTarget
from tests.factories.trees import trees
from tests.writing.local_table import SCHEMA, Row, Store, make_target, write

Key = tuple[Any, ...]
Drawn = tuple[str, int, str, int, str | None]
EVENT_SCHEMA = pa.schema(
    [*(column.with_nullable(True) for column in SCHEMA), ("op", pa.string()), ("seq", pa.int64())]
)
SPELLINGS = {
    "insert": ["I", "+I", "c", "r", "i"],
    "upsert": ["u", "+U", "U"],
    "delete": ["D", "-D", "d"],
}

drawn_rows = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "insert", "update", "delete"]),
        st.integers(0, 3),
        st.sampled_from(["eu", "us"]),
        st.integers(-3, 3),
        st.sampled_from([None, "a"]),
    ),
    max_size=8,
)
drawn_writes = st.lists(
    st.tuples(
        st.sampled_from(["events", "ordered", "sorted", "upsert", "append", "delete", "keys"]),
        drawn_rows,
    ),
    max_size=3,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A key, and partitions that may or may not follow it."""

    id: str
    key: tuple[str, ...]
    partition_by: tuple[str, ...]


LAYOUTS = [
    Layout(id="plain", key=("id",), partition_by=()),
    Layout(id="partition in key", key=("region", "id"), partition_by=("region",)),
    Layout(id="moving", key=("id",), partition_by=("region",)),
]


class History:
    """Turns what was drawn into events that are honest about the table; replays them on a dict."""

    def __init__(self, key: tuple[str, ...], *, upsert_inserts: bool, random: Random) -> None:
        self.key = key
        self.upsert_inserts = upsert_inserts
        self.random = random
        self.model: dict[Key, Row] = {}

    def key_of(self, row: Row) -> Key:
        """Return the key of a row."""
        return tuple(row[name] for name in self.key)

    def events(self, drawn: Sequence[Drawn]) -> list[Row]:
        """Return the rows of a write with an action column."""
        events = [event for what in drawn for event in self._change(what)]
        return [{**event, "seq": number} for number, event in enumerate(events)]

    def _change(self, drawn: Drawn) -> list[Row]:
        what, row = drawn[0], _row(drawn)
        before = self.model.get(self.key_of(row))
        if before is None and what in ("update", "delete"):
            what = "insert"
        if before is not None and what == "insert" and not self.upsert_inserts:
            what = "update"
        if what == "delete" and before is not None:
            del self.model[self.key_of(row)]
            return [{**before, "op": self.random.choice(SPELLINGS["delete"])}]
        self.model[self.key_of(row)] = row
        if what == "update" and before is not None:
            return [{**before, "op": "-U"}, {**row, "op": "+U"}]
        return [{**row, "op": self.random.choice(SPELLINGS[what])}]

    def upserts(self, drawn: Sequence[Drawn]) -> list[Row]:
        """Return the rows of an upsert, perhaps several for a key."""
        rows = [_row(each) for each in drawn]
        self.model |= {self.key_of(row): row for row in rows}
        return rows

    def appends(self, drawn: Sequence[Drawn]) -> list[Row]:
        """Return new rows: an append of a key that is there would double it."""
        rows = {self.key_of(row): row for row in map(_row, drawn)}
        new = {key: row for key, row in rows.items() if key not in self.model}
        self.model |= new
        return list(new.values())

    def deletes(self, drawn: Sequence[Drawn]) -> list[Row]:
        """Return the rows of a delete, some for keys that are not there."""
        rows = [_row(each) for each in drawn]
        for row in rows:
            self.model.pop(self.key_of(row), None)
        return rows


def _row(drawn: Drawn) -> Row:
    return dict(zip(SCHEMA.names, drawn[1:], strict=True))


def batches(rows: Sequence[Row], names: Sequence[str], random: Random) -> list[pa.RecordBatch]:
    """Cut rows into batches of any size, empty ones too."""
    schema = pa.schema([EVENT_SCHEMA.field(name) for name in names])
    cuts = sorted(random.randint(0, len(rows)) for _ in range(random.randint(0, 3)))
    return [
        pa.RecordBatch.from_pylist(list(rows[start:end]), schema=schema)
        for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)
    ]


def write_in_tasks(
    store: Store,
    target: WriteTarget,
    rows: Sequence[Row],
    names: Sequence[str],
    random: Random,
    **request: Any,
) -> list[TaskResult]:
    """Spread rows over two tasks by key, and write them; without a sorted claim in any order."""
    results = []
    for task in range(2):
        own = [row for row in rows if row["id"] % 2 == task]
        if "ordering_column" in request and not request["sorted_input"]:
            random.shuffle(own)
        results.append(
            write(
                target,
                batches(own, names, random),
                partition_id=task,
                locate=store.locate if target.keys_move else None,
                **request,
            )
        )
    return results


def one_write(history: History, kind: str, drawn: Sequence[Drawn]) -> dict[str, Any]:
    """Return the rows, columns and request of a write."""
    names = SCHEMA.names
    if kind == "upsert":
        return {"rows": history.upserts(drawn), "names": names, "mode": "upsert"}
    if kind == "append":
        return {"rows": history.appends(drawn), "names": names, "mode": "append"}
    if kind in ("delete", "keys"):
        short = list(dict.fromkeys(["id", *history.key]))
        names = short if kind == "keys" else names
        return {"rows": history.deletes(drawn), "names": names, "mode": "delete"}
    request: dict[str, Any] = {
        "rows": history.events(drawn),
        "names": [*names, "op"],
        "mode": "append",
    }
    request["action_column"] = "op"
    if kind != "events":
        request |= {"names": [*names, "op", "seq"], "ordering_column": "seq"}
        request |= {"sorted_input": kind == "sorted"}
    return request


def as_set(rows: Sequence[Row]) -> list[str]:
    """Return rows in an order of their own; doubled ones stay double."""
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.id)
@settings(max_examples=80)
@given(
    writes=drawn_writes,
    upsert_inserts=st.booleans(),
    mask=st.sampled_from([0, 1, 7]),
    chunk_rows=st.integers(1, 5),
    few_rows=st.sampled_from([0, 2]),
    tree=trees(),
    random=st.randoms(use_true_random=False),
)
def test_the_merged_files_are_what_a_dict_would_hold(
    layout: Layout,
    writes: list[tuple[str, list[Drawn]]],
    upsert_inserts: bool,
    mask: int,
    chunk_rows: int,
    few_rows: int,
    tree: NodeTree,
    random: Random,
) -> None:
    """Any history, chunk size, batch size, node depth and order of arrival gives the dict."""
    with tempfile.TemporaryDirectory() as folder:
        target = make_target(
            Path(folder),
            key=layout.key,
            partition_by=layout.partition_by,
            upsert_inserts=upsert_inserts,
            change_mask=mask,
            chunk_rows=chunk_rows,
            few_rows=few_rows,
            trees=dict.fromkeys(("", "region=eu", "region=us"), str(tree)),
        )
        store = Store(target)
        history = History(layout.key, upsert_inserts=upsert_inserts, random=random)
        for kind, drawn in writes:
            request = one_write(history, kind, drawn)
            store.commit(*write_in_tasks(store, target, random=random, **request))

            assert as_set(store.merged()) == as_set(list(history.model.values()))


@settings(max_examples=60)
@given(
    writes=st.lists(drawn_rows, max_size=3),
    mask=st.sampled_from([0, 3]),
    random=st.randoms(use_true_random=False),
)
def test_known_moves_need_no_search(writes: list[list[Drawn]], mask: int, random: Random) -> None:
    """With a before-image for every change, a row is deleted where it was without a look-up."""
    with tempfile.TemporaryDirectory() as folder:
        target = make_target(Path(folder), partition_by=["region"], change_mask=mask, chunk_rows=2)
        store = Store(target)
        history = History(("id",), upsert_inserts=False, random=random)
        for drawn in writes:
            rows = history.events(
                [("update" if each[0] == "upsert" else each[0], *each[1:]) for each in drawn]
            )
            given_batches = batches(rows, [*SCHEMA.names, "op"], random)
            store.commit(write(target, given_batches, mode="upsert", action_column="op"))

            assert as_set(store.merged()) == as_set(list(history.model.values()))

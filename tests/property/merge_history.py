"""A table with a merge engine that lives, and what a dictionary would hold in its place."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import arctic
from tests.iceberg.plain_readers import by_pyiceberg
from tests.property.drawn import occurred

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
Row = dict[str, Any]
Fold = Callable[[Row | None, Row], Row]
"""Takes the row that a key has, or None, and the next one; gives the row that it has then."""
Way = Callable[[list[Row]], None]
"""Reads a table in some way, and compares that with the rows that it should have."""


def histories(lean: int) -> settings:
    """Return settings of a test that draws whole histories; deep ones are as many as wished for."""
    return settings(
        max_examples=int(os.environ.get("ARCTIC_HISTORIES", 10_000 if IS_DEEP else lean)),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def optimizings() -> list[st.SearchStrategy[Any]]:
    """Return a step for each type of optimizing."""
    return [st.just(("optimize", type)) for type in ("minor", "major", "full")]


@st.composite
def lives(
    draw: st.DrawFn, write: st.SearchStrategy[Any], steps: Sequence[st.SearchStrategy[Any]]
) -> list[Any]:
    """Draw a write and what happens after it, a third of it writes; each other step as often.

    Left to Hypothesis, most lives would be variants of few, with hardly a step between writes.
    """
    chance = random.Random(draw(st.binary(min_size=8, max_size=8)))
    count = chance.randint(*((5, 11) if IS_DEEP else (2, 7)))
    every = [*[write] * (len(steps) // 2), *steps]
    return [draw(write), *[draw(chance.choice(every)) for _ in range(count)]]


def steps(row: st.SearchStrategy[Row], *others: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw what happens to a table; ``again`` brings rows once more, shuffled."""
    again = st.tuples(st.just("again"), st.integers(0, 999))
    return lives(
        st.tuples(st.just("write"), st.lists(row, min_size=1, max_size=6)),
        [
            again,
            again,
            *optimizings(),
            st.just(("expire", "10080")),
            st.just(("expire", "0")),
            st.tuples(st.just("restore"), st.integers(0, 99)),
            *[st.just((kind, None)) for kind in ("add", "rename", "widen")],
            *others,
        ],
    )


layouts = st.fixed_dictionaries(
    {
        "base.file-index.hash-bucket": st.sampled_from(["1", "4"]),
        "change.file-index.hash-bucket": st.sampled_from(["1", "2"]),
    },
    optional={
        "partition_by": st.just("bucket(2, id)"),
        "self-optimizing.target-size": st.just("1500"),
        "self-optimizing.fragment-ratio": st.just("1"),
        "self-optimizing.max-task-size-bytes": st.just("1"),
        "merge.max-delete-bytes": st.just("1"),
    },
)


_STEPS = ["write", "again", "delete", "restore", "add", "rename", "widen"]
_RUNS = ["optimize minor", "optimize major", "optimize full", "expire 10080", "expire 0"]
_READ = ["a key twice in a write", "published v2", "published clean", "commits", "net", "past"]
CASES = [*_STEPS, *_RUNS, *_READ, "bucket(2, id)", "no partition"]
"""What occurs in lives of tables with any engine, but for a delete with ``first-row``."""


class MergeHistory:
    """A table of key ``id`` and its model."""

    def __init__(
        self, schema: pa.Schema, properties: Mapping[str, str], fold: Fold, warehouse: str
    ) -> None:
        self.names = schema.names
        """Of the columns; one that is renamed keeps its old name here."""
        self.fold = fold
        self.warehouse = warehouse
        self.rows: dict[int, Row] = {}
        fields = [properties["partition_by"]] if "partition_by" in properties else []
        occurred("".join(fields) or "no partition")
        self.table = arctic.create_table(
            "db.t",
            schema,
            primary_key="id",
            partition_by=fields,
            properties={name: properties[name] for name in properties if name != "partition_by"},
            warehouse=warehouse,
        )
        self.states: list[list[Row]] = [[]]
        """The rows of each version, until some expire."""
        self.has_expired = False
        self.delivered: list[Row] = []

    def step(self, kind: str, argument: Any) -> None:
        """Do one thing to the table, and the same to the model."""
        if kind == "write":
            self.write(argument)
            self.delivered += argument
        elif kind == "again":
            if not self.delivered:
                return
            chance = random.Random(argument)
            self.write(chance.sample(self.delivered, min(len(self.delivered), 6)))
        elif kind == "delete":
            self.delete(argument)
        elif kind == "optimize":
            if self.table.optimize(type=argument).snapshot_id is None:
                return
        elif kind == "expire":
            keep = {"snapshot.keep.duration": "0", "change.data.ttl.minutes": argument}
            if not self.table.expire(options=keep).items:
                return
            self.has_expired = True
        elif not (self.restore(argument) if kind == "restore" else self.evolve(kind)):
            return
        occurred(f"{kind} {argument}" if kind in ("optimize", "expire") else kind)

    def restore(self, drawn: int) -> bool:
        """Bring an earlier version back; say whether there was one."""
        if self.has_expired or len(self.states) < 2:
            return False
        version = 1 + drawn % (len(self.states) - 1)
        self.table.restore(version)
        self.rows = {
            row["id"]: {name: row.get(name) for name in self.names} for row in self.states[version]
        }
        return True

    def evolve(self, kind: str) -> bool:
        """Change a column; say whether it could be."""
        if kind == "add" and "extra" not in self.names:
            self.table.evolve_schema(add={"extra": pa.string()})
            self.names = [*self.names, "extra"]
            self.rows = {key: {**row, "extra": None} for key, row in self.rows.items()}
        elif kind == "rename" and "extra" in self.names:
            last = self.table.schema.names[-1]
            self.table.evolve_schema(rename={last: last + "x"})
        elif kind == "widen" and pa.field("small", pa.int32()) in self.table.schema:
            self.table.evolve_schema(widen={"small": pa.int64()})
        else:
            return False
        return True

    def write(self, rows: Sequence[Row]) -> None:
        """Upsert rows, in this order."""
        own: list[Row] = [{name: row.get(name) for name in self.names} for row in rows]
        self.table.write(self.as_rows(own), mode="upsert")
        if len({row["id"] for row in own}) < len(own):
            occurred("a key twice in a write")
        for row in own:
            self.rows[row["id"]] = self.fold(self.rows.get(row["id"]), row)

    def as_rows(self, own: Sequence[Row]) -> pa.Table:
        """Return rows of the model as the table has them by now."""
        schema = self.table.schema
        columns = [
            pa.array([row[name] for row in own], field.type)
            for name, field in zip(self.names, schema, strict=True)
        ]
        return pa.table(columns, schema=schema)

    def delete(self, keys: Sequence[int]) -> None:
        """Delete keys."""
        self.table.write(pa.table({"id": pa.array(keys, pa.int64())}), mode="delete")
        for key in keys:
            self.rows.pop(key, None)

    @property
    def expected(self) -> list[Row]:
        """The rows that the table should have."""
        return [row for _, row in sorted(self.rows.items())]

    def check(self, *filters: tuple[str, Callable[[Row], bool]], more: Sequence[Way] = ()) -> None:
        """Read the table whole, and in other ways; in a deep life in one of them, in turn."""
        wanted = self.expected
        assert self.read() == wanted
        ways: list[Way] = [self._check_in_parts, self._check_count, *more]
        named = [("id = 2", lambda row: bool(row["id"] == 2)), *filters]
        ways += [partial(self._check_filter, *each) for each in named]
        # Reads are most of what a life costs, and of many lives each step meets each way.
        turn = (len(self.states) + len(self.delivered)) % len(ways)
        for way in [ways[turn]] if IS_DEEP else ways:
            way(wanted)
        made = self.table.refresh().versions().num_rows + 1 - len(self.states)
        self.states += [wanted] * made

    def _check_in_parts(self, wanted: list[Row]) -> None:
        small = {"merge.max-delete-bytes": "1", "parallelism": "3", "read.split.target-size": "1"}
        assert self.read(options=small) == wanted

    def _check_count(self, wanted: list[Row]) -> None:
        assert self.table.count() == len(wanted)

    def _check_filter(self, text: str, matches: Callable[[Row], bool], wanted: list[Row]) -> None:
        assert self.read(filter=text) == [row for row in wanted if matches(row)]

    def check_published(self, output: str) -> None:
        """Publish the merged view, and read it by another reader."""
        arctic.publish("db.t", output=output, warehouse=self.warehouse)
        found = by_pyiceberg(self.warehouse, "db.t_fresh").rename_columns(self.names).to_pylist()
        assert sorted(found, key=lambda row: int(row["id"])) == self.expected
        occurred(f"published {output}")

    def check_past(self) -> None:
        """Read every version, and what became of rows from the first to the last."""
        if self.has_expired or len(self.states) < 2:
            return
        for version in range(1, len(self.states)):
            found = self.table.read(version=version).read_all()
            names = self.names[: found.num_columns]
            assert sorted(
                found.rename_columns(names).to_pylist(), key=lambda row: int(row["id"])
            ) == [{name: row.get(name) for name in names} for row in self.states[version]]
        occurred("past")
        for told in ("commits", "net"):
            self.check_changes(told)
            occurred(told)

    def check_changes(self, kind: str) -> None:
        """Carry out what became of rows from the first state to the last, and compare."""
        last = len(self.states) - 1
        asked = {"start-version": "0", "end-version": str(last), "change-rows": kind}
        changes = self.table.read_changes(options=asked).read_all()
        others = changes.schema.names[len(self.names) :]
        told = changes.rename_columns([*self.names, *others]).to_pylist()
        rows: dict[int, Row] = {}
        versions = range(1, last + 1) if kind == "commits" else [last]
        for version in versions:
            own = [row for row in told if kind == "net" or row["_commit_version"] == version]
            for goes in (True, False):
                for row in own:
                    there = {name: row[name] for name in self.names}
                    if goes and row["_change_type"] in ("delete", "update_preimage"):
                        assert rows.pop(row["id"]) == there
                    elif not goes and row["_change_type"] in ("insert", "update_postimage"):
                        assert rows.setdefault(row["id"], there) is there
            known = self.states[version]
            assert [row for _, row in sorted(rows.items())] == [
                {name: row.get(name) for name in self.names} for row in known
            ]

    def read(self, **asked: Any) -> list[Row]:
        """Return the rows of a read by their key."""
        found = self.table.read(**asked).read_all().rename_columns(self.names).to_pylist()
        return sorted(found, key=lambda row: int(row["id"]))

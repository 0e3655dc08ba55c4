"""Tables that share files against dicts: published, cloned, restored, released, and cleaned.

``ARCTIC_HISTORIES`` says how many are lived. PyIceberg and DuckDB read all that was
published, after every step of a history.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import arctic
from tests.iceberg.plain_readers import by_duckdb, by_pyiceberg
from tests.property.drawn import may_occur, occurred
from tests.property.table_machine import REGIONS, SCHEMA, Row, as_row, assert_rows, rows

HISTORIES = int(os.environ.get("ARCTIC_HISTORIES", "5"))
READERS = (by_pyiceberg, by_duckdb)
MOST_TABLES = 3
AT_ONCE = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "snapshot.keep.min-count": "1",
    "clean-orphan-file.min-existing-time-minutes": "0",
}
_tables = st.integers(0, MOST_TABLES - 1)
_ids = st.lists(st.integers(0, 11), min_size=1, max_size=6, unique=True)
Held = dict[int, Row]
_SHARED = ["publish v2", "publish v3", "publish clean", "unpublish", "clone", "drop", "restore"]
may_occur("upsert", "delete", "delete where", "optimize", "expire", *_SHARED, "adopt", "rename")


class SharingMachine(RuleBasedStateMachine):
    """A table with a key, clones of it and of these, and what is published of each."""

    @initialize(partition_by=st.sampled_from([[], ["region"], ["bucket(2, id)"]]))
    def create(self, partition_by: list[str]) -> None:
        """Make the first table."""
        self.folder = tempfile.mkdtemp(prefix="arctic-sharing-")
        self.held: dict[str, Held] = {"m.t0": {}}
        self.shown: dict[str, tuple[str, list[Row]]] = {}
        self.past: dict[str, list[tuple[int, Held]]] = {"m.t0": []}
        self.made = 1
        self.steps = 0
        self.has_cloned = False
        arctic.create_table(
            "m.t0", SCHEMA, primary_key=["id"], partition_by=partition_by, warehouse=self.folder
        )

    def teardown(self) -> None:
        """Remove the warehouse."""
        shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)

    def name(self, drawn: int) -> str:
        """Return one of the tables."""
        names = list(self.held)
        return names[drawn % len(names)]

    def names_of(self, table: str) -> list[str]:
        """Return what a table is published as."""
        return [name for name, (of, _) in self.shown.items() if of == table]

    def rows_of(self, table: str) -> list[Row]:
        """Return what a table holds."""
        return list(self.held[table].values())

    def remember(self, table: str, snapshot_id: int | None) -> None:
        """Take note of a state that may come back."""
        if snapshot_id is not None:
            self.past[table].append((snapshot_id, dict(self.held[table])))

    @rule(table=_tables, batch=rows)
    def upsert(self, table: int, batch: list[Any]) -> None:
        """Later rows of a key take the place of earlier ones."""
        name, given = self.name(table), [as_row(each) for each in batch]
        written = pa.Table.from_pylist(given, schema=SCHEMA)
        report = arctic.write(name, written, mode="upsert", warehouse=self.folder)
        self.held[name].update({row["id"]: row for row in given})
        occurred("upsert")
        self.remember(name, report.snapshot_id)

    @rule(table=_tables, keys=_ids)
    def delete(self, table: int, keys: list[int]) -> None:
        """By their keys."""
        name = self.name(table)
        gone = pa.table({"id": pa.array(keys, pa.int64())})
        report = arctic.write(name, gone, mode="delete", warehouse=self.folder)
        for key in keys:
            self.held[name].pop(key, None)
        occurred("delete")
        self.remember(name, report.snapshot_id)

    @rule(table=_tables, region=st.sampled_from(REGIONS))
    def delete_where(self, table: int, region: str) -> None:
        """By a condition, which may write position deletes or take whole files."""
        name = self.name(table)
        report = arctic.open_table(name, warehouse=self.folder).delete(f"region = '{region}'")
        self.held[name] = {k: row for k, row in self.held[name].items() if row["region"] != region}
        occurred("delete where")
        self.remember(name, report.snapshot_id)

    @rule(table=_tables, kind=st.sampled_from(["minor", "major", "full"]))
    def optimize(self, table: int, kind: str) -> None:
        """Rows stay; files of other tables that share them too."""
        options = {"self-optimizing.fragment-ratio": "1000000"} if kind == "minor" else {}
        report = arctic.optimize(
            self.name(table), type=kind, options=options, warehouse=self.folder
        )
        self.remember(self.name(table), report.snapshot_id)
        if report.snapshot_id is not None:
            occurred("optimize")

    @rule(table=_tables, output=st.sampled_from(["v2", "v3", "clean"]))
    def publish(self, table: int, output: str) -> None:
        """Under a name for each kind; publishing it again does nothing."""
        name = self.name(table)
        into = f"{name}_{output}"
        arctic.publish(name, into=into, output=output, warehouse=self.folder)
        self.shown[into] = name, self.rows_of(name)
        occurred(f"publish {output}")
        for read in READERS:
            assert_rows(read(self.folder, into).to_pylist(), self.rows_of(name))
        assert arctic.publish(name, into=into, warehouse=self.folder).snapshot_id is None

    @precondition(lambda self: self.shown)
    @rule(drawn=st.integers(0, 8))
    def unpublish(self, drawn: int) -> None:
        """The table itself stays whole."""
        into = list(self.shown)[drawn % len(self.shown)]
        name, _ = self.shown.pop(into)
        occurred("unpublish")
        assert arctic.unpublish(name, into, warehouse=self.folder) == (into,)

    @rule(table=_tables)
    def expire(self, table: int) -> None:
        """Everything that nobody needs goes at once, orphans of any age too."""
        if arctic.expire(self.name(table), options=AT_ONCE, warehouse=self.folder).items:
            occurred("expire")

    @precondition(lambda self: len(self.held) < MOST_TABLES)
    @rule(table=_tables)
    def clone(self, table: int) -> None:
        """From then on each lives by itself."""
        name, new = self.name(table), f"m.t{self.made}"
        if not self.past[name]:
            return
        arctic.clone(name, new, warehouse=self.folder)
        self.has_cloned = True
        occurred("clone")
        self.made += 1
        self.held[new], self.past[new] = dict(self.held[name]), []

    @precondition(lambda self: len(self.held) > 1)
    @rule(table=_tables)
    def drop(self, table: int) -> None:
        """Files stay for those that share them; a table that is published is not dropped."""
        name = self.name(table)
        if names := self.names_of(name):
            with pytest.raises(arctic.InvalidInputError, match="publish"):
                arctic.drop_table(name, warehouse=self.folder)
            for into in names:
                del self.shown[into]
            assert sorted(arctic.unpublish(name, warehouse=self.folder)) == sorted(names)
        arctic.drop_table(name, warehouse=self.folder)
        del self.held[name], self.past[name]
        occurred("drop")

    @rule(table=_tables, drawn=st.integers(0, 20))
    def restore(self, table: int, drawn: int) -> None:
        """A state that is not there any more changes nothing."""
        name = self.name(table)
        if not self.past[name]:
            return
        snapshot_id, then = self.past[name][drawn % len(self.past[name])]
        try:
            report = arctic.open_table(name, warehouse=self.folder).restore(snapshot_id)
        except (arctic.NotFoundError, arctic.UnsupportedError):
            return
        self.held[name] = dict(then)
        occurred("restore")
        self.remember(name, report.snapshot_id)

    @rule(table=_tables)
    def release_and_adopt(self, table: int) -> None:
        """Between the two it is a plain table; while it is published it is refused."""
        name = self.name(table)
        if not self.past[name]:
            return
        arctic.optimize(name, type="full", warehouse=self.folder)
        if self.names_of(name):
            with pytest.raises(arctic.InvalidInputError, match="publish"):
                arctic.release(name, warehouse=self.folder)
            return
        try:
            arctic.release(name, warehouse=self.folder)
        except arctic.InvalidInputError as error:  # others may refer to its files
            if self.has_cloned and "clone" in error.message:
                return
            raise
        for other in self.held.keys() - {name}:
            arctic.optimize(other, type="full", warehouse=self.folder)
            arctic.expire(other, options=AT_ONCE, warehouse=self.folder)
        for read in READERS:
            assert_rows(read(self.folder, name).to_pylist(), self.rows_of(name))
        arctic.adopt(name, primary_key=["id"], warehouse=self.folder)
        self.past[name].clear()
        occurred("adopt")

    @rule(table=_tables)
    def rename(self, table: int) -> None:
        """What is published of it, and clones, know it all the same."""
        name, new = self.name(table), f"m.t{self.made}"
        self.made += 1
        arctic.rename(name, new, warehouse=self.folder)
        self.held[new], self.past[new] = self.held.pop(name), self.past.pop(name)
        occurred("rename")
        for into, (of, then) in self.shown.items():
            if of == name:
                self.shown[into] = new, then

    @invariant()
    def everything_is_there(self) -> None:
        """Each table holds its rows, and each published one shows those of its last publish."""
        if not hasattr(self, "held"):
            return
        self.steps += 1
        for name in self.held:
            assert_rows(
                arctic.read(name, warehouse=self.folder).read_all().to_pylist(), self.rows_of(name)
            )
        for into, (_, then) in self.shown.items():
            read = READERS[self.steps % len(READERS)]
            assert_rows(read(self.folder, into).to_pylist(), then)


TestSharingMachine = SharingMachine.TestCase
TestSharingMachine.settings = settings(
    max_examples=HISTORIES,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

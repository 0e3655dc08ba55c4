"""The whole table against a dict: any history, any layout, any plan."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, multiple, precondition, rule

from tests.property.table_machine import (
    SCHEMA,
    SEGMENTS_ONLY,
    LakeMachine,
    Row,
    as_row,
    ids,
    payloads,
    regions,
)
from tests.property.table_machine import rows as some_rows

Key = tuple[Any, ...]
BASE_NODES = "base.file-index.hash-bucket"
CHANGE_NODES = "change.file-index.hash-bucket"


class TableMachine(LakeMachine):
    """A table with a primary key; ``model`` maps each key to its row."""

    @initialize(
        layout=st.sampled_from(["plain", "in_key", "moving", "bucket_moving"]),
        change_buckets=st.sampled_from([None, 1, 2, 8]),
        base_buckets=st.sampled_from([None, 1, 4]),
        fragment_ratio=st.sampled_from([8, SEGMENTS_ONLY]),
        tiny_bytes=st.sampled_from([1, 4_000, 4 * 2**20]),
    )
    def create(
        self,
        layout: str,
        change_buckets: int | None,
        base_buckets: int | None,
        fragment_ratio: int,
        tiny_bytes: int,
    ) -> None:
        """Create a table whose key is its partition, decides it, or moves between partitions."""
        self.key = ("id", "region") if layout == "in_key" else ("id",)
        partitions = {"plain": [], "bucket_moving": ["bucket(2, region)"]}.get(layout, ["region"])
        self.create_table(
            primary_key=self.key,
            partition_by=partitions,
            properties={
                "self-optimizing.fragment-ratio": str(fragment_ratio),
                # A few of its files are beyond the one in the middle: it is divided, and joined.
                "read.split.open-file-cost": str(tiny_bytes),
                **({} if change_buckets is None else {CHANGE_NODES: str(change_buckets)}),
                # Runs with targets of their own divide nodes and join them where none is stated.
                **({} if base_buckets is None else {BASE_NODES: str(base_buckets)}),
            },
        )
        self.model: dict[Key, Row] = {}

    def rows_now(self) -> list[Row]:
        """Return the rows of the model."""
        return list(self.model.values())

    def become(self, rows: list[Row]) -> None:
        """Let the model be these rows."""
        self.model = {self.key_of(row): row for row in rows}

    def key_of(self, row: Row) -> Key:
        """Return a row's key."""
        return tuple(row[name] for name in self.key)

    @rule(target=LakeMachine.snapshots, drawn=some_rows)
    def upsert(self, drawn: Any) -> Any:
        """Later rows of a key win over earlier ones and over what is there."""
        batch = [as_row(each) for each in drawn]
        self.model.update({self.key_of(row): row for row in batch})
        return self.write(batch, "upsert")

    @rule(
        target=LakeMachine.snapshots,
        drawn=some_rows,
        lacks=st.sets(st.sampled_from(["region", "amount", "note"]), min_size=1),
        become=st.sampled_from(["keep", "null"]),
    )
    def upsert_some_columns(self, drawn: Any, lacks: set[str], become: str) -> Any:
        """What the rows lack stays as it is stored, or becomes null."""
        lacks = lacks - set(self.key)
        schema = pa.schema([field for field in SCHEMA if field.name not in lacks])
        batch = [as_row(each) for each in drawn]
        for row in batch:
            old = self.model.get(self.key_of(row), {}) if become == "keep" else {}
            lacking = {name: old.get(name) for name in lacks}
            self.model[self.key_of(row)] = {**row, **lacking}
        partial = [{name: row[name] for name in schema.names} for row in batch]
        return self.write(partial, "upsert", schema, **{"missing-columns": become})

    @rule(target=LakeMachine.snapshots, drawn=some_rows)
    def append_new_keys(self, drawn: Any) -> Any:
        """An append inserts without a delete, so only keys that are not there stay single."""
        batch = {self.key_of(row): row for row in map(as_row, drawn)}
        fresh = {key: row for key, row in batch.items() if key not in self.model}
        if not fresh:
            return multiple()
        self.model.update(fresh)
        return self.write(list(fresh.values()), "append")

    @rule(
        target=LakeMachine.snapshots,
        drawn=st.lists(st.tuples(ids, regions), min_size=1, max_size=6),
    )
    def delete(self, drawn: Any) -> Any:
        """A delete needs the key alone."""
        schema = pa.schema([SCHEMA.field(name) for name in self.key])
        batch = [{"id": number, "region": region} for number, region in drawn]
        for row in batch:
            self.model.pop(self.key_of(row), None)
        return self.write(
            [{name: row[name] for name in self.key} for row in batch], "delete", schema
        )

    @rule(
        target=LakeMachine.snapshots,
        drawn=st.lists(st.tuples(ids, regions, payloads), max_size=8),
    )
    def overwrite(self, drawn: Any) -> Any:
        """An overwrite leaves its own rows only, one of each key."""
        batch = [as_row(each) for each in drawn]
        self.model = {self.key_of(row): row for row in batch}
        return self.write(batch, "overwrite")

    @precondition(lambda self: self.key == ("id", "region"))
    @rule(target=LakeMachine.snapshots, drawn=some_rows)
    def overwrite_partitions(self, drawn: Any) -> Any:
        """A dynamic overwrite replaces the partitions it has rows for."""
        batch = [as_row(each) for each in drawn]
        touched = {row["region"] for row in batch}
        kept = {key: row for key, row in self.model.items() if row["region"] not in touched}
        self.model = {**kept, **{self.key_of(row): row for row in batch}}
        return self.write(batch, "overwrite", partitionOverwriteMode="dynamic")

    @rule(
        target=LakeMachine.snapshots,
        drawn=st.lists(
            st.tuples(st.sampled_from(["I", "U", "D"]), ids, regions, payloads),
            min_size=1,
            max_size=10,
        ),
        images=st.booleans(),
        shuffle=st.randoms(use_true_random=False),
    )
    def apply_actions(self, drawn: Any, images: bool, shuffle: Any) -> Any:
        """Mixed events apply in ordering-column order, with or without before-images."""
        events: list[Row] = []
        for letter, *rest in drawn:
            row = as_row(tuple(rest))
            old = self.model.get(self.key_of(row))
            if letter == "D":
                events.append({**(old or row), "op": "-D"})
                self.model.pop(self.key_of(row), None)
                continue
            if old is not None and images:
                events.append({**old, "op": "-U"})
            events.append({**row, "op": "+U" if old is not None else "+I"})
            self.model[self.key_of(row)] = row
        schema = pa.schema([*SCHEMA, pa.field("op", pa.string()), pa.field("at", pa.int64())])
        batch = [{**event, "at": at} for at, event in enumerate(events)]
        shuffle.shuffle(batch)
        return self.write(
            batch, "append", schema, **{"action-column": "op", "ordering-column": "at"}
        )

    @invariant()
    def equals_the_model(self) -> None:
        """The merged view is the dict."""
        self.assert_equal_to_the_model()


TestTableMachine = TableMachine.TestCase
TestTableMachine.settings = settings(
    max_examples=25,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

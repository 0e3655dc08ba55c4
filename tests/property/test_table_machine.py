"""The whole table against a dict: any history, any layout, any plan."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

import arctic

REGIONS = ["eu", "us", "asia"]
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("amount", pa.int32()),
        pa.field("note", pa.string()),
    ]
)

ids = st.integers(0, 11)
regions = st.sampled_from(REGIONS)
payloads = st.tuples(
    st.one_of(st.none(), st.integers(-5, 5)), st.one_of(st.none(), st.text("ab", max_size=2))
)
rows = st.lists(st.tuples(ids, regions, payloads), min_size=1, max_size=8)
Row = dict[str, Any]
Key = tuple[Any, ...]


def as_row(drawn: tuple[int, str, tuple[int | None, str | None]]) -> Row:
    """Return what Hypothesis drew as a row."""
    number, region, (amount, note) = drawn
    return {"id": number, "region": region, "amount": amount, "note": note}


class TableMachine(RuleBasedStateMachine):
    """Drives a real table on a real catalog; ``model`` maps each key to its row."""

    snapshots = Bundle("snapshots")

    @initialize(
        layout=st.sampled_from(["plain", "in_key", "moving", "bucket_moving"]),
        change_buckets=st.sampled_from([1, 2, 4, 8]),
        base_buckets=st.sampled_from([1, 2, 4]),
    )
    def create(self, layout: str, change_buckets: int, base_buckets: int) -> None:
        """Create a table whose key is its partition, decides it, or moves between partitions."""
        self.folder = tempfile.mkdtemp(prefix="arctic-machine-")
        self.key = ("id", "region") if layout == "in_key" else ("id",)
        partitions = {"plain": [], "bucket_moving": ["bucket(2, region)"]}.get(layout, ["region"])
        self.partitioned = bool(partitions)
        arctic.create_table(
            "m.t",
            SCHEMA,
            primary_key=self.key,
            partition_by=partitions,
            properties={
                "change.file-index.hash-bucket": str(change_buckets),
                "base.file-index.hash-bucket": str(base_buckets),
            },
            warehouse=self.folder,
        )
        self.model: dict[Key, Row] = {}
        self.read_options: dict[str, str] = {}

    def teardown(self) -> None:
        """Remove the warehouse."""
        shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)

    def key_of(self, row: Row) -> Key:
        """Return a row's key."""
        return tuple(row[name] for name in self.key)

    def write(self, batch: list[Row], mode: str, schema: pa.Schema = SCHEMA, **options: str) -> Any:
        """Write rows; return the snapshot with the model it must show for ever."""
        report = arctic.write(
            "m.t",
            pa.Table.from_pylist(batch, schema=schema),
            mode=mode,
            options=options,
            warehouse=self.folder,
        )
        if report.snapshot_id is None:
            return multiple()
        return (report.snapshot_id, dict(self.model))

    def read(self, **arguments: Any) -> list[Row]:
        """Read the merged view."""
        reader = arctic.read("m.t", warehouse=self.folder, **arguments)
        rows: list[Row] = reader.read_all().to_pylist()
        return rows

    def assert_rows(self, actual: list[Row], expected: dict[Key, Row]) -> None:
        """Compare rows in any order."""

        def order(row: Row) -> Any:
            return tuple(row[name] for name in ("id", "region"))

        assert sorted(actual, key=order) == sorted(expected.values(), key=order)

    @rule(target=snapshots, drawn=rows)
    def upsert(self, drawn: Any) -> Any:
        """Later rows of a key win over earlier ones and over what is there."""
        batch = [as_row(each) for each in drawn]
        self.model.update({self.key_of(row): row for row in batch})
        return self.write(batch, "upsert")

    @rule(target=snapshots, drawn=rows)
    def append_new_keys(self, drawn: Any) -> Any:
        """An append inserts without a delete, so only keys that are not there stay single."""
        batch = {self.key_of(row): row for row in map(as_row, drawn)}
        fresh = {key: row for key, row in batch.items() if key not in self.model}
        if not fresh:
            return multiple()
        self.model.update(fresh)
        return self.write(list(fresh.values()), "append")

    @rule(target=snapshots, drawn=st.lists(st.tuples(ids, regions), min_size=1, max_size=6))
    def delete(self, drawn: Any) -> Any:
        """A delete needs the key alone."""
        schema = pa.schema([SCHEMA.field(name) for name in self.key])
        batch = [{"id": number, "region": region} for number, region in drawn]
        for row in batch:
            self.model.pop(self.key_of(row), None)
        return self.write(
            [{name: row[name] for name in self.key} for row in batch], "delete", schema
        )

    @rule(target=snapshots, drawn=st.lists(st.tuples(ids, regions, payloads), max_size=8))
    def overwrite(self, drawn: Any) -> Any:
        """An overwrite leaves its own rows only, one of each key."""
        batch = [as_row(each) for each in drawn]
        self.model = {self.key_of(row): row for row in batch}
        return self.write(batch, "overwrite")

    @precondition(lambda self: self.key == ("id", "region"))
    @rule(target=snapshots, drawn=rows)
    def overwrite_partitions(self, drawn: Any) -> Any:
        """A dynamic overwrite replaces the partitions it has rows for."""
        batch = [as_row(each) for each in drawn]
        touched = {row["region"] for row in batch}
        kept = {key: row for key, row in self.model.items() if row["region"] not in touched}
        self.model = {**kept, **{self.key_of(row): row for row in batch}}
        return self.write(batch, "overwrite", partitionOverwriteMode="dynamic")

    @rule(
        target=snapshots,
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

    @rule(
        target=snapshots,
        kind=st.sampled_from(["minor", "minor", "major", "full"]),
        target_size=st.sampled_from(["1", "900", "128 MiB"]),
        max_files=st.sampled_from(["1", "5", "10000"]),
        sort_columns=st.sampled_from([{}, {"self-optimizing.sort-columns": "note, amount"}]),
        where=st.sampled_from([None, None, "region = 'eu'"]),
    )
    def optimize(
        self,
        kind: str,
        target_size: str,
        max_files: str,
        sort_columns: dict[str, str],
        where: str | None,
    ) -> Any:
        """Optimizing changes no row, whatever it rewrites, marks, or leaves for later."""
        report = arctic.optimize(
            "m.t",
            type=kind,
            where=where,
            options={
                "self-optimizing.target-size": target_size,
                "self-optimizing.max-task-size-bytes": "1",
                "self-optimizing.max-file-count": max_files,
                "self-optimizing.sort-buffer-bytes": "100",
                **sort_columns,
            },
            warehouse=self.folder,
        )
        return multiple() if report.snapshot_id is None else (report.snapshot_id, dict(self.model))

    @rule(
        weight_ratio=st.sampled_from(["0.1", "2.0", "1000"]),
        target_size=st.sampled_from(["1", "5000", "128 MiB"]),
        parallelism=st.integers(1, 5),
        max_delete_bytes=st.sampled_from(["1", "200", "512 MiB"]),
    )
    def change_plan(
        self, weight_ratio: str, target_size: str, parallelism: int, max_delete_bytes: str
    ) -> None:
        """However a read is split and packed, it yields the same rows."""
        self.read_options = {
            "weight-ratio": weight_ratio,
            "target-size": target_size,
            "open-file-cost": "1",
            "parallelism": str(parallelism),
            "merge.max-delete-bytes": max_delete_bytes,
        }

    @rule(snapshot=snapshots)
    def travel(self, snapshot: Any) -> None:
        """Every snapshot that a write made shows the table as it was right after it."""
        snapshot_id, expected = snapshot
        actual = self.read(options={**self.read_options, "snapshot-id": str(snapshot_id)})
        self.assert_rows(actual, expected)

    @rule(region=regions, low=st.integers(-5, 5))
    def filtered(self, region: str, low: int) -> None:
        """A filter keeps exactly the rows it names, whatever was pruned for it."""
        actual = self.read(filter=f"region = '{region}' and amount >= {low}")
        expected = {
            key: row
            for key, row in self.model.items()
            if row["region"] == region and row["amount"] is not None and row["amount"] >= low
        }
        self.assert_rows(actual, expected)

    @invariant()
    def equals_the_model(self) -> None:
        """The merged view is the dict."""
        if hasattr(self, "model"):
            self.assert_rows(self.read(options=self.read_options), self.model)


TestTableMachine = TableMachine.TestCase
TestTableMachine.settings = settings(
    max_examples=25,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

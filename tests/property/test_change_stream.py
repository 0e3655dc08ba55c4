"""Whoever replays the changes of a table has the table, however it is cut, optimized or resumed."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import arctic
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.scan.changes.change_limit import ChangeLimit
from arctic.table.streams.stream_position import StreamPosition

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string()),
        pa.field("number", pa.int32()),
        pa.field("region", pa.string()),
        pa.field("value", pa.int64()),
    ]
)
KEYS = st.tuples(st.sampled_from(["", "ä", "key"]), st.integers(0, 3))
ROWS = st.dictionaries(
    KEYS, st.tuples(st.sampled_from(["eu", "us", None]), st.integers(0, 9)), min_size=1, max_size=6
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("upsert"), ROWS),
        st.tuples(st.just("known"), ROWS),
        st.tuples(st.just("delete"), st.lists(KEYS, min_size=1, max_size=4, unique=True)),
        st.tuples(st.just("optimize"), st.sampled_from(["minor", "major", "full"])),
        st.tuples(st.just("merge one"), st.sampled_from(["eu", "us"])),
        st.tuples(st.just("read"), st.integers(0, 3)),
        st.tuples(st.just("resume"), st.none()),
    ),
    min_size=4,
    max_size=10,
)
Key = tuple[str, int]
Row = tuple[str | None, int]


@dataclass
class Follower:
    """Reads a stream as Spark does, and keeps a dictionary in step with it."""

    options: dict[str, str]
    changes: Changes
    at: StreamPosition | None = None

    def __post_init__(self) -> None:
        self.rows: dict[Key, Row] = {}
        self.seen: dict[Key, tuple[int, int]] = {}

    def resume(self) -> None:
        """Go on in another process, which knows no more than the offset."""
        self.changes = Changes(AskedChanges.of(self.options))
        if self.at is not None:
            self.at = StreamPosition.from_json(json.loads(json.dumps(self.at.to_json())))

    def step(self, max_files: int) -> bool:
        """Read one micro-batch, bounded unless 0; say whether there was one."""
        self.at = self.at or self.changes.beginning()
        end = self.changes.advance(self.at, limit=ChangeLimit(max_files=max_files or None))
        if end == self.at:
            return False
        job = self.changes.plan(self.at, end, columns=None)
        events = job.table().to_pylist()
        other = Changes(AskedChanges.of(self.options))
        again = other.plan(self.at, end, columns=None).table().to_pylist()
        assert sorted(map(repr, events)) == sorted(map(repr, again))
        for event in events:
            self.apply(event)
        self.at = end
        return True

    def apply(self, event: dict[str, Any]) -> None:
        """Do what an event says, and check that it comes in its turn."""
        key = (event["name"], event["number"])
        lsn = (event["_transaction_id"], event["_file_offset"])
        action = event["_change_action"]
        assert self.seen.get(key, (0, 0)) <= lsn
        self.seen[key] = lsn
        if action in ("-D", "-U"):
            assert action == "-D" or key in self.rows
            self.rows.pop(key, None)
        else:
            assert key not in self.rows
            self.rows[key] = (event["region"], event["value"])


@settings(max_examples=15)
@given(
    steps=STEPS,
    partitioned=st.sampled_from([(), ("region",), ("number",)]),
    buckets=st.sampled_from(["1", "4"]),
)
def test_the_replayed_stream_is_the_table(
    steps: list[tuple[str, Any]], partitioned: tuple[str, ...], buckets: str
) -> None:
    """Limits, optimizing and restarts change how many micro-batches there are, not what is there.

    Keys are composite, texts, and may change their partition; every pair of offsets is read twice.
    """
    with tempfile.TemporaryDirectory() as warehouse:
        table = arctic.create_table(
            "db.t",
            SCHEMA,
            primary_key=["name", "number"],
            partition_by=partitioned,
            properties={"change.file-index.hash-bucket": buckets},
            warehouse=warehouse,
        )
        options = {"path": "db.t", "warehouse": warehouse}
        follower = Follower(options, Changes(AskedChanges.of(options)))
        model: dict[Key, Row] = {}
        for kind, argument in steps:
            if kind == "read":
                follower.step(argument)
            elif kind == "resume":
                follower.resume()
            elif kind == "optimize":
                table.optimize(type=argument)
            elif kind == "merge one":
                # Then partitions are merged up to different numbers, between which keys may move.
                table.optimize(type="full", where=f"region = '{argument}'")
            else:
                _write(table, kind, argument, model)
        while follower.step(2):
            pass

        assert model == follower.rows
        assert model == {
            (row["name"], row["number"]): (row["region"], row["value"])
            for row in table.read().read_all().to_pylist()
        }


def _write(table: arctic.Table, kind: str, argument: Any, model: dict[Key, Row]) -> None:
    if kind == "delete":
        table.write(_rows({key: model.get(key, (None, 0)) for key in argument}), mode="delete")
        for key in argument:
            model.pop(key, None)
    elif kind == "upsert":
        table.write(_rows(argument), mode="upsert")
        model.update(argument)
    else:
        before = {key: model[key] for key in argument if key in model}
        events = pa.concat_tables([_rows(before), _rows(argument)])
        actions = ["-U"] * len(before) + ["+U" if key in before else "+I" for key in argument]
        table.write(
            events.add_column(0, "op", pa.array(actions, pa.string())),
            mode="upsert",
            options={"action-column": "op"},
        )
        model.update(argument)


def _rows(rows: dict[Key, Row]) -> pa.Table:
    listed = [(*key, *row) for key, row in rows.items()]
    columns = list(zip(*listed, strict=True)) or [()] * len(SCHEMA)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)],
        SCHEMA,
    )

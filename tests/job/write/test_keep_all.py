"""Every event of a write, kept: rows stay what they are, and their history is whole."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
KEEP = {"write.changes.keep-all": "true"}
Rows = list[tuple[Any, ...]]


def create(folder: Path, schema: pa.Schema = SCHEMA, **arguments: Any) -> arctic.Table:
    """Create a table that keeps every event."""
    return arctic.create_table(
        "db.t", schema, primary_key="id", warehouse=str(folder), properties=KEEP, **arguments
    )


def events(table: arctic.Table) -> Rows:
    """Return action, key and text of all events, in their order."""
    told = table.read_changes(options={"start-version": "0"}).read_all()
    order = ["_transaction_id", "_file_offset"]
    rows = told.sort_by([(name, "ascending") for name in order]).to_pylist()
    rows.sort(
        key=lambda row: (*(row[name] for name in order), "-+".index(row["_change_action"][0]))
    )
    return [(row["_change_action"], row["id"], row["v"]) for row in rows]


def test_each_version_of_a_row_is_told(tmp_path: Path) -> None:
    """With the one before it; a write whose option says so keeps what they come to."""
    table = create(tmp_path)
    rows = pa.table([[1, 2, 1, 1], ["a", "x", "b", "c"]], schema=SCHEMA)
    table.write(rows, mode="upsert")

    assert events(table) == [
        ("-D", 1, None),
        ("+I", 1, "a"),
        ("-D", 2, None),
        ("+I", 2, "x"),
        ("-U", 1, "a"),
        ("+U", 1, "b"),
        ("-U", 1, "b"),
        ("+U", 1, "c"),
    ]
    table.write(rows, mode="upsert", options={"write.changes.keep-all": "false"})
    assert len(events(table)) == 12
    told = table.read_changes(options={"start-version": "0", "change-rows": "net"}).read_all()
    assert sorted(told["v"].to_pylist()) == ["c", "x"]


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_those_of_the_last_events(tmp_path: Path, seed: int) -> None:
    """Merged, counted, filtered, optimized, and replayed from the events."""
    chance = random.Random(seed)
    table = create(tmp_path, partition_by=["bucket(2, id)"] if seed else [])
    rows: dict[int, str] = {}
    for write in range(6):
        given = []
        for number in range(chance.randrange(1, 40)):
            key, text = chance.randrange(6), f"{write}.{number}"
            action = chance.choice(["+I", "+U", "-D"])
            given.append((key, None if action == "-D" else text, action))
            if action == "-D":
                rows.pop(key, None)
            else:
                rows[key] = text
        told = pa.schema([*SCHEMA, ("op", pa.string())])
        frame = pa.table(list(map(list, zip(*given, strict=True))), schema=told)
        table.write(frame, mode="upsert", options={"action-column": "op"})
        if write in (2, 4):
            table.optimize(type=chance.choice(["minor", "major", "full"]))
        found = table.read().read_all().to_pylist()
        assert {row["id"]: row["v"] for row in found} == rows
        assert len(found) == table.count() == len(rows)
        assert table.count(filter="id < 3") == sum(key < 3 for key in rows)
    copy: dict[int, str] = {}
    for action, key, text in events(table):
        if action[0] == "-":
            assert copy.pop(key, text) == text or text is None
        else:
            copy[key] = text
    assert copy == rows
    told = table.read_changes(options={"start-version": "0", "change-rows": "net"}).read_all()
    assert {row["id"]: row["v"] for row in told.to_pylist()} == rows


def test_what_cannot_tell_its_old_rows_is_refused(tmp_path: Path) -> None:
    """While planning, whatever the rows are."""
    rows = pa.table([[1], ["a"]], schema=SCHEMA)
    moving = create(tmp_path / "moving", partition_by=["v"])
    with pytest.raises(InvalidInputError, match=r"keep-all = 'true'.*does not decide the part"):
        moving.write(rows, mode="upsert")
    timed = pa.schema([*SCHEMA, ("at", pa.int64())])
    ordered = create(tmp_path / "ordered", timed, ordering_columns=["at"])
    with pytest.raises(InvalidInputError, match=r"keep-all = 'true'.*has ordering columns"):
        ordered.write(rows.append_column("at", pa.array([1])), mode="upsert")
    plain = create(tmp_path / "plain")
    with pytest.raises(InvalidInputError, match=r"keep-all = 'true'.*lack columns"):
        plain.write(rows.select(["id"]), mode="upsert", options={"missing-columns": "keep"})

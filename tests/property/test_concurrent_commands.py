"""Processes merge, update and delete the same rows: the table is the replay in commit order.

Every state that somebody has read meanwhile is one of that replay, at its place.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from tests.processes import forked

KEYS, ROUNDS = 12, 8
SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("n", pa.int64()), ("by", pa.string())]
)
Rows = list[tuple[int, int, str]]
Place = tuple[int, int]
"""Of a command: its writer, and how many that one had run before it."""


def source_of(place: Place) -> dict[int, int]:
    """Return four keys that everybody merges, with numbers."""
    writer, number = place
    return {(number * 5 + step * (writer + 1)) % KEYS: number + step for step in range(4)}


def by(place: Place) -> str:
    """Return the name of a command."""
    return "{}/{}".format(*place)


def merge(table: arctic.Table, place: Place) -> int | None:
    """Let keys that are there depend on what they were, and insert the others."""
    source = source_of(place)
    rows = {"id": list(source), "n": list(source.values()), "by": [by(place)] * len(source)}
    return (
        table.merge(pa.table(rows, schema=SCHEMA), on="id")
        .when_matched_update(set={"n": "target.n % 1000 * 2 + source.n", "by": "source.by"})
        .when_not_matched_insert_all()
        .execute()
        .snapshot_id
    )


def merged(rows: Rows, place: Place) -> Rows:
    """Return what a merge makes of rows."""
    source, there = source_of(place), {row[0] for row in rows}
    return [
        *(
            (k, n % 1000 * 2 + source[k], by(place)) if k in source else (k, n, b)
            for k, n, b in rows
        ),
        *((k, n, by(place)) for k, n in source.items() if k not in there),
    ]


def update(table: arctic.Table, place: Place) -> int | None:
    """Change rows by a number that others change too."""
    values = {"n": "n + 1", "by": f"'{by(place)}'"}
    return table.update(f"n % 3 = {place[1] % 3}", set=values).snapshot_id


def updated(rows: Rows, place: Place) -> Rows:
    """Return what an update makes of rows."""
    rest = place[1] % 3
    return [(k, n + 1, by(place)) if n % 3 == rest else (k, n, b) for k, n, b in rows]


def delete(table: arctic.Table, place: Place) -> int | None:
    """Delete rows by a number that others change."""
    return table.delete(f"n % 7 = {place[1] % 7}").snapshot_id


def deleted(rows: Rows, place: Place) -> Rows:
    """Return what a delete leaves of rows."""
    return [row for row in rows if row[1] % 7 != place[1] % 7]


Does = Callable[[arctic.Table, Place], int | None]
Model = Callable[[Rows, Place], Rows]
COMMANDS: list[tuple[Does, Model]] = [
    (merge, merged), (update, updated), (merge, merged), (delete, deleted)
]  # fmt: skip


def run_many(warehouse: str, writer: int, rounds: int) -> list[tuple[int, Place]]:
    """Run commands in turn; return what each snapshot of theirs did."""
    table = arctic.open_table("c.t", warehouse=warehouse)
    landed = []
    for number in range(rounds):
        place = (writer, number)
        try:
            snapshot = COMMANDS[(number + 2 * writer) % 4][0](table, place)
        except arctic.ConflictError:
            continue  # which has changed nothing, as the replay says
        if snapshot is not None:
            landed.append((snapshot, place))
    return landed


def rows_of(warehouse: str, **arguments: Any) -> Rows:
    """Return the rows of the table in order."""
    found = arctic.read("c.t", warehouse=warehouse, **arguments).read_all().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def versions_of(warehouse: str) -> list[dict[str, Any]]:
    """Return the commits in their order."""
    listed: list[dict[str, Any]] = (
        arctic.open_table("c.t", warehouse=warehouse).versions().to_pylist()
    )
    return listed


@pytest.mark.slow
@pytest.mark.parametrize("key", [["id"], []], ids=["keyed", "keyless"])
def test_commands_are_as_if_each_ran_alone(tmp_path: Path, key: list[str]) -> None:
    """In the order of their commits, or they are conflicts; whoever reads sees one of those."""
    warehouse = str(tmp_path)
    arctic.create_table("c.t", SCHEMA, primary_key=key, warehouse=warehouse)
    # Rows that are equal in all but their place, where there may be such.
    first = [(k, k, "first") for k in (*range(KEYS), *(() if key else (3, 3, 4)))]
    columns = dict(zip(SCHEMA.names, zip(*first, strict=True), strict=True))
    arctic.write("c.t", pa.table(columns, schema=SCHEMA), mode="append", warehouse=warehouse)
    seen: list[tuple[int, int, Rows]] = []
    with forked().Pool(2) as pool:
        running = pool.starmap_async(run_many, [(warehouse, writer, ROUNDS) for writer in range(2)])
        while not running.ready():
            before = versions_of(warehouse)[-1]["version"]
            seen.append((before, before, rows_of(warehouse, version=before)))
            rows = rows_of(warehouse)
            seen.append((before, versions_of(warehouse)[-1]["version"], rows))
        landed = dict(each for part in running.get() for each in part)

    versions = versions_of(warehouse)
    rows, states = first, {versions[0]["version"]: sorted(first)}
    for version in versions[1:]:
        place = landed[version[f"{version['store']}_snapshot_id"]]
        rows = COMMANDS[(place[1] + 2 * place[0]) % 4][1](rows, place)
        states[version["version"]] = sorted(rows)
    assert len(versions) == len(landed) + 1
    assert {place[0] for place in landed.values()} == {0, 1}
    assert states[versions[-1]["version"]] == rows_of(warehouse)
    assert seen
    for before, after, found in seen:
        assert found in [states[version] for version in range(before, after + 1)]

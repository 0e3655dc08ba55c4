"""Tables that never have many rows, as many of a source: each lies in as few files as it can."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.job.mirror.write_changes import write_here

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("text", pa.string())])


def rows(start: int, count: int, text: str) -> pa.Table:
    """Return rows that follow one another by their keys."""
    return pa.table([range(start, start + count), [text] * count], schema=SCHEMA)


def mirrored(table: arctic.Table, folder: Path, mode: str, *written: pa.Table) -> None:
    """Write as mirrors do; each in a commit."""
    for each in written:
        options = {"path": "db.t", "warehouse": str(folder), "write-mode": mode}
        write_here(each.to_reader(), options)
    table.refresh()


def files(table: arctic.Table) -> list[tuple[str, int]]:
    """Return kind and node of every file that a read opens."""
    found = table.inspect("files").to_pylist()
    return sorted((row["kind"], row["node_id"]) for row in found if not row["merged"])


def content(table: arctic.Table) -> dict[int, str]:
    """Return the rows by key; each key is in one."""
    read = table.read().read_all()
    found = dict(zip(read["id"].to_pylist(), read["text"].to_pylist(), strict=True))
    assert len(found) == read.num_rows
    return found


@pytest.mark.parametrize("copy", ["append", "overwrite"])
def test_a_tiny_table_is_one_file_and_is_divided_when_it_grows(tmp_path: Path, copy: str) -> None:
    """Through its copy, changes, runs, and rows by the ten thousands; every row as written last."""
    table = arctic.create_table(
        "db.t",
        SCHEMA,
        primary_key="id",
        properties={"read.split.open-file-cost": "100000"},
        warehouse=str(tmp_path),
    )
    mirrored(table, tmp_path, copy, rows(0, 5_000, "copied"))
    assert files(table) == [("I" if copy == "append" else "B", 1)]

    mirrored(table, tmp_path, "upsert", rows(3, 2, "changed"), rows(4, 2, "again"))
    expected = dict.fromkeys(range(5_000), "copied") | {3: "changed", 4: "again", 5: "again"}
    assert {node for _, node in files(table)} == {1}
    assert content(table) == expected
    table.optimize(type="minor")
    table.refresh()
    assert files(table) == [("B", 1)]
    assert "arctic.tree" not in table.properties, "what it grows into is what all begin with"
    assert content(table) == expected

    # Of no few rows, so that they go to more nodes than one.
    mirrored(table, tmp_path, "upsert", rows(4_000, 140_000, "more"))
    expected |= dict.fromkeys(range(4_000, 144_000), "more")
    assert {node for kind, node in files(table) if kind == "I"} == {2, 3}
    assert content(table) == expected
    table.optimize(type="minor")
    table.refresh()
    assert files(table) == [("B", node) for node in (4, 5, 6, 7)]
    assert content(table) == expected
    mirrored(table, tmp_path, "upsert", rows(0, 100, "last"))
    assert {node for kind, node in files(table) if kind != "B"} == {4, 5, 6, 7}
    expected |= dict.fromkeys(range(100), "last")
    assert content(table) == expected

    # Most of its rows go, and what is left comes together again.
    table.delete("id >= 1000")
    table.optimize(type="full")
    table.refresh()
    assert files(table) == [("B", 4), ("B", 5), ("B", 6), ("B", 7)]
    table.optimize(type="minor")
    table.refresh()
    assert files(table) == [("B", 1)]
    assert content(table) == {key: text for key, text in expected.items() if key < 1_000}


def test_a_table_that_states_its_nodes_keeps_them(tmp_path: Path) -> None:
    """However few rows it has."""
    table = arctic.create_table(
        "db.t",
        SCHEMA,
        primary_key="id",
        properties={"base.file-index.hash-bucket": "4"},
        warehouse=str(tmp_path),
    )
    mirrored(table, tmp_path, "append", rows(0, 100, "copied"))
    assert {node for _, node in files(table)} == {4, 5, 6, 7}
    table.optimize(type="minor")
    table.refresh()
    assert files(table) == [("B", node) for node in (4, 5, 6, 7)]

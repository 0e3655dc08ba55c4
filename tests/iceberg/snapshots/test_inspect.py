"""Metadata tables: what they show of a table with something in both stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from arctic.errors import NotFoundError
from arctic.iceberg.snapshots.inspect import metadata_schema, metadata_table
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.names import METADATA_TABLES
from arctic.tree.node import TreeNode
from tests.iceberg.stores import append, commit_files, make, overwrite, position_delete, row


@pytest.fixture
def opened(tmp_path: Path) -> OpenTable:
    """Return a table: eu is merged up to 1 and has a delete file, us has unmerged changes."""
    opened = make(tmp_path)
    append(opened, [row(1), row(2)])
    overwrite(opened, [row(1), row(2)], up_to=1)
    data = rows(opened, "files")[0]
    commit_files(opened.base, position_delete(opened, [(data["path"], 1)], ("eu",), "d.parquet"))
    append(opened, [row(3, "us"), row(4, "us")], [row(3, "us")], node=TreeNode(1, 1))
    return opened


def rows(opened: OpenTable, name: str) -> list[dict[str, Any]]:
    """Read a metadata table of the newest state."""
    table = metadata_table(opened, pin(opened.refreshed()), name)
    assert table.schema == metadata_schema(name, opened)
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_files_show_both_stores(opened: OpenTable) -> None:
    """Kind, node, transaction, and whether base holds a change file already."""
    shown = [
        {
            key: each[key]
            for key in ("store", "kind", "node_id", "partition", "transaction_id", "merged")
        }
        for each in rows(opened, "files")
    ]

    us = {"store": "change", "node_id": 3, "partition": "region=us", "transaction_id": 2}
    eu = {"partition": "region=eu", "node_id": 1}
    assert shown == [
        {"store": "base", "kind": "B", "transaction_id": 1, "merged": None, **eu},
        {"store": "base", "kind": "PD", "transaction_id": 0, "merged": None, **eu},
        {"kind": "I", "merged": False, **us},
        {"kind": "ED", "merged": False, **us},
        {"store": "change", "kind": "I", "transaction_id": 1, "merged": True, **eu},
    ]


def test_a_file_row_is_complete(opened: OpenTable) -> None:
    """The delete file names what it points to, every file its place and size."""
    data, delete, *_ = rows(opened, "files")

    assert delete["referenced_path"] == data["path"]
    assert (data["mask"], data["index"]) == (0, 0)
    assert data["path"].startswith("file:///")
    assert (data["record_count"], delete["record_count"]) == (2, 1)
    assert data["size_bytes"] > 0
    assert (data["sequence_number"], delete["sequence_number"]) == (1, 2)


def test_partitions_count_what_a_read_uses(opened: OpenTable) -> None:
    """Merged change files are not counted; the sequence says why."""
    eu, us = rows(opened, "partitions")

    assert (eu["partition"], us["partition"]) == ("region=eu", "region=us")
    assert (eu["base_files"], eu["base_rows"], eu["position_delete_rows"]) == (1, 2, 1)
    assert (eu["insert_files"], eu["optimized_sequence"]) == (0, 1)
    assert (us["insert_files"], us["insert_rows"], us["change_delete_rows"]) == (1, 2, 1)
    assert (us["base_files"], us["optimized_sequence"]) == (0, None)
    assert us["insert_bytes"] > 0


def test_a_partition_without_files_shows_its_sequence(opened: OpenTable) -> None:
    """It was emptied, and its changes are merged into nothing."""
    overwrite(opened, [], up_to=2, change_partitions=frozenset({("us",)}))

    assert [
        (each["partition"], each["optimized_sequence"]) for each in rows(opened, "partitions")
    ] == [
        ("region=eu", 2),
        ("region=us", 2),
    ]
    assert rows(opened, "nodes") == []


def test_nodes_show_where_the_work_is(opened: OpenTable) -> None:
    """One row for each node of a partition that a read looks into."""
    shown = [
        (each["partition"], each["node_id"], each["base_rows"], each["insert_rows"])
        for each in rows(opened, "nodes")
    ]

    assert shown == [("region=eu", 1, 2, 0), ("region=us", 3, 0, 2)]


def test_snapshots_show_both_histories(opened: OpenTable) -> None:
    """Each store in its own order, with the summary as it is stored."""
    shown = rows(opened, "snapshots")

    assert [(each["store"], each["sequence_number"], each["operation"]) for each in shown] == [
        ("base", 1, "append"),
        ("base", 2, "append"),
        ("change", 1, "append"),
        ("change", 2, "append"),
    ]
    assert shown[0]["parent_id"] is None
    assert shown[1]["parent_id"] == shown[0]["snapshot_id"]
    assert dict(shown[0]["summary"])["added-records"] == "2"
    assert "arctic.optimized-sequence" in dict(shown[0]["summary"])
    assert shown[0]["committed_at"].tzinfo is not None


def test_history_and_refs_show_what_is_current(opened: OpenTable) -> None:
    """Every store has its main branch, and a log of what that pointed to."""
    history, refs = rows(opened, "history"), rows(opened, "refs")

    assert [(each["store"], each["is_current_ancestor"]) for each in history] == [
        ("base", True),
        ("base", True),
        ("change", True),
        ("change", True),
    ]
    assert [(each["store"], each["name"], each["type"]) for each in refs] == [
        ("base", "main", "branch"),
        ("change", "main", "branch"),
    ]
    assert refs[0]["snapshot_id"] == history[1]["snapshot_id"]


def test_a_table_without_a_key_shows_only_base(tmp_path: Path) -> None:
    """Any partition field has a text here, also those that a keyed table cannot have."""
    opened = make(tmp_path, key=(), partition_by=("year(day)",))
    append(opened, [row(1, day=19782), row(2)])

    assert {each["store"] for name in ("files", "snapshots") for each in rows(opened, name)} == {
        "base"
    }
    assert [each["partition"] for each in rows(opened, "partitions")] == [
        "day_year=2024",
        "day_year=null",
    ]


@pytest.mark.parametrize("name", sorted(METADATA_TABLES))
def test_an_empty_table_has_empty_metadata_tables(tmp_path: Path, name: str) -> None:
    """The schema is there without rows."""
    opened = make(tmp_path)

    assert rows(opened, name) == []
    assert isinstance(metadata_schema(name, opened), pa.Schema)


def test_an_unknown_metadata_table_is_named_with_those_that_exist(tmp_path: Path) -> None:
    """The caller sees what there is."""
    with pytest.raises(NotFoundError, match="'manifests'; there are files, history"):
        metadata_schema("manifests", make(tmp_path))

"""Nodes that are divided while they are written to, and what a merge makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arctic
from arctic.table.files import FileKind
from arctic.table.table_description import TableDescription
from arctic.writing.change_output import ChangeOutput
from arctic.writing.route import Partitions
from arctic.writing.target import TaskResult, WriteOptions
from tests.writing.local_table import SCHEMA, batch, make_target, new_task, write


def nodes(result: TaskResult, kind: FileKind) -> list[int]:
    """Return the nodes of the files of a kind, in the order in which they were finished."""
    return sorted({file.node.node_id for file in result.files if file.kind is kind})


def many(first: int, count: int) -> pa.RecordBatch:
    """Return rows of keys one after the other."""
    return batch(
        [{"id": id, "region": "eu", "amount": 1, "note": "n"} for id in range(first, first + count)]
    )


@pytest.mark.parametrize(
    ("options", "deepest"),
    [
        ({"grows": True, "node_rows": 25}, 8),
        ({"grows": True, "node_rows": 10}, 16),
        ({"grows": True, "node_rows": 1_000}, 4),
        ({"grows": False, "node_rows": 10}, 4),
    ],
)
def test_what_outgrows_a_node_goes_deeper(
    tmp_path: Path, options: dict[str, Any], deepest: int
) -> None:
    """As far as needed, and only where the table has not stated its number of nodes."""
    target = make_target(tmp_path, chunk_rows=40, **options)

    result = write(target, [many(40 * number, 40) for number in range(4)], mode="upsert")

    for kind in (FileKind.INSERT, FileKind.CHANGE_DELETE):
        found = nodes(result, kind)
        assert max(found) >= deepest
        assert max(found) < 2 * deepest
    assert sum(file.record_count for file in result.files if file.kind is FileKind.INSERT) == 160


def test_partitions_are_judged_for_themselves(tmp_path: Path) -> None:
    """One that gets little keeps its nodes."""
    target = make_target(
        tmp_path, key=("region", "id"), partition_by=("region",), grows=True, node_rows=10
    )
    partitions = Partitions(
        values=(("eu",), ("us",)), codes=np.array([0] * 100 + [1] * 8, dtype=np.int64)
    )

    files = ChangeOutput(target, new_task())
    places = files.places_in(partitions, np.arange(108))

    assert files.target.options.deep_masks == {"region=eu": 15}
    assert set(places.node_ids[:100].tolist()) == set(range(16, 32))
    assert set(places.node_ids[100:].tolist()) == set(range(4, 8))


def test_a_key_of_very_many_changes_divides_nothing(tmp_path: Path) -> None:
    """No depth makes them fewer; all others would be in a file each."""
    target = make_target(tmp_path, grows=True, node_rows=10)
    hashes = np.array([5] * 400 + list(range(16)), dtype=np.int64)
    partitions = Partitions(values=((),), codes=np.zeros(len(hashes), dtype=np.int64))

    files = ChangeOutput(target, new_task())
    places = files.places_in(partitions, hashes)
    again = files.places_in(partitions, hashes)

    assert set(places.node_ids.tolist()) == set(again.node_ids.tolist()) == set(range(4, 8))
    assert files.target == target


def test_a_write_of_many_depths_is_read_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later events of a key win over earlier ones, whichever of them lies deeper."""
    settings = WriteOptions.of

    def small(options: Mapping[str, str], table: TableDescription) -> WriteOptions:
        return replace(settings(options, table), node_rows=40, chunk_rows=100)

    monkeypatch.setattr(WriteOptions, "of", small)
    table = arctic.create_table("o.t", SCHEMA, primary_key="id", warehouse=str(tmp_path))
    for number in range(3):
        rows = pa.Table.from_batches([many(0, 300)]).set_column(
            2, "amount", pa.array([number] * 300, pa.int32())
        )
        table.write(rows, mode="upsert")

    held = {row["node_id"] for row in table.inspect("files").to_pylist()}
    assert max(held) >= 8
    assert min(held) < 8
    found = table.read().read_all().sort_by("id")
    assert found["id"].to_pylist() == list(range(300))
    assert set(found["amount"].to_pylist()) == {2}
    table.optimize(type="full")
    assert table.refresh().read().read_all().sort_by("id").equals(found)

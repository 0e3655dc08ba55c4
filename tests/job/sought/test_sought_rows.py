"""What a source says of the rows that it can equal, part by part, and what that spares."""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arctic
from arctic.columns.value_ranges import ValueRanges
from arctic.job.read.asked_read import AskedRead
from arctic.job.sought.sought_rows import SoughtTable
from arctic.job.sought.source_parts import SoughtKey, SoughtPart, all_parts, part_of
from arctic.tree.hash_arrays import hash_arrays
from arctic.tree.touched_nodes import TouchedNodes

NODES = {"base.file-index.hash-bucket": "8", "change.file-index.hash-bucket": "8"}


@pytest.fixture
def asked(tmp_path: Path) -> AskedRead:
    """A read of a table of eight nodes and ten regions, with a column of bytes."""
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("region", pa.string()),
            ("mark", pa.binary(16)),
        ]
    )
    table = arctic.create_table(
        "m.t",
        schema,
        primary_key="id",
        partition_by=["region"],
        properties=NODES,
        warehouse=str(tmp_path),
    )
    ids = list(range(400))
    marks = pa.array([uuid.UUID(int=number).bytes for number in ids], pa.binary(16))
    regions = [f"r{number // 40}" for number in ids]
    table.write(pa.table({"id": ids, "region": regions, "mark": marks}), mode="append")
    return AskedRead.of({"path": "m.t", "warehouse": str(tmp_path)})


def _found(table: SoughtTable, *columns: pa.Array) -> SoughtPart:
    batch = pa.record_batch(list(columns), names=[f"c{place}" for place in range(len(columns))])
    return all_parts([part_of(batch[start : start + 7], table.key) for start in range(0, 50, 7)])


def test_nodes_and_ranges_are_told_where_they_spare_enough(asked: AskedRead) -> None:
    """Of one key in eight the node, of one region the partition; of all keys nothing."""
    ids = pa.array(range(400))
    hashes = pa.array(hash_arrays([ids], ["long"]) & 7)
    of_one = ids.filter(pc.equal(hashes, 3))
    table = SoughtTable(asked, ["id"])
    one = table.sought(_found(table, of_one))
    assert one.nodes == TouchedNodes(mask=7, indexes=frozenset([3]))
    every = table.sought(all_parts([part_of(pa.record_batch([ids], names=["c"]), table.key)]))
    assert (every.nodes, every.reads_less) == (None, False)

    regions = SoughtTable(asked, ["region"])
    assert regions.key is None
    for texts, reads_less in ((["r3", None, "r4"], True), ([f"r{n}" for n in range(10)], False)):
        found = regions.sought(_found(regions, pa.array(texts)))
        assert (found.nodes, found.reads_less) == (None, reads_less)
    nothing = table.sought(_found(table, pa.array([None, None], pa.int64())))
    assert (nothing.reads_less, nothing.nodes) == (True, TouchedNodes(mask=7, indexes=frozenset()))


def test_values_that_cannot_be_compared_say_nothing(asked: AskedRead) -> None:
    """Text of any bytes, bytes that are text in a source, a column that is not there."""
    table = SoughtTable(asked, [None, "mark", "gone"])
    texts = pa.array([str(uuid.UUID(int=number)) for number in range(3)])
    odd = pa.Array.from_buffers(pa.string(), 1, [None, *pa.array([b"\xff"]).buffers()[1:]])
    assert not table.sought(_found(table, texts, texts, texts)).reads_less

    broken = part_of(pa.record_batch([odd], names=["c"]), None)
    whole = SoughtPart(columns=(ValueRanges.of(texts),), indexes=None)
    assert broken.columns == (None,)
    assert all_parts([whole, broken]).columns == (None,)
    key = SoughtKey(places=(0,), types=("string",), mask=7)
    assert part_of(pa.record_batch([pa.array(["a", None])], names=["c"]), key).indexes is not None


def test_a_small_table_is_read_without_a_look_at_its_source(
    asked: AskedRead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And any, from a source that is about as large."""
    table = SoughtTable(asked, ["id"])
    assert not table.is_worth_a_look(1)
    monkeypatch.setattr("arctic.job.sought.sought_rows.LEAST_BYTES", 0)
    assert table.is_worth_a_look(None)
    assert table.is_worth_a_look(table.bytes // 2)
    assert not table.is_worth_a_look(table.bytes)

"""Large change files that a look-up of a key leaves out, by filters of the key."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.mor.deletes.delete_files import every_delete
from arctic.table.files import FileKind, TableFile
from arctic.table.filters.predicate import ColumnTest, Op
from arctic.writing.files.bloom_filters import LEAST_KEYS
from tests.factories.files import table_file
from tests.factories.tables import field
from tests.mor.local_files import request

WRITES = 3
COUNT = LEAST_KEYS + 100
KEYS: dict[str, tuple[pa.DataType, Callable[[int], Any], Callable[[Any], str]]] = {
    "long": (pa.int64(), int, str),
    "text": (pa.string(), "order-{:08}".format, "'{}'".format),
    "bytes": (
        pa.binary(8),
        lambda number: number.to_bytes(8, "big"),
        lambda value: f"X'{value.hex()}'",
    ),
}


class Requests(io.FileIO):
    """An open file that counts how often it is asked."""

    def __init__(self, opened: list[Requests], path: str) -> None:
        """Open it, and be found in a list."""
        super().__init__(path)
        opened.append(self)
        self.count = 0

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes."""
        self.count += 1
        return super().read(size)


def numbers(write: int) -> list[int]:
    """Return even numbers in no order: each write has some of those before, and some new ones."""
    found = np.random.default_rng(write).choice(4 * COUNT, COUNT, replace=False)
    return [2 * int(number) for number in found]


def created(folder: Path, kind: pa.DataType, make: Callable[[int], Any]) -> arctic.Table:
    """Return a table of one node with some large upserts that are not merged, then a small one."""
    schema = pa.schema([pa.field("id", kind, nullable=False), pa.field("write", pa.int64())])
    table = arctic.create_table(
        "b.t",
        schema,
        primary_key="id",
        properties={
            "base.file-index.hash-bucket": "1",
            "change.file-index.hash-bucket": "1",
            # Else a file would be so small that it is read at once.
            "write.parquet.compression-codec": "uncompressed",
        },
        warehouse=str(folder),
    )
    for write in range(WRITES):
        keys = pa.array([make(number) for number in numbers(write)], kind)
        table.write(pa.table([keys, pa.repeat(write, COUNT)], schema=schema), mode="upsert")
    few = pa.array([make(numbers(0)[0])], kind)
    table.write(pa.table([few, pa.array([99])], schema=schema), mode="upsert")
    return table.refresh()


def change_files(table: arctic.Table, kind: FileKind) -> list[TableFile]:
    """Return the large files of a kind."""
    return [
        table_file(row["path"].removeprefix("file://"), kind, row["size_bytes"], rows=COUNT)
        for row in table.inspect("files").to_pylist()
        if row["kind"] == kind.value and row["record_count"] == COUNT
    ]


@pytest.mark.parametrize("name", KEYS)
def test_a_look_up_finds_the_newest_row_of_a_key(tmp_path: Path, name: str) -> None:
    """Of keys that one write has, or all, or the small one too, or none; and what was deleted."""
    kind, make, sql = KEYS[name]
    table = created(tmp_path, kind, make)
    model = {number: write for write in range(WRITES) for number in numbers(write)}
    model[numbers(0)[0]] = 99
    gone = numbers(2)[:5]
    table.delete(" or ".join(f"id = {sql(make(number))}" for number in gone))
    table.refresh()
    model = {number: write for number, write in model.items() if number not in gone}

    sought = [numbers(0)[0], *gone, *numbers(1)[:10], *numbers(0)[-10:], *range(1, 40, 4)]
    for number in sought:
        found = table.read(filter=f"id = {sql(make(number))}", columns=["write"]).read_all()
        expected = [model[number]] if number in model else []
        assert (number, found["write"].to_pylist()) == (number, expected)


@pytest.mark.parametrize("name", KEYS)
def test_a_look_up_decodes_hardly_any_large_change_that_lacks_its_key(
    tmp_path: Path, name: str
) -> None:
    """Neither of inserts nor of deletes: a sixth of the keys that are not there passes at most."""
    kind, make, sql = KEYS[name]
    table = created(tmp_path, kind, make)
    absent = [make(number) for number in range(4 * COUNT + 1, 4 * COUNT + 81, 4)]

    groups = 0
    for value in absent:
        text = table.explain(
            filter=f"id = {sql(value)}", options={"parallelism": "1"}, analyze=True
        )
        blooms = re.search(r"(\d+) row groups? by their bloom filters", text)
        groups += WRITES - int(blooms[1] if blooms else 0)
    assert groups <= 0.25 * WRITES * len(absent)

    large = change_files(table, FileKind.CHANGE_DELETE)
    assert len(large) == WRITES
    key = pa.schema([field("id", kind, 1, nullable=False)])
    groups = requests = 0
    for value in absent:
        test = ColumnTest(op=Op.EQ, field_id=1, column="id", literal=value)
        asked = request(key, key=key, row_filter=test, batch_rows=COUNT)
        opened: list[Requests] = []
        for file in large:
            groups += len(list(every_delete([file], asked, partial(Requests, opened))))
        requests += sum(each.count for each in opened)
    assert groups <= 0.25 * WRITES * len(absent)
    # What is read for the footer has the filters in it; a group that passes is read at last.
    assert requests <= WRITES * len(absent) + 4 * groups


def test_only_large_change_files_have_filters_of_the_key(tmp_path: Path) -> None:
    """A small one costs as much to open as to read; base lies in the order of the key."""
    table = created(tmp_path, pa.int64(), int)
    table.optimize(type="full")

    found = {}
    for path in tmp_path.rglob("*.parquet"):
        metadata = pq.read_metadata(path)
        group = metadata.row_group(0)
        sizes = [group.column(place).bloom_filter_length for place in range(group.num_columns)]
        kind = path.name.split("-")[1]
        found[kind, metadata.num_rows >= LEAST_KEYS] = [bool(size) for size in sizes]
        assert not sizes[0] or 5 * LEAST_KEYS / 8 <= sizes[0] <= 10 * COUNT / 8
    assert found == {
        ("I", True): [True, False, False],
        ("ED", True): [True, False, False],
        ("I", False): [False, False, False],
        ("ED", False): [False, False, False],
        ("B", True): [False, False],
    }

    off = {"write.parquet.bloom-filter-enabled.column.id": "false"}
    arctic.set_properties("b.t", off, warehouse=str(tmp_path))
    known = set(tmp_path.rglob("*.parquet"))
    again = pa.table([numbers(1), [7] * COUNT], schema=table.schema)
    table.refresh().write(again, mode="upsert")
    for path in set(tmp_path.rglob("*.parquet")) - known:
        assert pq.read_metadata(path).row_group(0).column(0).bloom_filter_length is None

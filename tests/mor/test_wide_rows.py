"""Texts of 100 KB that take next to nothing in their file: memory is that of some batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arctic.mor.batch import BATCH_BYTES
from arctic.mor.files.asked_ranges import RUN_BYTES, leaves_of
from arctic.mor.files.decoded_size import bound_of_few, nests, row_bytes
from arctic.mor.read import read_group
from arctic.mor.small_files import LEAST_FILES
from arctic.scan.task import NodeTaskGroup
from arctic.table.files import FileKind
from arctic.table.filters.predicate import ColumnTest, Op
from tests.factories.tables import field
from tests.mor.local_files import TABLE, LocalFiles, group, request, task

WIDE = 100_000
ROWS = 5_000
MOST_BYTES = 3 * BATCH_BYTES + RUN_BYTES
"""Of 500 MB: batches on their way, and what a filter has read."""
_pools: list[pa.MemoryPool] = []
"""For ever: what a failure holds is given back to one of them."""


@contextmanager
def counted() -> Iterator[pa.MemoryPool]:
    """Yield what counts the memory that Arrow takes."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    _pools.append(pool)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(before)


def wide_rows(rows: int, schema: pa.Schema = TABLE, **more: Any) -> pa.Table:
    """Return rows of few different texts, which are stored once, as dictionaries."""
    texts = pa.array([f"{at}{'x' * WIDE}" for at in range(3)])
    text = pa.DictionaryArray.from_arrays(pa.array([at % 3 for at in range(rows)]), texts)
    columns = {"id": pa.array(range(rows), pa.int64()), "text": text, **more}
    fields = [each.with_type(columns[each.name].type) for each in schema]
    return pa.table(list(columns.values()), schema=pa.schema(fields))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LocalFiles:
    """Where files lie."""
    return LocalFiles(tmp_path_factory.mktemp("wide"))


@pytest.fixture(scope="module", params=[ROWS, 80], ids=["one row group", "many row groups"])
def one_file(request: pytest.FixtureRequest, files: LocalFiles) -> NodeTaskGroup:
    """A file of wide rows."""
    rows = wide_rows(ROWS)
    file = files.write(FileKind.BASE, rows, row_group_size=request.param, store_schema=False)
    assert file.size_bytes < ROWS * WIDE / 100
    return group(task(file))


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        pytest.param(None, ROWS, id="every row"),
        pytest.param(
            ColumnTest(op=Op.GT, field_id=2, column="text", literal="1"), ROWS * 2 // 3, id="filter"
        ),
    ],
)
def test_memory_of_a_read_does_not_follow_the_width_of_its_rows(
    one_file: NodeTaskGroup, files: LocalFiles, test: ColumnTest | None, expected: int
) -> None:
    """In batches of as many rows as are allowed all of them would be one."""
    with counted() as pool:
        rows = 0
        for batch in read_batches(files, one_file, test):
            assert batch.nbytes <= 1.1 * BATCH_BYTES
            rows += len(batch)
            del batch

    assert expected == rows
    assert pool.max_memory() < MOST_BYTES


def read_batches(
    files: LocalFiles, wanted: NodeTaskGroup, test: ColumnTest | None = None
) -> Iterator[pa.RecordBatch]:
    """Read as a task does."""
    return read_group(wanted, replace(request(), row_filter=test, batch_rows=65_536), files.open)


def test_small_files_of_wide_rows_are_read_one_after_the_other(files: LocalFiles) -> None:
    """Each is a few bytes on disk, and many of them are read as if they were one."""
    schema = pa.schema([*TABLE, field("_file_offset", pa.int64(), 2147482645)])
    count, rows = LEAST_FILES + 2, 700
    inserts = [
        files.write(
            FileKind.INSERT,
            wide_rows(rows, schema, _file_offset=pa.array(range(rows), pa.int64())),
            transaction_id=at + 1,
            store_schema=False,
            compression="zstd",
        )
        for at in range(count)
    ]
    with counted() as pool:
        found = sum(len(batch) for batch in read_batches(files, group(task(*inserts))))

    assert found == count * rows
    assert pool.max_memory() < MOST_BYTES


@pytest.mark.parametrize(
    ("column", "options", "least", "most"),
    [
        pytest.param(["x" * 1_000] * 500, {}, 1_000, 1_010, id="bounds tell it"),
        pytest.param([str(at) for at in range(500)], {}, 3, 8, id="short ones"),
        pytest.param(["x" * 9_000] * 500, {}, 9_000, 9_010, id="too long for bounds"),
        pytest.param(
            ["x" * 9_000] * 500,
            {"write_statistics": False, "compression": "zstd", "write_page_checksum": True},
            9_000,
            9_010,
            id="no bounds",
        ),
        pytest.param(["x" * 9_000] * 500, {"use_dictionary": False}, 9_000, 9_050, id="plain"),
        pytest.param(
            ["x" * 64] * 499 + ["y" * 9_000], {}, 64, 9_000, id="bounds that may have been cut"
        ),
        pytest.param(
            ["x" * 1_000] * 500,
            {"use_dictionary": False, "column_encoding": {"c": "DELTA_BYTE_ARRAY"}},
            1_000,
            1_010,
            id="beginnings are shared",
        ),
        pytest.param(
            [sha256(bytes(at)).hexdigest() for at in range(500)],
            {"use_dictionary": False, "column_encoding": {"c": "DELTA_BYTE_ARRAY"}},
            64,
            150,
            id="as long as cut bounds, and nothing is shared",
        ),
        pytest.param(
            ["x" * 9_000] * 500,
            {"use_dictionary": False, "column_encoding": {"c": "DELTA_BYTE_ARRAY"}},
            9_000,
            10_000,
            id="beginnings are shared, too long for bounds",
        ),
        pytest.param([None] * 500, {}, 0, 2, id="nulls"),
        pytest.param([None] * 250 + ["x" * 9_000] * 250, {}, 9_000, 9_010, id="half of them null"),
        pytest.param(list(range(500)), {}, 8, 9, id="numbers"),
        pytest.param([[7] * 10] * 500, {}, 80, 81, id="lists"),
        pytest.param([b"x" * 500] * 500, {"type": pa.binary(500)}, 500, 501, id="fixed"),
    ],
)
def test_the_width_of_a_row_is_told_beforehand(
    tmp_path: Path, column: list[Any], options: dict[str, Any], least: int, most: int
) -> None:
    """However its values are stored."""
    values = pa.array(column, options.pop("type", None))
    values = values.cast(pa.string()) if pa.types.is_null(values.type) else values
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"other": range(500), "c": values}), path, **options)
    with pa.OSFile(str(path)) as file:
        metadata = pq.read_metadata(str(path))
        leaves = leaves_of(metadata.schema.to_arrow_schema(), ["c"])
        assert least <= row_bytes(metadata, [0], leaves, file) <= most + 1


@pytest.mark.parametrize(
    ("column", "is_told"),
    [
        pytest.param([str(at) for at in range(10)], True, id="short ones"),
        pytest.param(["x" * 1_000] * 9 + [None], True, id="one that repeats"),
        pytest.param([10**12] * 10, True, id="numbers"),
        pytest.param(["x" * 200_000] * 10, False, id="few bytes that become many"),
        pytest.param([[7] * 1_000_000] * 10, False, id="lists of what repeats"),
    ],
)
def test_of_few_bytes_it_is_known_without_a_look_at_each_column(
    tmp_path: Path, column: list[Any], is_told: bool
) -> None:
    """And no row is longer than what is told."""
    rows = pa.table({"c": pa.array(column)})
    pq.write_table(rows, tmp_path / "one.parquet", compression="zstd")
    metadata = pq.read_metadata(tmp_path / "one.parquet")
    bound = bound_of_few(metadata, [0], nests=nests(rows.schema))
    assert (bound is not None) == is_told
    if bound is not None:
        assert max(len(str(value or "")) for value in column) <= bound

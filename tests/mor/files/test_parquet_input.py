"""Batches of one file: which row groups are read together, and which rows they are."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.mor.batch import decoded
from arctic.mor.files import asked_ranges
from arctic.mor.files import parquet_input as module
from arctic.mor.files.asked_ranges import runs
from arctic.mor.files.parquet_input import ParquetInput
from arctic.table.files import FileKind
from tests.mor.local_files import LocalFiles

ROWS, GROUP_ROWS = 23, 4
GROUPS = range(6)
GROUP_TEXTS = 1_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of six row groups whose row ``n`` has id ``n``."""
    files = LocalFiles(tmp_path_factory.mktemp("input"))
    rows = [{"id": at, "text": "x" * at} for at in range(ROWS)]
    return files.base(rows, row_group_size=GROUP_ROWS).path


@given(
    wanted=st.sets(st.sampled_from(GROUPS)),
    names=st.sampled_from([[], ["id"], ["text", "id"]]),
    batch_rows=st.integers(1, 30),
    run_bytes=st.sampled_from([1, 300, 2**20]),
    whole=st.booleans(),
)
def test_every_batch_knows_its_first_row(
    path: str, wanted: set[int], names: list[str], batch_rows: int, run_bytes: int, whole: bool
) -> None:
    """Whichever row groups are left out, however many are read together, in one piece or not."""
    opened: list[pa.NativeFile] = []

    def open_file(name: str) -> pa.NativeFile:
        opened.append(pa.OSFile(name))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asked_ranges, "RUN_BYTES", run_bytes)
        if not whole:
            patch.setattr(module, "GUESS_BYTES", 0)
        parquet = ParquetInput(path, open_file)
        assert opened[-1].closed == whole
        found: list[int] = []
        for first_row, batch in parquet.batches(names, sorted(wanted), batch_rows):
            assert 1 <= batch.num_rows <= batch_rows
            numbers = range(first_row, first_row + batch.num_rows)
            found.extend(numbers)
            if "id" in names:
                assert batch.column("id").to_pylist() == list(numbers)
        parquet.close()
    assert found == [at for at in range(ROWS) if at // GROUP_ROWS in wanted]


def test_row_groups_are_read_together_up_to_a_size(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory stays at one run; neighbours across a gap are two."""
    with ParquetInput(path, pa.OSFile) as parquet:
        sizes = [parquet.metadata.row_group(at).total_byte_size for at in GROUPS]
        found = runs(parquet.metadata, [0, 1, 3, 4, 5])
        assert [(run.row_groups, run.first_row) for run in found] == [((0, 1), 0), ((3, 4, 5), 12)]
        monkeypatch.setattr(asked_ranges, "RUN_BYTES", max(sizes))
        found = runs(parquet.metadata, GROUPS)
        assert [run.row_groups for run in found] == [(at,) for at in GROUPS]


def test_leaves_are_counted_through_nested_columns(tmp_path: Path) -> None:
    """A top-level name finds its own statistics, also beside nested columns."""
    table = pa.table(
        {
            "s.a": [1],
            "s": [{"a": 2, "b": {"c": 3}}],
            "m": pa.array([[("k", [1])]], pa.map_(pa.string(), pa.list_(pa.int64()))),
            "last": [4],
        }
    )
    files = LocalFiles(tmp_path)
    file = files.write(FileKind.BASE, table)
    with ParquetInput(file.path, files.open) as parquet:
        found = [parquet.leaf_column(name) for name in (*table.column_names, "absent")]
    assert found == [0, None, None, 5, None]


def test_texts_that_repeat_come_as_dictionaries_if_asked(tmp_path: Path) -> None:
    """The same values in the same batches; texts that do not repeat are not told as such."""
    count = 3 * GROUP_TEXTS
    cities = [None if at % 7 == 0 else f"city {at % 5}" for at in range(count)]
    rows = [{"id": at, "text": f"row {at}", "city": city} for at, city in enumerate(cities)]
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("city", pa.string())])
    file = LocalFiles(tmp_path).base(rows, schema=schema, row_group_size=GROUP_TEXTS)

    with ParquetInput(file.path, pa.OSFile) as parquet:
        assert parquet.repeating(schema.names, [0, 2]) == ["city"]
        plain = list(parquet.batches(["id", "city"], [0, 2], 300))
        encoded = list(parquet.batches(["id", "city"], [0, 2], 300, encoded=["city"]))

    assert {batch.column("city").type for _, batch in encoded} == {
        pa.dictionary(pa.int32(), pa.string())
    }
    assert [(row, decoded(batch, schema).to_pylist()) for row, batch in encoded] == [
        (row, batch.to_pylist()) for row, batch in plain
    ]


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_texts_that_cannot_come_as_dictionaries_come_as_texts(
    tmp_path: Path, encoding: str
) -> None:
    """Arrow makes none of what other writers encode so; few values in many rows are small too."""
    cities = [None] * 500 + ["city"] * 3
    file = LocalFiles(tmp_path).write(
        FileKind.BASE,
        pa.table({"city": cities}),
        use_dictionary=False,
        column_encoding={"city": encoding},
    )

    with ParquetInput(file.path, pa.OSFile) as parquet:
        assert parquet.repeating(["city"], [0]) == []
        parquet.keep_encoded("city")
        (found,) = parquet.batches(["city"], [0], len(cities))

    assert found[1].column("city").to_pylist() == cities

"""Loads out of Parquet files by tasks that read row groups themselves, and what they are not."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.parquet import encryption

import arctic
from arctic.errors import StorageError
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.loads.file_shares import FileShare, WholeFiles
from arctic.job.write.loads.rising_files import (
    divided,
    in_order_of_keys,
    may_rise,
    rising_shares,
)
from arctic.job.write.loads.source_footers import KeyedGroup
from arctic.job.write.loads.write_rising import write_rising
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.table.filename import parse_base_name
from arctic.tree.key_hash import hash_key

NAME = "m.t"
_ANY_SIZE = {"self-optimizing.target-size": "16b"}
"""No file is a fragment then, so there are three tasks for each core."""
_RUNNER = LocalRunner(3)
_START = datetime(1890, 1, 1, tzinfo=timezone.utc)


def _write(folder: Path, *files: pa.Table, group_rows: int = 4, **how: Any) -> WholeFiles:
    """Write tables as files; several row groups in each."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number}.parquet" for number in range(len(files))]
    for path, table in zip(paths, files, strict=True):
        pq.write_table(table, path, row_group_size=group_rows, **how)
    size_bytes = sum(path.stat().st_size for path in paths)
    return WholeFiles(paths=tuple(map(str, paths)), size_bytes=size_bytes)


def _begin(folder: Path, columns: pa.Schema, key: Sequence[str], **options: str) -> WriteJob:
    """Begin an overwrite of a table, which is made of such columns if it is not there."""
    warehouse = str(folder / "lake")
    if not (folder / "lake").exists():
        arctic.create_table(
            NAME, columns, primary_key=key, properties=_ANY_SIZE, warehouse=warehouse
        )
    given_options = {"path": NAME, "warehouse": warehouse, **options}
    return begin_write(AskedWrite.of(given_options, overwrite=True), columns)


def _shares(job: WriteJob, files: WholeFiles, columns: pa.Schema) -> tuple[FileShare, ...] | None:
    return rising_shares(job, files, columns, parallelism=1)


def _numbers(*ids: int | None) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "text": [f"of {each}" for each in ids]})


def _written(folder: Path) -> list[Path]:
    return list((folder / "lake").rglob("*-B-*.parquet"))


_RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=6)


@given(ranges=_RANGES, files=st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_ranges_are_in_order_or_have_something_in_common(
    ranges: list[tuple[int, int]], files: list[int]
) -> None:
    """Whatever order they are given in, and only neighbours of a file may share their ends."""
    groups = [
        KeyedGroup(file=file, number=number, rows=1, least=least, greatest=least + more)
        for number, ((least, more), file) in enumerate(zip(ranges, files, strict=False))
    ]
    ordered = in_order_of_keys(groups)

    meet = [
        (one, other)
        for one in groups
        for other in groups
        if one.number < other.number and one.least <= other.greatest and other.least <= one.greatest
    ]
    if not meet:
        assert ordered is not None
    if ordered is not None:
        assert sorted(ordered, key=groups.index) == groups
        assert all(before.greatest <= after.least for before, after in pairwise(ordered))
        assert all(
            one.file == other.file and (one.greatest == other.least or one.least == one.greatest)
            for one, other in meet
        )


@given(rows=st.lists(st.integers(1, 50), min_size=1, max_size=20), most=st.integers(1, 6))
def test_row_groups_are_divided_into_runs(rows: list[int], most: int) -> None:
    """All of them, in order, and none has much more than its part."""
    groups = [
        KeyedGroup(file=0, number=number, rows=count, least=number, greatest=number)
        for number, count in enumerate(rows)
    ]

    shares = divided(groups, most)

    assert [each for share in shares for each in share] == groups
    assert 1 <= len(shares) <= most
    assert all(shares)
    for share in shares:
        assert sum(each.rows for each in share) <= sum(rows) / most + max(rows)


_KEYS: dict[str, list[Any]] = {
    "int32": [-(2**31), *range(-20, 20), 2**31 - 1],
    "int64": [-(2**63), *range(-20, 20), 2**63 - 1],
    "string": sorted((f"{number:x}" for number in range(30)), key=lambda text: text.encode()),
    "letters": ["", "a", "a b", "z", "é", "中", "\U0001f600"],
    "date32[day]": [date(1, 1, 1), *(date(1969, 12, day) for day in range(1, 31))],
    "timestamp[us, tz=UTC]": [_START + timedelta(days=900 * each) for each in range(60)],
    "decimal128(9, 2)": [Decimal(each) / 100 for each in range(-30, 30)],
}


@pytest.mark.parametrize("kind", _KEYS)
def test_rows_are_in_the_nodes_of_their_keys(tmp_path: Path, kind: str) -> None:
    """For each type of key: all rows, each where a look-up of its key looks."""
    keys = _KEYS[kind]
    types = {"letters": pa.string(), "timestamp[us, tz=UTC]": pa.timestamp("us", "UTC")}
    types |= {"date32[day]": pa.date32(), "decimal128(9, 2)": pa.decimal128(9, 2)}
    column = pa.array(keys, types.get(kind) or pa.type_for_alias(kind))
    rows = pa.table({"id": column, "number": list(range(len(keys)))})
    half = len(keys) // 2
    # Spark's own files have small decimals as whole numbers, and these have ranges in footers.
    how = {"store_decimal_as_integer": True}
    files = _write(tmp_path / "in", rows.slice(half), rows.slice(0, half), **how)
    job = _begin(tmp_path, rows.schema, ["id"])
    shares = _shares(job, files, rows.schema)

    assert shares is not None
    assert len(shares) in (2, 3)
    assert write_rising(job, shares, _RUNNER)

    read = arctic.read(NAME, warehouse=str(tmp_path / "lake")).read_all().sort_by("number")
    assert read.to_pydict() == rows.to_pydict()
    (key_type,) = job.target.key_types
    for path in _written(tmp_path):
        node = parse_base_name(str(path)).node
        written = pq.read_table(path).column("id")
        plain = {pa.date32(): pa.int32(), pa.timestamp("us", "UTC"): pa.int64()}
        for key in written.cast(plain.get(written.type, written.type)).to_pylist():
            assert hash_key([key], [key_type]) & node.mask == node.index


def test_row_groups_may_share_the_first_column_of_a_key(tmp_path: Path) -> None:
    """The lines of an order go on in the next row group; all columns together rise."""
    orders = pa.table({"order": [n // 3 for n in range(40)], "line": [n % 3 for n in range(40)]})
    columns = pa.schema([field.with_nullable(False) for field in orders.schema])
    files = _write(tmp_path / "in", orders)
    job = _begin(tmp_path, columns, ["order", "line"])
    shares = _shares(job, files, columns)

    assert shares is not None
    assert write_rising(job, shares, _RUNNER)

    assert arctic.read(NAME, warehouse=str(tmp_path / "lake")).read_all().num_rows == 40


def test_row_groups_of_a_file_may_lie_in_another_order(tmp_path: Path) -> None:
    """The first one in the file has the greatest keys; they are read in that of the keys."""
    rows = _numbers(*range(8, 12), *range(4, 8), *range(4))
    job = _begin(tmp_path, rows.schema, ["id"], **{"max-write-tasks": "1"})
    shares = _shares(job, _write(tmp_path / "in", rows), rows.schema)

    assert shares is not None
    assert [share.parts[0][2] for share in shares] == [(2, 1, 0)]
    assert write_rising(job, shares, _RUNNER)

    read = arctic.read(NAME, warehouse=str(tmp_path / "lake")).read_all()
    assert sorted(read["id"].to_pylist()) == [*range(12)]


def test_a_task_may_have_a_single_row(tmp_path: Path) -> None:
    """Its first key is its last one."""
    rows = _numbers(*range(9))
    files = _write(tmp_path / "in", rows, group_rows=8)
    job = _begin(tmp_path, rows.schema, ["id"])
    shares = _shares(job, files, rows.schema)

    assert shares is not None
    assert [share.rows for share in shares] == [8, 1]
    assert write_rising(job, shares, _RUNNER)

    read = arctic.read(NAME, warehouse=str(tmp_path / "lake")).read_all()
    assert read.sort_by("id").to_pydict() == rows.to_pydict()


def test_instants_in_96_bits_are_those_of_spark(tmp_path: Path) -> None:
    """To the microsecond, in every year."""
    days = (date(1, 1, 1), date(2024, 5, 6), date(9999, 12, 31))
    clock = time(7, 8, 9, 123_456, tzinfo=timezone.utc)
    times = [datetime.combine(day, clock) for day in days]
    at = pa.array(times, pa.timestamp("us", "UTC"))
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "at": at})
    files = _write(tmp_path / "in", rows, use_deprecated_int96_timestamps=True)
    job = _begin(tmp_path, rows.schema, ["id"])
    shares = _shares(job, files, rows.schema)

    assert shares is not None
    assert write_rising(job, shares, _RUNNER)

    read = arctic.read(NAME, warehouse=str(tmp_path / "lake")).read_all().sort_by("id")
    assert read.column("at").to_pylist() == rows.column("at").to_pylist()
    local = pa.schema([rows.schema.field("id"), pa.field("at", pa.timestamp("us"))])
    assert _shares(job, files, local) is None


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param([2, 1, 3, 4, 5, 6], id="falling"),
        pytest.param([1, 2, 2, 5], id="a key in two rows"),
        pytest.param([1, 2, None, 5], id="a null"),
        # The row groups [1, 4] and [4, 7].
        pytest.param([1, 2, 3, 4, 4, 5, 6, 7], id="a key in two row groups"),
    ],
)
def test_other_rows_are_left_alone(tmp_path: Path, ids: list[int | None]) -> None:
    """Nothing is written or committed, and nothing stays behind."""
    rows = _numbers(*ids)
    columns = rows.schema
    files = _write(tmp_path / "in", rows)
    job = _begin(tmp_path, columns, ["id"])
    shares = _shares(job, files, columns)

    assert shares is not None
    assert not write_rising(job, shares, _RUNNER)

    assert not _written(tmp_path)
    snapshots = arctic.read(f"{NAME}.snapshots", warehouse=str(tmp_path / "lake"))
    assert not snapshots.read_all().num_rows


def test_keys_must_rise_from_one_task_to_the_next(tmp_path: Path) -> None:
    """Footers that lie are found out: here the tasks are in another order than their keys."""
    rows = _numbers(*range(24))
    job = _begin(tmp_path, rows.schema, ["id"])
    shares = _shares(job, _write(tmp_path / "in", rows), rows.schema)
    assert shares is not None
    assert len(shares) == 3

    assert not write_rising(job, shares[::-1], _RUNNER)

    assert not _written(tmp_path)


def test_a_refused_row_is_left_to_those_who_name_it(tmp_path: Path) -> None:
    """A null where the table takes none."""
    rows = pa.table({"id": pa.array(range(24), pa.int64()), "text": [None] * 24})
    rows = rows.cast(pa.schema([rows.schema.field("id"), pa.field("text", pa.string())]))
    columns = pa.schema([rows.schema.field("id"), pa.field("text", pa.string(), nullable=False)])
    arctic.create_table(
        NAME, columns, primary_key=["id"], properties=_ANY_SIZE, warehouse=str(tmp_path / "lake")
    )
    job = _begin(tmp_path, rows.schema, ["id"])
    shares = _shares(job, _write(tmp_path / "in", rows), rows.schema)

    assert shares is not None
    assert not write_rising(job, shares, _RUNNER)
    assert not _written(tmp_path)


def test_a_file_that_is_replaced_meanwhile_is_not_read(tmp_path: Path) -> None:
    """Its row groups would be others than those that were planned."""
    rows = _numbers(*range(24))
    files = _write(tmp_path / "in", rows)
    job = _begin(tmp_path, rows.schema, ["id"])
    shares = _shares(job, files, rows.schema)
    assert shares is not None

    _write(tmp_path / "in", _numbers(*range(30)))
    assert not write_rising(job, shares, _RUNNER)
    assert _shares(job, files, rows.schema) is None
    Path(files.paths[0]).unlink()
    assert _shares(job, files, rows.schema) is None
    with pytest.raises(StorageError, match=r"0\.parquet"):
        write_rising(job, shares, _RUNNER)

    assert not _written(tmp_path)


def test_ranges_in_common_are_not_tried(tmp_path: Path) -> None:
    """Two files of one order; or no ranges are known."""
    odd, even = _numbers(*range(1, 24, 2)), _numbers(*range(0, 24, 2))
    job = _begin(tmp_path, odd.schema, ["id"])

    assert _shares(job, _write(tmp_path / "in", odd, even), odd.schema) is None
    untold = _write(tmp_path / "untold", odd, write_statistics=False)
    assert _shares(job, untold, odd.schema) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pa.large_string(), id="of another type"),
        pytest.param(pa.dictionary(pa.int32(), pa.string()), id="encoded"),
        pytest.param(pa.timestamp("ns"), id="of nanoseconds"),
        pytest.param(pa.list_(pa.string()), id="nested"),
        pytest.param(None, id="missing"),
    ],
)
def test_columns_that_spark_may_read_otherwise_are_left_to_it(
    tmp_path: Path, text: pa.DataType | None
) -> None:
    """Of the files of a frame the types are exactly its own."""
    rows = _numbers(*range(8))
    odd = pa.table({"id": rows["id"]})
    if text is not None:
        odd = odd.append_column("text", pa.nulls(8, text))
    job = _begin(tmp_path, rows.schema, ["id"])

    assert _shares(job, _write(tmp_path / "plain", rows), rows.schema) is not None
    assert _shares(job, _write(tmp_path / "in", rows, odd), rows.schema) is None
    nested = pa.schema([rows.schema.field("id"), pa.field("text", pa.list_(pa.string()))])
    assert _shares(job, _write(tmp_path / "in", odd), nested) is None


def test_names_that_differ_in_case_only_are_left_to_spark(tmp_path: Path) -> None:
    """It refuses to choose among them."""
    rows = _numbers(*range(8))
    job = _begin(tmp_path, rows.schema, ["id"])

    other = _write(tmp_path / "other", rows.append_column("more", rows["id"]))
    assert _shares(job, other, rows.schema) is not None
    alike = _write(tmp_path / "alike", rows.append_column("ID", rows["id"]))
    assert _shares(job, alike, rows.schema) is None


def test_files_with_encrypted_columns_are_left_to_spark(tmp_path: Path) -> None:
    """Anybody can read their footers, but Arrow ends the process when it meets such a column."""
    rows = _numbers(*range(8))
    path = tmp_path / "0.parquet"
    factory = encryption.CryptoFactory(_OpenKeys)
    way = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["id"]}, plaintext_footer=True
    )
    keys = factory.file_encryption_properties(encryption.KmsConnectionConfig(), way)
    with pq.ParquetWriter(path, rows.schema, encryption_properties=keys) as writer:
        writer.write_table(rows)
    job = _begin(tmp_path, rows.schema, ["id"])

    files = WholeFiles(paths=(str(path),), size_bytes=path.stat().st_size)
    assert _shares(job, files, rows.schema) is None


class _OpenKeys(encryption.KmsClient):  # type: ignore[misc]
    """Keeps no secret."""

    def __init__(self, _: Any) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, _: str) -> bytes:
        return b64encode(key_bytes)


@pytest.mark.parametrize(
    "note",
    [
        {"org.apache.spark.version": "2.4.8"},
        {"org.apache.spark.version": "3.0.3"},
        {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""},
        {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyINT96": ""},
    ],
)
def test_files_of_the_old_calendar_are_left_to_spark(tmp_path: Path, note: dict[str, str]) -> None:
    """It turns their days into those of today's calendar; 3.0 has written instants so."""
    rows = _numbers(*range(8))
    job = _begin(tmp_path, rows.schema, ["id"])

    now = rows.replace_schema_metadata({"org.apache.spark.version": "4.1.0"})
    assert _shares(job, _write(tmp_path / "now", now), rows.schema) is not None
    old = rows.replace_schema_metadata(note)
    assert _shares(job, _write(tmp_path / "old", old), rows.schema) is None


def test_files_of_another_store_are_left_to_spark(tmp_path: Path) -> None:
    """The access to a table's store is not that to any other."""
    rows = _numbers(*range(8))
    job = _begin(tmp_path, rows.schema, ["id"])
    files = _write(tmp_path / "in", rows)

    far = replace(files, paths=("s3://elsewhere/0.parquet",))
    assert _shares(job, far, rows.schema) is None
    assert _shares(job, replace(files, size_bytes=files.size_bytes + 1), rows.schema) is None
    assert _shares(job, replace(files, paths=()), rows.schema) is None


@pytest.mark.parametrize(
    ("key", "kind", "partition_by", "mode"),
    [
        pytest.param(["id"], pa.float64(), (), "overwrite", id="of floats"),
        pytest.param((), pa.int64(), (), "overwrite", id="without a key"),
        pytest.param(["id"], pa.int64(), ["id"], "overwrite", id="with partitions"),
        pytest.param(["id"], pa.int64(), (), "upsert", id="no overwrite"),
    ],
)
def test_other_writes_do_not_begin_so(
    tmp_path: Path, key: Sequence[str], kind: pa.DataType, partition_by: Sequence[str], mode: str
) -> None:
    """Zeros of floats have no order, rows of partitions have other tasks."""
    columns, warehouse = pa.schema([pa.field("id", kind)]), str(tmp_path)
    arctic.create_table(
        NAME, columns, primary_key=key, partition_by=partition_by, warehouse=warehouse
    )
    options = {"path": NAME, "warehouse": warehouse}
    asked = AskedWrite.of({**options, "write-mode": mode} if mode == "upsert" else options)
    if mode == "overwrite":
        asked = AskedWrite.of(options, overwrite=True)

    assert not may_rise(begin_write(asked, columns))


def test_few_tasks_write_no_fragments(tmp_path: Path) -> None:
    """Each has a file for every node; and no more of them than cores can begin."""
    rows = _numbers(*range(400))
    files = _write(tmp_path / "in", rows)
    job = _begin(tmp_path, rows.schema, ["id"])
    single = _begin(tmp_path, rows.schema, ["id"], **{"max-write-tasks": "1"})
    warehouse = str(tmp_path / "lake")
    arctic.create_table("m.large", rows.schema, primary_key=["id"], warehouse=warehouse)
    options = {"path": "m.large", "warehouse": warehouse}
    large = begin_write(AskedWrite.of(options, overwrite=True), rows.schema)

    def tasks(of: WriteJob, parallelism: int) -> int:
        shares = rising_shares(of, files, rows.schema, parallelism=parallelism)
        assert shares is not None
        return len(shares)

    assert tasks(job, 7) == 21
    assert tasks(single, 7) == 1
    assert tasks(large, 7) == 1

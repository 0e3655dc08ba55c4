"""Parquet files: sizes, budgets, footers, and what is left after a failure."""

from __future__ import annotations

import gc
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.errors import InvalidInputError, StorageError
from arctic.table.files import FileKind
from arctic.tree.node import ROOT, TreeNode
from arctic.writing.files import node_files as files
from arctic.writing.files.node_files import Destination, NodeFiles
from arctic.writing.rows.delete_rows import change_delete_schema, insert_schema
from arctic.writing.rows.gather import Picked
from arctic.writing.target import TaskId, WriteOptions, WriteTarget
from tests.writing.local_table import SCHEMA, LocalFiles, batch, make_target, new_task, write

BASE = Destination(partition=(), node=ROOT, kind=FileKind.BASE)


@dataclass(slots=True)
class WatchedFiles:
    """Local files, some of which fail."""

    fail_on: int | None = None
    """The n-th file, from 1, cannot be created."""
    created: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def create(self, path: str) -> Any:
        """Note the path; perhaps fail."""
        self.created.append(path)
        if len(self.created) == self.fail_on:
            raise OSError("disk is full")
        return LocalFiles().create(path)

    def delete(self, paths: Iterable[str]) -> None:
        """Note the paths and remove the files."""
        self.deleted += paths
        LocalFiles().delete(self.deleted)


def watched(folder: Path, watch: WatchedFiles, **options: Any) -> WriteTarget:
    """Return a target whose files are watched."""
    target = make_target(folder, **options)
    return replace(target, create_output=watch.create, delete_files=watch.delete)


def base_files(target: WriteTarget) -> NodeFiles:
    """Return files of a table, as a base writer has them."""
    return NodeFiles(target, new_task(), schemas={FileKind.BASE: target.schema}, transaction_id=0)


def random_rows(count: int, start: int = 0) -> pa.Table:
    """Return rows that compress badly."""
    numbers = np.arange(start, start + count)
    noise = np.random.default_rng(start).bytes(count)
    notes = [noise[i : i + 1].hex() * 5 for i in range(count)]
    return pa.table(
        [
            pa.array(numbers),
            pa.array(["eu"] * count),
            pa.array(numbers.astype(np.int32)),
            pa.array(notes),
        ],
        names=SCHEMA.names,
    )


def paths_below(folder: Path) -> list[Path]:
    """Return every file in a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_finished_files_hold_no_stream(tmp_path: Path) -> None:
    """A stream has a buffer, and thousands of files are finished before their task is."""
    streams: list[weakref.ref[Any]] = []

    def create(path: str) -> Any:
        stream = LocalFiles().create(path)
        streams.append(weakref.ref(stream))
        return stream

    rows = random_rows(10)
    writer = base_files(replace(make_target(tmp_path), create_output=create))
    places = [replace(BASE, node=TreeNode(3, index)) for index in range(4)]
    writer.add_whole(
        (place, Picked(source=rows, numbers=None, nbytes=rows.nbytes)) for place in places
    )

    gc.collect()
    assert [stream() for stream in streams] == [None] * 4
    assert len(writer.close()) == 4


def test_a_row_group_is_written_when_its_bytes_have_come(tmp_path: Path) -> None:
    """Not before; the handle is opened then."""
    watch = WatchedFiles()
    rows = random_rows(100)
    writer = base_files(watched(tmp_path, watch, row_group_bytes=3 * rows.nbytes))

    writer.add(BASE, rows)
    assert watch.created == []
    for _ in range(5):
        writer.add(BASE, rows)
    (file,) = writer.close()

    metadata = pq.read_metadata(file.path)
    assert [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)] == [300, 300]
    assert file.record_count == 600
    assert file.size_bytes == Path(file.path).stat().st_size


def test_a_row_group_has_no_more_rows_than_allowed(tmp_path: Path) -> None:
    """However few bytes they have."""
    writer = base_files(make_target(tmp_path, row_group_rows=150))

    writer.add(BASE, random_rows(400))
    (file,) = writer.close()

    metadata = pq.read_metadata(file.path)
    groups = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
    assert groups == [134, 134, 132]


def test_row_groups_end_where_other_rows_come(tmp_path: Path) -> None:
    """Rows that came together may have no order among them; only those of one are cut."""
    rows = random_rows(200)
    writer = base_files(make_target(tmp_path, row_group_bytes=rows.nbytes))

    for count in (180, 250, 40, 600):
        writer.add(BASE, random_rows(count))
    (file,) = writer.close()

    metadata = pq.read_metadata(file.path)
    groups = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
    assert groups == [180, 250, 40, 200, 200, 200]


def test_the_largest_destination_is_written_when_the_budget_is_spent(tmp_path: Path) -> None:
    """The others wait on."""
    watch = WatchedFiles()
    rows = random_rows(100)
    writer = base_files(watched(tmp_path, watch, buffer_bytes=4 * rows.nbytes + 14_000))
    small, large = (replace(BASE, node=TreeNode(1, index)) for index in (0, 1))

    writer.add(small, rows)
    for number in range(4):
        writer.add(large, random_rows(100, number))

    assert [Path(path).name.split("-")[0] for path in watch.created] == ["3"]
    assert {file.node: file.record_count for file in writer.close()} == {
        small.node: 100, large.node: 400,
    }  # fmt: skip


def test_a_file_is_rolled_above_the_target_size(tmp_path: Path) -> None:
    """Each but the last has reached it; rows stay in order, names are counted."""
    target = make_target(tmp_path, target_file_bytes=2_000, row_group_bytes=2_000)
    writer = base_files(target)

    for number in range(10):
        writer.add(BASE, random_rows(50, 50 * number))
    written = writer.close()

    assert len(written) > 2
    assert all(file.size_bytes >= 2_000 for file in written[:-1])
    ids = [row for file in written for row in pq.read_table(file.path)["id"].to_pylist()]
    assert ids == list(range(500))
    counts = [int(file.path.rsplit("-", 1)[1].removesuffix(".parquet")) for file in written]
    assert counts == list(range(1, len(written) + 1))


def test_no_more_files_are_open_than_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was written to longest ago is completed; its next rows go to another."""
    monkeypatch.setattr(files, "_MAX_OPEN_FILES", 2)
    rows = random_rows(10)
    writer = base_files(make_target(tmp_path, row_group_bytes=rows.nbytes))
    first, second, third = (replace(BASE, node=TreeNode(3, index)) for index in range(3))

    for destination in (first, second, first, third, second):
        writer.add(destination, rows)
    found = writer.close()

    # The second had waited longest when the third came, then the first when the second came back.
    assert [(file.node.index, file.record_count) for file in found] == [
        (1, 10), (0, 20), (2, 10), (1, 10),
    ]  # fmt: skip


def test_closing_holds_one_handle_at_a_time(tmp_path: Path) -> None:
    """However many destinations still wait."""
    watch = WatchedFiles()
    open_now = []

    def create(path: str) -> Any:
        open_now.append(sum(not sink.closed for sink in sinks))
        sinks.append(watch.create(path))
        return sinks[-1]

    sinks: list[Any] = []
    writer = base_files(replace(make_target(tmp_path), create_output=create))
    for index in range(4):
        writer.add(replace(BASE, node=TreeNode(3, index)), random_rows(3))

    assert len(writer.close()) == 4
    assert open_now == [0, 0, 0, 0]


def test_rows_that_come_at_once_are_still_cut(tmp_path: Path) -> None:
    """A gathered input is one large table: row groups and files keep their sizes."""
    target = make_target(tmp_path, target_file_bytes=4_000, row_group_bytes=5_000)
    writer = base_files(target)

    writer.add(BASE, random_rows(1000))
    written = writer.close()

    assert len(written) > 1
    assert sum(file.record_count for file in written) == 1000
    assert all(file.size_bytes < 20_000 for file in written)


def test_the_footer_tells_columns_ids_and_bounds(tmp_path: Path) -> None:
    """It is a Parquet file without rows, small, readable without the data."""
    writer = base_files(make_target(tmp_path))
    writer.add(BASE, random_rows(100))
    (file,) = writer.close()

    footer = pq.read_metadata(pa.BufferReader(file.footer))

    assert footer.num_rows == 100
    first = footer.row_group(0).column(0)
    assert (first.path_in_schema, first.statistics.min, first.statistics.max) == ("id", 0, 99)
    schema = footer.schema.to_arrow_schema().remove_metadata()
    assert schema.equals(SCHEMA, check_metadata=True)
    assert (
        first.total_compressed_size
        == pq.read_metadata(file.path).row_group(0).column(0).total_compressed_size
    )
    assert len(file.footer) < 2_000


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"])
def test_every_codec_of_the_option_writes(tmp_path: Path, codec: str) -> None:
    """The option's names, not pyarrow's."""
    writer = base_files(make_target(tmp_path, compression=codec))
    writer.add(BASE, random_rows(10))
    (file,) = writer.close()

    column = pq.read_metadata(file.path).row_group(0).column(0)
    assert column.compression == codec.upper()
    assert pq.read_table(file.path).num_rows == 10


@pytest.mark.parametrize(
    ("codec", "level", "message"),
    [
        ("snappy", 3, "it has no levels"),
        ("uncompressed", 1, "it has no levels"),
        ("zstd", 23, "to 22"),
        ("gzip", 0, "expected 1 to 9"),
    ],
)
def test_a_level_that_the_codec_lacks_is_refused(
    tmp_path: Path, codec: str, level: int, message: str
) -> None:
    """Before the first row."""
    table = make_target(tmp_path).table
    options = {"write.parquet.compression-codec": codec}

    with pytest.raises(InvalidInputError, match=message):
        WriteOptions.of(options | {"write.parquet.compression-level": str(level)}, table)
    assert WriteOptions.of(options, table).compression_level is None


def test_a_level_compresses_more(tmp_path: Path) -> None:
    """It reaches the writer."""
    sizes = []
    for level in (1, 19):
        writer = base_files(make_target(tmp_path, compression_level=level))
        writer.add(BASE, random_rows(20_000))
        sizes.append(writer.close()[0].size_bytes)

    assert sizes[1] < sizes[0]


def test_texts_with_wide_offsets_are_written_as_plain_ones(tmp_path: Path) -> None:
    """A large gather holds them so."""
    writer = base_files(make_target(tmp_path))
    rows = random_rows(10)
    writer.add(BASE, rows.set_column(3, "note", rows["note"].cast(pa.large_string())))
    (file,) = writer.close()

    assert pq.read_table(file.path).to_pydict() == rows.to_pydict()
    assert pq.read_schema(file.path).field("note").type == pa.string()


@settings(max_examples=25, deadline=None)
@given(
    pieces=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), max_size=30),
    target_file_bytes=st.sampled_from([1, 2_000, 2**27]),
    row_group_bytes=st.sampled_from([500, 3_000, 2**20]),
    max_open=st.sampled_from([1, 3, 256]),
    whole=st.booleans(),
    few=st.sampled_from([0, 60, 1 << 16]),
)
def test_threads_write_the_same_files(
    pieces: list[tuple[int, int]],
    target_file_bytes: int,
    row_group_bytes: int,
    max_open: int,
    whole: bool,
    few: int,
) -> None:
    """In the same order, with the same names and bytes, however they are cut and closed."""
    found = []
    for threads in (1, 2, 5):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "_MAX_OPEN_FILES", max_open)
            patch.setattr(files, "_FEW_ROWS", few)
            patch.setattr(files, "_FEW_BYTES", 20 * few)
            target = make_target(
                Path(folder),
                target_file_bytes=target_file_bytes,
                row_group_bytes=row_group_bytes,
                threads=threads,
            )
            task = TaskId(partition_id=0, task_id=0, operation_id=1)
            writer = NodeFiles(
                target, task, schemas={FileKind.BASE: target.schema}, transaction_id=0
            )
            parts = [(replace(BASE, node=TreeNode(7, node)), n) for node, n in pieces]
            if whole:
                lengths = dict(parts)
                writer.add_whole(
                    [
                        (place, Picked.by_number(random_rows(50), np.arange(count)))
                        for place, count in lengths.items()
                    ]
                )
            else:
                writer.add_made(
                    [place for place, _ in parts],
                    [
                        partial(random_rows, count, number)
                        for number, (_, count) in enumerate(parts)
                    ],
                    rows=sum(count for _, count in parts),
                )
            found.append(
                [
                    (Path(file.path).name, file.record_count, file.size_bytes, file.footer,
                     Path(file.path).read_bytes())
                    for file in writer.close()
                ]
            )  # fmt: skip
            expected = sum(lengths.values()) if whole else sum(count for _, count in parts)
            assert sum(count for _, count, *_ in found[-1]) == expected
    assert found[1:] == found[:1] * 2


def test_all_rows_of_a_destination_are_written_in_their_order(tmp_path: Path) -> None:
    """Also over several files."""
    rows = random_rows(1_000)
    target = make_target(tmp_path, row_group_bytes=3_000, target_file_bytes=3_000, threads=2)
    writer = base_files(target)
    parts = {replace(BASE, node=TreeNode(1, index)): np.arange(index, 1_000, 2) for index in (0, 1)}

    writer.add_whole([(place, Picked.by_number(rows, numbers)) for place, numbers in parts.items()])
    written = writer.close()

    assert len(written) >= 4
    for place, numbers in parts.items():
        mine = [file for file in written if file.node == place.node]
        mine.sort(key=lambda file: int(file.path.rsplit("-", 1)[1].removesuffix(".parquet")))
        ids = [row for file in mine for row in pq.read_table(file.path)["id"].to_pylist()]
        assert ids == numbers.tolist()


@pytest.mark.parametrize("fail_on", [1, 2, 5])
def test_a_failure_in_a_thread_removes_the_files(tmp_path: Path, fail_on: int) -> None:
    """Of all destinations; whoever adds or closes hears of it."""
    watch = WatchedFiles(fail_on=fail_on)
    writer = base_files(watched(tmp_path, watch, row_group_bytes=100, threads=2))

    def write_all() -> None:
        for number in range(40):
            writer.add(replace(BASE, node=TreeNode(7, number % 8)), random_rows(10, number))
        writer.close()

    with pytest.raises(StorageError, match=r"data file '.*' could not be written: disk is full"):
        write_all()
    writer.abort()

    assert paths_below(tmp_path) == []
    assert writer.close() == ()


def test_a_failed_task_removes_its_files(tmp_path: Path) -> None:
    """Finished and open ones; the error names the file that could not be made."""
    watch = WatchedFiles(fail_on=3)
    size = random_rows(10).nbytes
    target = watched(tmp_path, watch, row_group_bytes=size, target_file_bytes=1)
    writer = base_files(target)
    writer.add(BASE, random_rows(10))
    writer.add(replace(BASE, node=TreeNode(1, 0)), random_rows(10))

    with pytest.raises(StorageError, match=r"data file '.*' could not be written: disk is full"):
        writer.add(BASE, random_rows(10))
    assert len(paths_below(tmp_path)) == 2
    writer.abort()

    assert paths_below(tmp_path) == []
    assert writer.close() == ()


def test_an_abort_closes_what_is_open(tmp_path: Path) -> None:
    """A half-written file goes too."""
    watch = WatchedFiles()
    writer = base_files(watched(tmp_path, watch, row_group_bytes=100))
    writer.add(BASE, random_rows(10))
    assert len(paths_below(tmp_path)) == 1

    writer.abort()

    assert paths_below(tmp_path) == []
    assert watch.deleted == watch.created


def test_an_abort_reports_no_failure_of_its_own(tmp_path: Path) -> None:
    """What led to it is the error to see."""

    def refuse(paths: Iterable[str]) -> None:
        raise OSError("gone")

    target = replace(make_target(tmp_path, row_group_bytes=100), delete_files=refuse)
    writer = base_files(target)
    writer.add(BASE, random_rows(10))

    writer.abort()


def test_change_files_have_the_offset_last_and_deletes_nullable_columns(tmp_path: Path) -> None:
    """Field ids everywhere; in a delete file all but the key may be null."""
    target = make_target(tmp_path)
    row = {"id": 1, "region": "eu", "amount": 3, "note": "n"}
    written = write(target, [batch([row])], mode="upsert").files

    found = {file.kind: pq.read_schema(file.path).remove_metadata() for file in written}

    assert found[FileKind.INSERT].equals(insert_schema(target), check_metadata=True)
    assert found[FileKind.CHANGE_DELETE].equals(change_delete_schema(target), check_metadata=True)
    for schema, required in (
        (found[FileKind.INSERT], ["id", "amount"]),
        (found[FileKind.CHANGE_DELETE], ["id"]),
    ):
        assert [column.name for column in schema if not column.nullable] == required
        offset = schema.field(len(schema) - 1)
        assert (offset.name, offset.type, offset.nullable) == ("_file_offset", pa.int64(), True)
        assert offset.metadata == {b"PARQUET:field_id": b"2147482645"}


def test_decimals_are_stored_as_iceberg_asks(tmp_path: Path) -> None:
    """As integers up to 18 digits, as bytes above; nested columns keep their ids."""
    inner = pa.field("x", pa.int32(), metadata={b"PARQUET:field_id": b"5"})
    schema = pa.schema(
        [
            pa.field(name, kind, metadata={b"PARQUET:field_id": str(number).encode()})
            for number, (name, kind) in enumerate(
                [
                    ("a", pa.decimal128(9, 2)),
                    ("b", pa.decimal128(18, 2)),
                    ("c", pa.decimal128(19, 2)),
                    ("s", pa.struct([inner])),
                ],
                start=1,
            )
        ]
    )
    target = make_target(tmp_path, schema=schema, key=())
    rows = batch([{"a": None, "s": {"x": 1}}], schema)
    (file,) = write(target, [rows], mode="append").files

    parquet = pq.ParquetFile(file.path)
    physical = [parquet.schema.column(index).physical_type for index in range(3)]
    assert physical == ["INT32", "INT64", "FIXED_LEN_BYTE_ARRAY"]
    assert parquet.schema_arrow.field("s").type.field("x").metadata == inner.metadata


def test_what_is_added_together_stays_in_one_row_group(tmp_path: Path) -> None:
    """Rows that cover a range of keys without an order must not be spread over two of them."""
    few, many = random_rows(900), random_rows(1_300, start=900)
    target = make_target(tmp_path, row_group_bytes=few.nbytes * 10 // 9)
    writer = base_files(target)

    writer.add(BASE, few)
    writer.add(BASE, many)
    (written,) = writer.close()

    groups = pq.read_metadata(written.path)
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [900, 1_300]

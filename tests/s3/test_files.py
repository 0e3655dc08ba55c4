"""Files in an object store, by the libraries that reach them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.errors import FormatError, StorageError, UnsupportedError
from arctic.iceberg.storage.cache.kept_small_files import SMALL_BYTES
from arctic.iceberg.storage.checked_io import CheckedFileIO
from arctic.iceberg.storage.checksum import sealed
from arctic.iceberg.storage.file_io import WHOLE_BYTES
from arctic.iceberg.storage.table_io import TableIO
from arctic.mor.files.parquet_input import ParquetInput
from benchmarks.requests.object_store import BUCKET, ObjectStore

COLUMNS = "abcdefg"
RANDOM = "4-I-0-00001-0-2889679053109490213-00001.parquet"
"""As data files are named."""


@pytest.fixture
def io(server: ObjectStore, library: Mapping[str, str], tmp_path: Path) -> TableIO:
    """Access to a folder of its own."""
    server.asked()
    properties = {**server.properties(), **library}
    return TableIO(properties=properties, location=f"s3://{BUCKET}/{tmp_path.name}")


def write(io: TableIO, name: str, content: bytes) -> str:
    """Create a file; return its path."""
    path = f"{io.location}/{name}"
    with io.create_output(path) as sink:
        sink.write(content)
    return path


def test_a_small_file_is_one_request_each_way(
    io: TableIO, server: ObjectStore, library: Mapping[str, str]
) -> None:
    """Whatever is read of it; Arrow asks how long it is, before."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": range(1_000), "b": range(1_000)}), sink)
    path = write(io, RANDOM, sink.getvalue().to_pybytes())
    assert server.counts() == {"PUT": 1}

    with io.open_input(path) as source:
        assert pq.ParquetFile(source, pre_buffer=True).read(["b"])["b"][999].as_py() == 999

    assert server.counts() == ({"GET": 1} if library else {"GET": 1, "HEAD": 1})


def test_a_small_file_is_asked_for_once_by_a_process(
    io: TableIO, server: ObjectStore, library: Mapping[str, str]
) -> None:
    """Unless its name may be given twice, it is longer, or it is reached with other keys."""
    small, long = b"x" * SMALL_BYTES, b"x" * (SMALL_BYTES + 1)
    paths = {
        write(io, RANDOM, small): 1,
        write(io, f"1-{RANDOM}", long): 2,
        write(io, "notes.parquet", small): 2,
    }
    server.asked()
    for path, gets in paths.items():
        for _ in range(2):
            with io.open_input(path) as source:
                assert set(source.read()) == {ord("x")}
        assert server.counts()["GET"] == gets, path

    other = replace(io, properties={**io.properties, "s3.access-key-id": "another"})
    with other.open_input(f"{io.location}/{RANDOM}") as source:
        assert source.read() == small
    assert server.counts()["GET"] == 1


def test_a_small_file_that_came_damaged_is_asked_for_again(io: TableIO) -> None:
    """Who finds out says so; the next reader has what lies there."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": range(1_000)}), sink)
    whole = sink.getvalue().to_pybytes()
    path = write(io, RANDOM, b"PAR1" + bytes(len(whole) - 8) + b"PAR1")
    with pytest.raises(FormatError, match=RANDOM):
        ParquetInput(path, io.open_input)
    write(io, RANDOM, whole)

    with ParquetInput(path, io.open_input) as file:
        assert file.read(["a"])["a"].to_pylist() == list(range(1_000))


def test_a_large_file_goes_up_in_parts_and_comes_in_parts(io: TableIO, server: ObjectStore) -> None:
    """Some bytes of it cost no more than them."""
    content = bytes(range(256)) * (60 * 2**12)
    path = write(io, RANDOM, content)
    assert server.counts()["complete upload"] == 1

    with io.open_input(path) as source:
        assert source.size() == len(content)
        assert source.read_at(3, 41_000_000) == content[41_000_000:41_000_003]
        assert source.read_at(2, 0) == content[:2]


def test_columns_that_lie_side_by_side_come_in_one_request(
    server: ObjectStore, library: Mapping[str, str], tmp_path: Path
) -> None:
    """Of all row groups of a large file; the first read asks for its footer too."""
    numbers = np.random.default_rng(7).integers(-(2**62), 2**62, (len(COLUMNS), 200_000))
    rows = pa.table(list(numbers), names=list(COLUMNS))
    catalog = server.catalog(tmp_path / "wide.db", folder=tmp_path.name, **library)
    table = arctic.create_table("shop.wide", rows.schema, catalog=catalog)
    table.write(rows, options={"write.parquet.row-group-limit": "100000"})
    server.asked()
    is_new = True
    for columns, ranges in ((COLUMNS, 1), ("ab", 2), ("ae", 4)):
        for _ in range(2):
            found = table.read(columns=list(columns), options={"parallelism": "1"}).read_all()
            assert found.equals(rows.select(list(columns)))
            # s3fs asks for the first MiB before, which would be all of a small file.
            gets = 2 if library else ranges
            assert server.counts() == {"HEAD": 1, "GET": gets + is_new}, columns
            is_new = False


@pytest.mark.parametrize("size", [0, 1, WHOLE_BYTES - 1, WHOLE_BYTES, WHOLE_BYTES + 1])
def test_files_of_any_size_are_whole(io: TableIO, size: int) -> None:
    """An empty one too, of which a store has no part to give."""
    path = write(io, RANDOM, b"x" * size)

    with io.open_input(path) as source:
        assert source.size() == size
        assert source.read() == b"x" * size


def test_a_listing_tells_when_files_came(io: TableIO) -> None:
    """To the second; what nobody refers to is cleaned away by its age."""
    before_ms = time.time_ns() // 1_000_000 - 1_000
    path = write(io, RANDOM, b"x")

    [found] = io.list_files(io.location)

    assert (found.path, found.size_bytes) == (path, 1)
    assert before_ms <= (found.modified_ms or 0) <= time.time_ns() // 1_000_000


def test_a_file_that_others_may_have_made_is_not_replaced(io: TableIO) -> None:
    """Only a name with a random number is nobody else's; one in the folder's name is none."""
    for name in ("hint.text", "00000-01b93a2f-1111-2222-3333-123456789abc/hint.text"):
        path = write(io, name, b"hello")
        with pytest.raises(StorageError, match="already exists"):
            io.create_output(path)
        with io.open_input(path) as source:
            assert source.read() == b"hello"


def test_missing_files_are_named_and_deleted_ones_gone(io: TableIO, server: ObjectStore) -> None:
    """Several are deleted at a time, whether or not they are there; nothing is listed for that."""
    paths = [write(io, f"{number}/{RANDOM}", b"x") for number in range(20)]
    gone = f"{io.location}/{RANDOM}"
    server.asked()

    assert io.delete_quietly([*paths, gone]) == ()
    assert server.counts()["LIST"] == 0
    for path in (gone, paths[7]):
        with pytest.raises(StorageError, match=f"file '{path}' does not exist"):
            io.open_input(path)


def test_a_folder_with_an_empty_part_in_its_name_is_an_error_of_ours(
    io: TableIO, library: Mapping[str, str]
) -> None:
    """Arrow refuses to look there; the other library does."""
    folder = f"{io.location}//data"
    if library:
        assert io.list_files(folder) == ()
        return
    with pytest.raises(UnsupportedError, match="cannot list file"):
        io.list_files(folder)
    with pytest.raises(UnsupportedError, match="cannot list file"):
        io.holds_anything(folder)


def test_a_listing_is_never_one_that_was_kept(io: TableIO) -> None:
    """Others write too: a client that remembers what it listed would not see them."""
    write(io, f"data/{RANDOM}", b"x")
    assert len(io.list_files(io.location)) == 1
    other = TableIO(properties={**io.properties, "py-io-impl": _OTHER}, location=io.location)
    write(other, f"data/8-{RANDOM}", b"xy")

    assert [file.size_bytes for file in io.list_files(io.location)] == [1, 2]
    assert io.holds_anything(io.location)


_OTHER = "pyiceberg.io.pyarrow.PyArrowFileIO"


@pytest.mark.parametrize("name", ["snap-1-0-{}.avro", "00001-{}.metadata.json"])
def test_metadata_that_came_damaged_is_asked_for_again(io: TableIO, name: str) -> None:
    """Damage on the way is not kept: what a process has read once it would see for ever."""
    location = f"{io.location}/{name.format(UUID(int=7))}"
    header = b"Obj\x01\x02\x14avro.codec\x08null\x00" + bytes(16)
    whole = b"".join(
        sealed(location, [header if name.endswith("avro") else b'{"format-version":2}'])
    )
    access = CheckedFileIO(dict(io.properties))

    def answered(content: bytes) -> bytes:
        with io.create_output(location) as sink:
            sink.write(content)
        with access.new_input(location).open() as source:
            return bytes(source.read())

    assert b"arctic-checksum" in whole
    with pytest.raises(FormatError, match=location):
        answered(whole[:-1])
    assert answered(whole) == whole
    assert answered(b"") == whole

"""Files by path: any spelling of a local path, streams, errors, deletes."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arctic.errors import StorageError, UnsupportedError
from arctic.iceberg.storage.table_io import TableIO

FSSPEC = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}


@pytest.fixture(params=["pyarrow", "fsspec"])
def io(request: pytest.FixtureRequest, tmp_path: Path) -> TableIO:
    """Access through either library that PyIceberg knows."""
    properties = FSSPEC if request.param == "fsspec" else {}
    return TableIO(properties=properties, location=f"file://{tmp_path}")


def test_parquet_goes_out_and_in(io: TableIO, tmp_path: Path) -> None:
    """Through the streams of either library, with folders made on the way."""
    path = f"file://{tmp_path}/new folder/größe=a+b%25/x.parquet"
    table = pa.table({"a": [1, 2, 3]})

    with io.create_output(path) as sink:
        pq.write_table(table, sink)
    with io.open_input(path) as source:
        file = pq.ParquetFile(source)
        assert file.read_row_group(0).equals(table)

    assert (tmp_path / "new folder" / "größe=a+b%25" / "x.parquet").is_file()


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_every_spelling_of_a_local_path_opens(prefix: str, io: TableIO, tmp_path: Path) -> None:
    """Foreign writers put each of them into manifests."""
    (tmp_path / "x").write_bytes(b"hello")

    with io.open_input(f"{prefix}{tmp_path}/x") as source:
        source.seek(1)
        assert source.read() == b"ello"


def test_a_missing_file_is_named(io: TableIO, tmp_path: Path) -> None:
    """By the very path that was asked for."""
    path = f"file://{tmp_path}/gone.parquet"

    with pytest.raises(StorageError, match=rf"'{path}' does not exist"):
        io.open_input(path)


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    """Names are unique, so an existing one is somebody else's."""
    io = TableIO(properties={}, location=f"file://{tmp_path}")
    (tmp_path / "x").write_bytes(b"hello")

    with pytest.raises(StorageError, match="already exists"):
        io.create_output(f"file://{tmp_path}/x")
    assert (tmp_path / "x").read_bytes() == b"hello"


def test_a_place_that_cannot_be_written_is_a_storage_error(io: TableIO, tmp_path: Path) -> None:
    """Here a file stands where a folder is needed."""
    (tmp_path / "x").write_bytes(b"")

    with pytest.raises(StorageError, match="cannot create"):
        io.create_output(f"file://{tmp_path}/x/y")


def test_deleting_goes_on_after_what_is_missing(io: TableIO, tmp_path: Path) -> None:
    """A missing file is as good as deleted; what is left is told."""
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "b").write_bytes(b"")
    paths = [f"{tmp_path}/a", f"{tmp_path}/none", "nowhere://x/y", f"file:{tmp_path}/b"]

    assert io.delete_quietly(paths) == ("nowhere://x/y",)
    assert list(tmp_path.iterdir()) == []


def test_a_tree_is_deleted_and_a_missing_one_is_fine(io: TableIO, tmp_path: Path) -> None:
    """Nothing beside it is touched."""
    (tmp_path / "t" / "data" / "deep").mkdir(parents=True)
    (tmp_path / "t" / "data" / "deep" / "x").write_bytes(b"")
    (tmp_path / "t" / "data2").mkdir()

    io.delete_tree(f"file://{tmp_path}/t/data")
    io.delete_tree(f"file://{tmp_path}/t/data")

    assert [path.name for path in (tmp_path / "t").iterdir()] == ["data2"]


def test_a_uri_that_means_another_file_deletes_none(io: TableIO, tmp_path: Path) -> None:
    """PyIceberg takes what follows a ``#`` off."""
    for name in ("x", "x#1"):
        (tmp_path / name).write_bytes(b"hello")
    path = f"file://{tmp_path}/x#1"

    assert io.delete_quietly([path]) == (path,)

    assert (tmp_path / "x").exists()


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_listing_is_spelt_as_the_folder_was(prefix: str, io: TableIO, tmp_path: Path) -> None:
    """Every file however deep, with size and age; a missing folder has none."""
    for place in ("b", "a=1/x y", "a=1/b%20/z"):
        (tmp_path / "data" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / place).write_bytes(b"hello")

    files = io.list_files(f"{prefix}{tmp_path}/data")

    names = ("a=1/b%20/z", "a=1/x y", "b")
    assert [file.path for file in files] == [f"{prefix}{tmp_path}/data/{name}" for name in names]
    assert {file.size_bytes for file in files} == {5}
    for file in files:
        modified = Path(file.path.removeprefix(prefix)).stat().st_mtime_ns
        assert file.modified_ms is not None
        assert abs(file.modified_ms - modified // 1_000_000) <= 1
    assert io.list_files(f"{prefix}{tmp_path}/nowhere") == ()


def test_a_file_whose_path_means_another_is_not_listed(io: TableIO, tmp_path: Path) -> None:
    """Deleting ``x#1`` by its URI would delete ``x``."""
    for name in ("x", "x#1", "x?y"):
        (tmp_path / name).write_bytes(b"hello")

    listed = [file.path for file in io.list_files(f"file://{tmp_path}")]

    assert listed == [f"file://{tmp_path}/x"]


def test_only_an_empty_folder_goes(tmp_path: Path) -> None:
    """With something in it, it stays."""
    io = TableIO(properties={}, location=f"file://{tmp_path}")
    (tmp_path / "full" / "x").mkdir(parents=True)

    io.delete_if_empty(f"file://{tmp_path}/full")
    assert (tmp_path / "full").is_dir()
    io.delete_if_empty(f"file://{tmp_path}/full/x")
    assert not (tmp_path / "full" / "x").exists()


def test_an_unknown_scheme_is_unsupported(tmp_path: Path) -> None:
    """With the schemes that are known."""
    io = TableIO(properties={}, location=f"file://{tmp_path}")

    with pytest.raises(UnsupportedError, match="s3"):
        io.open_input("gopher://x/y")
    broken = TableIO(properties={"py-io-impl": "json.Nothing"}, location="file:///")
    with pytest.raises(UnsupportedError, match="Nothing"):
        broken.open_input("/x")


def test_it_pickles_and_does_not_print_passwords(tmp_path: Path) -> None:
    """It goes to every task."""
    io = TableIO(properties={"s3.secret-access-key": "secret"}, location=f"file://{tmp_path}")
    (tmp_path / "x").write_bytes(b"hello")

    copy = pickle.loads(pickle.dumps(io))

    assert copy == io
    assert copy.open_input(f"{tmp_path}/x").read() == b"hello"
    assert "secret'" not in repr(io)


def test_a_folder_may_come_and_go_while_it_is_looked_into(tmp_path: Path) -> None:
    """Several processes that create one table make and remove its folder."""
    io = TableIO(properties={}, location=f"file://{tmp_path}")
    folder = tmp_path / "t"
    is_over = threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            folder.mkdir()
            folder.rmdir()

    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(come_and_go)
        try:
            found = [io.holds_anything(f"file://{folder}") for _ in range(2_000)]
        finally:
            is_over.set()
        other.result()

    assert not any(found)

"""Writes out of Parquet files by tasks that read what those of a scan would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem

import arctic
from arctic.errors import StorageError
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.loads.file_shares import FileShare, WholeFiles
from arctic.job.write.loads.write_scanned import FilePiece, scanned_shares, write_scanned
from arctic.job.write.write_job import WriteJob, begin_write

NAME = "m.t"
_RUNNER = LocalRunner(2)
_COLUMNS = pa.schema([("id", pa.int64()), ("text", pa.string())])


def _files(folder: Path, *texts: Sequence[str]) -> WholeFiles:
    """Write files of four rows in each row group; the ids begin anew in each file."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number}.parquet" for number in range(len(texts))]
    for path, some in zip(paths, texts, strict=True):
        rows = pa.table([range(len(some)), some], schema=_COLUMNS)
        pq.write_table(rows, path, row_group_size=4)
    size_bytes = sum(path.stat().st_size for path in paths)
    return WholeFiles(paths=tuple(map(str, paths)), size_bytes=size_bytes)


def _begin(folder: Path, **options: str) -> WriteJob:
    warehouse = str(folder / "lake")
    if not (folder / "lake").exists():
        schema = pa.schema([_COLUMNS.field("id"), pa.field("text", pa.string(), nullable=False)])
        arctic.create_table(NAME, schema, primary_key=["id"], warehouse=warehouse)
    given = {"path": NAME, "warehouse": warehouse, "write-mode": "upsert", **options}
    return begin_write(AskedWrite.of(given), _COLUMNS)


def _whole(files: WholeFiles, *order: int) -> list[FilePiece]:
    return [
        FilePiece(path=path, start=0, end=Path(path).stat().st_size)
        for path in (files.paths[each] for each in order)
    ]


def _cut(path: str, *at: int) -> list[FilePiece]:
    """Cut a file before some of its row groups' middles."""
    metadata = pq.read_metadata(path)
    ends = [metadata.row_group(each).column(0).dictionary_page_offset for each in at]
    bounds = [0, *ends, Path(path).stat().st_size]
    return [FilePiece(path=path, start=start, end=end) for start, end in pairwise(bounds)]


def _shares(
    job: WriteJob, files: WholeFiles, scanned: Sequence[Sequence[FilePiece]]
) -> tuple[FileShare, ...] | None:
    return scanned_shares(job, files, scanned, _COLUMNS)


def _read(folder: Path) -> dict[Any, Any]:
    rows = arctic.read(NAME, warehouse=str(folder / "lake")).read_all().to_pydict()
    return dict(zip(rows["id"], rows["text"], strict=True))


def test_tasks_have_the_row_groups_of_their_pieces(tmp_path: Path) -> None:
    """Pieces of two files, one after the other as a scan has them; a piece may be of no group."""
    files = _files(tmp_path / "in", [f"a{n}" for n in range(12)], [f"b{n}" for n in range(8)])
    first, second = _cut(files.paths[0], 1, 2), _cut(files.paths[1], 1)
    rest = first[2]
    tail = FilePiece(path=rest.path, start=rest.end - 8, end=rest.end)
    body = FilePiece(path=rest.path, start=rest.start, end=tail.start)
    job = _begin(tmp_path)

    shares = _shares(job, files, [[first[0], second[0], first[1]], [tail], [second[1], body]])

    assert shares is not None
    assert [share.number for share in shares] == [0, 1]
    parts = [[(part[0], part[2]) for part in share.parts] for share in shares]
    one, other = files.paths
    assert parts == [[(one, (0,)), (other, (0,)), (one, (1,))], [(other, (1,)), (one, (2,))]]
    assert [share.rows for share in shares] == [12, 8]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("tasks", [1, 2])
def test_the_last_row_of_a_key_stays(tmp_path: Path, order: tuple[int, int], tasks: int) -> None:
    """Of the order of the scan, within a task and over two of them, whatever files are called."""
    files = _files(tmp_path / "in", [f"0.{n}" for n in range(9)], [f"1.{n}" for n in range(9)])
    pieces = _whole(files, *order)
    job = _begin(tmp_path)
    shares = _shares(job, files, [pieces] if tasks == 1 else [[each] for each in pieces])

    assert shares is not None
    assert len(shares) == tasks
    assert write_scanned(job, shares, _RUNNER)

    assert _read(tmp_path) == {n: f"{order[1]}.{n}" for n in range(9)}


def test_what_no_scan_covers_is_not_read(tmp_path: Path) -> None:
    """A byte in no piece or in two, a file of no piece, a piece of no file."""
    files = _files(tmp_path / "in", ["a"] * 8, ["b"] * 8)
    (head, tail), other = _cut(files.paths[0], 1), _whole(files, 1)
    job = _begin(tmp_path)

    assert _shares(job, files, [[head, tail, *other]]) is not None
    for scanned in (
        [[head, *other]],
        [[tail, *other]],
        [[head, tail, *other], [tail]],
        [[head, tail], other, other],
        [[head, tail]],
        [[head, tail, *other, FilePiece(path="/none", start=0, end=1)]],
        [],
    ):
        assert _shares(job, files, scanned) is None


def test_refused_rows_leave_nothing(tmp_path: Path) -> None:
    """A null in the second task, once the first one has written its files."""
    folder = tmp_path / "in"
    files = _files(folder, ["a"] * 8, ["b"] * 8)
    rows = pa.table([range(8), [*"bbbbbbb", None]], schema=_COLUMNS)
    pq.write_table(rows, files.paths[1], row_group_size=4)
    sizes = sum(Path(path).stat().st_size for path in files.paths)
    files = WholeFiles(paths=files.paths, size_bytes=sizes)
    job = _begin(tmp_path)
    shares = _shares(job, files, [[each] for each in _whole(files, 0, 1)])

    assert shares is not None
    assert not write_scanned(job, shares, _RUNNER)

    assert not list((tmp_path / "lake").rglob("*.parquet"))
    assert _read(tmp_path) == {}


def test_files_that_are_replaced_or_removed_are_not_read(tmp_path: Path) -> None:
    """Before their footers are read, and after that."""
    files = _files(tmp_path / "in", ["a"] * 8)
    job = _begin(tmp_path)
    scanned = [_whole(files, 0)]
    shares = _shares(job, files, scanned)
    assert shares is not None

    _files(tmp_path / "in", ["another"] * 12)
    assert not write_scanned(job, shares, _RUNNER)
    assert _shares(job, files, scanned) is None
    Path(files.paths[0]).unlink()
    assert _shares(job, files, scanned) is None
    with pytest.raises(StorageError, match=r"0\.parquet"):
        write_scanned(job, shares, _RUNNER)
    assert not list((tmp_path / "lake").rglob("*.parquet"))


def test_row_groups_come_in_their_order_and_neighbours_together(tmp_path: Path) -> None:
    """To find each of very many by itself would take as long as the square of their number."""
    files = _files(tmp_path / "in", [f"a{n}" for n in range(20)])
    job = _begin(tmp_path)
    shares = _shares(job, files, [_whole(files, 0)])
    assert shares is not None
    ((path, size, numbers),) = shares[0].parts
    assert numbers == (0, 1, 2, 3, 4)

    turned = replace(shares[0], parts=((path, size, (2, 3, 4, 1, 0)),))
    batches = turned.batches(LocalFileSystem().open_input_file)
    found = [batch.column("id").to_pylist() for batch in batches]

    assert found == [[*range(8, 20)], [*range(4, 8)], [*range(4)]]

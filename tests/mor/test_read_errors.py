"""What a broken or missing file, or a task that no plan makes, becomes."""

from __future__ import annotations

import errno
import io
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from arctic.errors import ArcticError, FormatError, InternalError, StorageError
from arctic.mor.read import read_group
from arctic.scan.task import FileTask
from arctic.table.files import FileKind, TableFile
from tests.mor.local_files import TABLE, LocalFiles, group, request, task

NO_KEY = pa.schema([])


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """A folder for the files of one test."""
    return LocalFiles(tmp_path)


def rows(count: int = 1000) -> list[dict[str, Any]]:
    """Return rows of the small table, good for a change file too."""
    return [{"id": at, "text": f"text {at}", "_file_offset": at} for at in range(count)]


def truncated(data: bytes) -> bytes:
    """Lose the footer."""
    return data[: len(data) // 2]


def overwritten(data: bytes) -> bytes:
    """Lose the column chunks, keep the footer."""
    return data[:4] + b"\xff" * 2000 + data[2004:]


def of_another_format(_: bytes) -> bytes:
    """Hold something else."""
    return b"this is no Parquet file, but long enough to look for a footer in"


CORRUPTIONS = [truncated, overwritten, of_another_format, lambda _: b""]


@pytest.mark.parametrize("corrupt", CORRUPTIONS)
@pytest.mark.parametrize("kind", [FileKind.BASE, FileKind.CHANGE_DELETE, FileKind.POS_DELETE])
def test_corrupt_bytes_are_a_format_error(
    files: LocalFiles, corrupt: Callable[[bytes], bytes], kind: FileKind
) -> None:
    """Naming the file, with what Arrow said as the cause."""
    base = files.base(rows(), row_group_size=100)
    deletes = files.deletes(rows(), 1, row_group_size=100)
    positions = files.position_deletes([(base.path, at) for at in range(1000)], row_group_size=100)
    broken = {file.kind: file for file in (base, deletes, positions)}[kind]
    path = Path(broken.path)
    path.write_bytes(corrupt(path.read_bytes()))
    whole = task(FileTask(file=base, position_deletes=(positions,)), deletes=[deletes])
    with pytest.raises(FormatError) as caught:
        files.read(group(whole), request())
    assert repr(broken.path) in caught.value.message
    assert caught.value.__cause__ is not None
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


@pytest.mark.parametrize("kind", [FileKind.BASE, FileKind.CHANGE_DELETE, FileKind.POS_DELETE])
def test_a_missing_file_is_a_storage_error(files: LocalFiles, kind: FileKind) -> None:
    """It may have expired under a long read: reading again may help."""
    base = files.base(rows(3))
    deletes = files.deletes(rows(3), 1)
    positions = files.position_deletes([(base.path, 1)])
    missing = {file.kind: file for file in (base, deletes, positions)}[kind]
    Path(missing.path).unlink()
    whole = task(FileTask(file=base, position_deletes=(positions,)), deletes=[deletes])
    with pytest.raises(StorageError, match="cannot read file") as caught:
        files.read(group(whole), request())
    assert repr(missing.path) in caught.value.message


class Failing(io.BytesIO):
    """A remote file whose storage fails after some reads."""

    def __init__(self, data: bytes, error: Exception, reads: int) -> None:
        super().__init__(data)
        self._error, self._reads = error, reads

    def read(self, size: int | None = -1) -> bytes:
        """Read, as long as it goes well."""
        self._reads -= 1
        if self._reads < 0:
            raise self._error
        return super().read(size)


@pytest.mark.parametrize("reads", [0, 2, 4])
@pytest.mark.parametrize(
    "error",
    [OSError(errno.EIO, "disk"), TimeoutError("slow"), OSError("gone"), StorageError("ours")],
    ids=lambda error: type(error).__name__ + str(error),
)
def test_storage_that_fails_while_reading_is_a_storage_error(
    files: LocalFiles, error: Exception, reads: int
) -> None:
    """Also when the failure has no number, as those of some remote file systems."""
    base = files.base(rows(), row_group_size=10)
    data = Path(base.path).read_bytes()
    with pytest.raises(StorageError):
        list(
            read_group(
                group(task(base)), request(), lambda _: pa.PythonFile(Failing(data, error, reads))
            )
        )


def test_plain_python_files_are_read_and_closed(files: LocalFiles) -> None:
    """Whatever can read and seek is fine; it is closed also when something fails."""
    opened: list[io.BytesIO] = []

    def open_file(path: str) -> io.BytesIO:
        opened.append(io.BytesIO(Path(path).read_bytes()))
        return opened[-1]

    base = files.base(rows(5))
    assert sum(map(len, read_group(group(task(base)), request(), open_file))) == 5
    Path(base.path).write_bytes(b"broken")
    with pytest.raises(FormatError):
        list(read_group(group(task(base)), request(), open_file))
    assert all(file.closed for file in opened)


def test_a_reader_that_stops_early_leaves_nothing_open(files: LocalFiles) -> None:
    """A LIMIT closes the generator in the middle of a file."""
    opened: list[Any] = []

    def open_file(path: str) -> Any:
        opened.append(pa.OSFile(path))
        return opened[-1]

    batches = read_group(group(task(files.base(rows()))), request(batch_rows=10), open_file)
    next(iter(batches))
    batches.close()  # type: ignore[attr-defined]
    assert [file.closed for file in opened] == [True]


@pytest.mark.parametrize("kind", [FileKind.INSERT, FileKind.CHANGE_DELETE])
@pytest.mark.parametrize("offset", [None, "absent"])
def test_a_file_offset_that_is_needed_must_be_there(
    files: LocalFiles, kind: FileKind, offset: str | None
) -> None:
    """Without it nobody knows whether a delete comes before or after an insert."""
    good = [{"id": 1, "_file_offset": 1}]
    bad = [{"id": 1, "_file_offset": None}]
    changes = {FileKind.INSERT: files.insert, FileKind.CHANGE_DELETE: files.deletes}
    written = {each: write(bad if each is kind else good, 1) for each, write in changes.items()}
    if offset == "absent":
        written[kind] = files.write(kind, bad, TABLE, transaction_id=1)
    whole = task(written[FileKind.INSERT], deletes=[written[FileKind.CHANGE_DELETE]])
    with pytest.raises(FormatError, match="have no '_file_offset'") as caught:
        files.read(group(whole), request())
    assert written[kind].path in caught.value.message


def test_a_delete_without_a_key_column_is_refused(files: LocalFiles) -> None:
    """It would delete nothing."""
    deletes = files.deletes([{"text": "x", "_file_offset": 1}], 2, schema=TABLE.remove(0))
    with pytest.raises(FormatError, match=r"ED\.parquet', column 'id': required column is missing"):
        files.read(group(task(files.base(rows(1)), deletes=[deletes])), request())


def as_kind(kind: FileKind) -> Callable[[TableFile], TableFile]:
    """Return a file under another kind."""
    return lambda file: replace(file, kind=kind)


def test_a_task_that_no_plan_makes_is_an_internal_error(files: LocalFiles) -> None:
    """Kinds that cannot be data or deletes, and deletes of a table without a key."""
    base, deletes = files.base(rows(1)), files.deletes(rows(1), 2)
    cases = [
        (task(as_kind(FileKind.POS_DELETE)(base)), request()),
        (task(as_kind(FileKind.CHANGE_DELETE)(base), deletes=[deletes]), request()),
        (task(base, deletes=[as_kind(FileKind.INSERT)(deletes)]), request()),
        (task(base, deletes=[deletes]), request(key=NO_KEY)),
    ]
    for wrong, wanted in cases:
        with pytest.raises(InternalError):
            files.read(group(wrong), wanted)


def test_nothing_is_opened_before_the_first_batch_is_asked_for(files: LocalFiles) -> None:
    """A reader is lazy, so that errors appear where rows are read."""
    read_group(group(task(files.base(rows(1)))), request(), files.open)
    assert files.opened == []


def test_every_failure_is_one_of_ours(files: LocalFiles) -> None:
    """Whatever single byte of the footer is wrong: rows, or an error of this package."""
    base = files.base(rows(20))
    path = Path(base.path)
    whole = path.read_bytes()
    for at in range(len(whole) - 300, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with suppress(ArcticError):
            list(read_group(group(task(base)), request(), files.open))

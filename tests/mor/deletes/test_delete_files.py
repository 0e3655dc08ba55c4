"""What is kept of small files of deletes, and what is not."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from arctic.errors import StorageError
from arctic.mor.deletes import delete_files
from arctic.mor.deletes.delete_files import KeptDeletes
from arctic.table.files import FileKind, TableFile
from tests.factories.files import table_file


@dataclass(frozen=True)
class Rows:
    """So many bytes of a file."""

    held_bytes: int


class Reads:
    """Counts what is read, of so many bytes each."""

    def __init__(self, held_bytes: int) -> None:
        self.paths: list[str] = []
        self._rows = Rows(held_bytes)

    def __call__(self, file: TableFile) -> list[Rows]:
        """Read a file."""
        self.paths.append(file.path)
        return [self._rows]


def file(path: str, size: int = 1_000) -> TableFile:
    """Return a file of deletes."""
    return table_file(path, FileKind.CHANGE_DELETE, size)


def test_a_small_file_is_read_once() -> None:
    """A large one whenever it is asked for, because it is read lazily."""
    kept, read = KeptDeletes(), Reads(1)
    for each in (file("a"), file("large", 2**20)) * 2:
        assert list(kept.of(each, read)) == [Rows(1)]

    assert read.paths == ["a", "large", "large"]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit any more is read again; what is kept stays."""
    monkeypatch.setattr(delete_files, "MOST_BYTES", 10_000)
    kept, read = KeptDeletes(), Reads(6_000)
    for path in ("a", "b", "a", "b"):
        kept.of(file(path), read)

    assert read.paths == ["a", "b", "b"]


def test_files_of_twenty_thousand_tiny_writes_are_kept() -> None:
    """Each of which has ten keys: none of them is read for every node."""
    kept, read = KeptDeletes(), Reads(240)
    for number in (*range(20_000), *range(20_000)):
        kept.of(file(f"{number}"), read)

    assert len(read.paths) == 20_000


def test_threads_that_come_together_read_a_file_once() -> None:
    """The later ones wait for the first."""
    kept, begun, goes_on = KeptDeletes(), threading.Event(), threading.Event()
    read = Reads(1)

    def slowly(each: TableFile) -> list[Rows]:
        begun.set()
        assert goes_on.wait(10)
        return read(each)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.of, file("a"), slowly)
        assert begun.wait(10)
        second = pool.submit(kept.of, file("a"), slowly)
        goes_on.set()
        assert list(first.result()) == list(second.result()) == [Rows(1)]

    assert read.paths == ["a"]


def test_a_failure_is_that_of_all_who_wait_and_of_nobody_later() -> None:
    """Who comes afterwards reads the file anew."""
    kept, begun, goes_on = KeptDeletes(), threading.Event(), threading.Event()

    def failing(_: TableFile) -> list[Rows]:
        begun.set()
        assert goes_on.wait(10)
        raise StorageError("cannot read file 'a'")

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(kept.of, file("a"), failing) for _ in range(2)]
        assert begun.wait(10)
        goes_on.set()
        for each in both:
            with pytest.raises(StorageError):
                each.result()

    assert list(kept.of(file("a"), Reads(1))) == [Rows(1)]

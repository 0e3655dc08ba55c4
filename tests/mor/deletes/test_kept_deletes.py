"""What is kept of small files of deletes, and what is not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from arctic.mor.deletes import kept_deletes
from arctic.mor.deletes.kept_deletes import KeptDeletes
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
    monkeypatch.setattr(kept_deletes, "MOST_BYTES", 10_000)
    kept, read = KeptDeletes(), Reads(6_000)
    for path in ("a", "b", "a", "b"):
        kept.of(file(path), read)

    assert read.paths == ["a", "b", "b"]

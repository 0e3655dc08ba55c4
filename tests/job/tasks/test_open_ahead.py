"""Files that are opened before they are needed are the same, and none is left open."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from arctic.errors import StorageError
from arctic.job.tasks.open_ahead import AHEAD, opened_ahead
from arctic.scan.task import FileTask, NodeTask
from arctic.table.files import FileKind
from tests.factories.files import name_of, named_file

COUNT = 3 * AHEAD


@dataclass
class Store:
    """Stands for the access to files: what is open, and what was ever opened."""

    location: str = "s3://bucket/t"
    opened: list[str] = field(default_factory=list)
    files: list[pa.BufferReader] = field(default_factory=list)
    missing: str = ""
    cache: None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open_input(self, path: str) -> Any:
        """Open a file that holds its own name."""
        with self._lock:
            self.opened.append(path)
            if path == self.missing:
                raise StorageError(f"file {path!r} does not exist")
            self.files.append(pa.BufferReader(path.encode()))
            return self.files[-1]


def task(count: int) -> NodeTask:
    """Return a task of inserts."""
    files = [
        named_file(FileKind.INSERT, name_of(FileKind.INSERT, node_id=4, number=number))
        for number in range(count)
    ]
    return NodeTask(
        partition=(),
        node=files[0].node,
        data=tuple(FileTask(file=file) for file in files),
        cost_bytes=1,
    )


def paths(tasks: list[NodeTask]) -> list[str]:
    """Return the data files."""
    return [part.file.path for each in tasks for part in each.data]


@pytest.mark.parametrize("order", ["as planned", "backwards", "each twice", "some"])
def test_whatever_is_asked_for_is_opened(order: str) -> None:
    """In the order that is expected, or any other; and all of it is closed at the end."""
    store, tasks = Store(), [task(COUNT)]
    asked = {
        "as planned": paths(tasks),
        "backwards": paths(tasks)[::-1],
        "each twice": [path for path in paths(tasks) for _ in range(2)],
        "some": paths(tasks)[:2],
    }[order]
    with opened_ahead(store, tasks) as open_file:  # type: ignore[arg-type]
        for path in asked:
            with open_file(path) as file:
                assert file.read() == path.encode()

    assert all(file.closed for file in store.files)
    assert set(asked) <= set(store.opened)
    if order == "as planned":
        assert sorted(store.opened) == sorted(asked)
    if order == "some":
        assert len(store.opened) <= 2 + AHEAD


def test_a_file_that_is_gone_is_missed_where_it_is_needed() -> None:
    """And not before; one that nobody needs is not missed."""
    tasks = [task(4)]
    store = Store(missing=paths(tasks)[2])
    with opened_ahead(store, tasks) as open_file:  # type: ignore[arg-type]
        open_file(paths(tasks)[0]).close()
        open_file(paths(tasks)[1]).close()
        with pytest.raises(StorageError, match="does not exist"):
            open_file(paths(tasks)[2])
    with opened_ahead(store, tasks) as open_file:  # type: ignore[arg-type]
        open_file(paths(tasks)[0]).close()

    assert all(file.closed for file in store.files)


def test_files_of_this_machine_are_opened_when_they_are_needed() -> None:
    """To open one costs next to nothing."""
    store, tasks = Store(location="file:///lake/t"), [task(COUNT)]
    with opened_ahead(store, tasks) as open_file:  # type: ignore[arg-type]
        open_file(paths(tasks)[0]).close()

    assert store.opened == paths(tasks)[:1]

"""The history: what is written can be read, and a file that fails stops nobody."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arctic.errors import InvalidInputError
from arctic.service.history import history_file
from arctic.service.history.history_file import History
from arctic.service.history.process_record import ProcessStatus, TaskRecord

Open = Callable[[str | None], History]


class Said(list[str]):
    """What was said."""

    def say(self, event: str, **facts: object) -> None:
        """Remember what failed."""
        self.append(str(facts.get("what")))


@pytest.fixture
def said() -> Said:
    """Nothing yet."""
    return Said()


@pytest.fixture
def opened(said: Said) -> Iterator[Open]:
    """Open histories that are closed at the end."""
    made: list[History] = []

    def open_one(path: str | None) -> History:
        made.append(History(path, said.say))
        return made[-1]

    yield open_one
    for each in made:
        each.close()


def _begin(history: History, table: str = "db.t") -> int:
    return history.begin(
        table=table, kind="optimize", trigger="service", status=ProcessStatus.RUNNING, asked_ms=1
    )


def test_processes_and_tasks_are_read_as_they_were_written(opened: Open, tmp_path: Path) -> None:
    """By another process of the service, too, for which what was left open is lost."""
    path = str(tmp_path / "new" / "history.db")
    first = opened(path)
    done, left = _begin(first), _begin(first, "db.u")
    task = TaskRecord(
        number=3, executor="g-0", status=ProcessStatus.RUNNING, rows_in=9, started_ms=5
    )
    first.begin_task(done, task)
    first.end_task(done, 3, "g-0", status=ProcessStatus.DONE, ended_ms=7, rows_out=4)
    first.update(done, status=ProcessStatus.DONE, ended_ms=8, bytes_written=2**40)
    first.close()

    again = opened(path)
    assert [each.id for each in again.processes(limit=9)] == [left, done]
    assert [each.id for each in again.processes(limit=9, before=left)] == [done]
    assert [each.id for each in again.processes(limit=9, table="db.u")] == [left]
    assert [each.id for each in again.processes(limit=9, status=ProcessStatus.DONE)] == [done]
    record = again.process(done)
    assert record is not None
    assert (record.bytes_written, record.ended_ms) == (2**40, 8)
    (found,) = again.tasks(done)
    assert (found.number, found.rows_in, found.rows_out, found.ended_ms) == (3, 9, 4, 7)
    lost = again.process(left)
    assert lost is not None
    assert lost.status is ProcessStatus.LOST
    assert again.process(left + 1) is None


def test_only_the_newest_processes_are_kept(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """With their tasks."""
    monkeypatch.setattr(history_file, "_MOST_PROCESSES", 3)
    history = opened(None)
    ids = []
    for _ in range(5):
        ids.append(_begin(history))
        task = TaskRecord(
            number=0, executor="g", status=ProcessStatus.DONE, rows_in=1, started_ms=1
        )
        history.begin_task(ids[-1], task)

    assert [each.id for each in history.processes(limit=9)] == ids[:1:-1]
    assert [len(history.tasks(each)) for each in ids] == [0, 0, 1, 1, 1]


def test_a_file_of_somebody_else_is_refused_and_left_alone(opened: Open, tmp_path: Path) -> None:
    """A database of another program, a text, a folder."""
    other, text = tmp_path / "other.db", tmp_path / "text.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE iceberg_tables (name)")
    database.close()
    text.write_text("not a database, but long enough to be looked at " * 40)
    before = (other.read_bytes(), text.read_bytes())

    for place in (other, text, tmp_path):
        with pytest.raises(InvalidInputError, match="history file"):
            opened(str(place))
    assert (other.read_bytes(), text.read_bytes()) == before


def test_a_file_that_is_torn_while_it_is_used_is_told_of_once(
    opened: Open, tmp_path: Path, said: Said
) -> None:
    """What comes next is kept in memory."""
    path = tmp_path / "history.db"
    history = opened(str(path))
    _begin(history)
    path.write_bytes(b"torn" * 4_096)

    found = _begin(history)

    assert history.process(found) is not None
    assert said == ["keeping the history: it goes on in memory"]


def test_no_process_is_taken_for_one_of_before_the_file_failed(
    opened: Open, tmp_path: Path
) -> None:
    """Which ends after that, and is not known any more."""
    path = tmp_path / "history.db"
    before = opened(str(path))
    _begin(before)
    before.close()
    history = opened(str(path))
    path.write_bytes(b"torn" * 4_096)
    first = _begin(history)
    assert first == 2
    history.update(1, status=ProcessStatus.FAILED, failure="of another")

    record = history.process(first)
    assert record is not None
    assert (record.status, record.failure) == (ProcessStatus.RUNNING, None)
    assert history.process(1) is None

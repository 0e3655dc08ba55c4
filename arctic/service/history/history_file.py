"""The history of a service, as a small SQLite file or in memory.

Rules:
    - Nothing depends on it. A file that fails is told of once, and what comes next is kept in
      memory; a file that is gone is begun anew.
    - It never grows beyond the newest processes.
    - A file of somebody else's is refused, and left as it is.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from arctic.errors import InvalidInputError
from arctic.service.event_log import Say, why
from arctic.service.history.process_record import ProcessRecord, ProcessStatus, TaskRecord

T = TypeVar("T")


def _quoted(names: Iterable[str]) -> str:
    """List names of columns, of which one is a word of SQL."""
    return ", ".join(f'"{name}"' for name in names)


_APPLICATION = 0x41524348
"""By which a file of ours is known."""
_SCHEMA_VERSION = 1
_MOST_PROCESSES = 10_000
_PROCESS_COLUMNS = tuple(each.name for each in fields(ProcessRecord))
_TASK_COLUMNS = tuple(each.name for each in fields(TaskRecord))
_TABLES = (
    f"CREATE TABLE processes ({_quoted(_PROCESS_COLUMNS)}, PRIMARY KEY (id))",
    'CREATE INDEX processes_of_table ON processes ("table", id)',
    f"CREATE TABLE tasks (process_id, {_quoted(_TASK_COLUMNS)})",
    "CREATE INDEX tasks_of_process ON tasks (process_id)",
)


class History:
    """Processes and tasks, newest first; every method may be called by any thread."""

    def __init__(self, path: str | None, say: Say) -> None:
        """Open a file, or make one.

        Args:
            path: of the file; None: it is kept in memory.
            say: is told of a file that fails.

        Raises:
            InvalidInputError: the file is none of ours, or cannot be opened.
        """
        self._say = say
        self._lock = threading.Lock()
        self._database = _opened(path)
        self._run(_lose_unfinished)
        self._newest = self._run(_newest)
        """The id that was given last: where the file fails, no other process gets it in memory."""

    def begin(self, **facts: Any) -> int:
        """Add a process, and return its id."""

        def insert(database: sqlite3.Connection) -> int:
            record = ProcessRecord(id=max(_newest(database), self._newest) + 1, **facts)
            self._newest = record.id
            _insert(database, "processes", _values(record))
            old = record.id - _MOST_PROCESSES
            database.execute("DELETE FROM processes WHERE id <= ?", (old,))
            database.execute("DELETE FROM tasks WHERE process_id <= ?", (old,))
            return record.id

        return self._run(insert)

    def update(self, process_id: int, **facts: Any) -> None:
        """Take note of what is known of a process since."""
        self._run(lambda database: _update(database, "processes", {"id": process_id}, facts))

    def begin_task(self, process_id: int, record: TaskRecord) -> None:
        """Add a try of a task."""
        values = {"process_id": process_id, **_values(record)}
        self._run(lambda database: _insert(database, "tasks", values))

    def end_task(self, process_id: int, number: int, executor: str, **facts: Any) -> None:
        """Write down the result of the try that is running."""
        where = {
            "process_id": process_id,
            "number": number,
            "executor": executor,
            "status": ProcessStatus.RUNNING.value,
        }
        self._run(lambda database: _update(database, "tasks", where, facts))

    def process(self, process_id: int) -> ProcessRecord | None:
        """Return a process; None: there is none, or none any more."""
        found = self._select("WHERE id = ?", (process_id,))
        return found[0] if found else None

    def processes(
        self,
        *,
        table: str | None = None,
        status: ProcessStatus | None = None,
        before: int | None = None,
        limit: int,
    ) -> list[ProcessRecord]:
        """Return processes, newest first.

        Args:
            table: of one table; None: of all.
            status: of one kind; None: of all.
            before: with lesser ids.
            limit: at most so many.
        """
        asked = {
            '"table" = ?': table,
            "status = ?": None if status is None else status.value,
            "id < ?": before,
        }
        given = {text: value for text, value in asked.items() if value is not None}
        where = f"WHERE {' AND '.join(given)}" if given else ""
        return self._select(f"{where} ORDER BY id DESC LIMIT ?", (*given.values(), limit))

    def tasks(self, process_id: int) -> list[TaskRecord]:
        """Return the tries of tasks of a process, in the order in which they began."""
        query = (
            f"SELECT {_quoted(_TASK_COLUMNS)} FROM tasks WHERE process_id = ? "
            "ORDER BY started_ms, rowid"
        )
        rows = self._run(lambda database: database.execute(query, (process_id,)).fetchall())
        return [_task(row) for row in rows]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _select(self, rest: str, values: tuple[Any, ...]) -> list[ProcessRecord]:
        query = f"SELECT {_quoted(_PROCESS_COLUMNS)} FROM processes {rest}"
        rows = self._run(lambda database: database.execute(query, values).fetchall())
        return [_process(row) for row in rows]

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                with self._database:
                    return work(self._database)
            except sqlite3.Error as error:
                self._say(
                    "failed", what="keeping the history: it goes on in memory", why=why(error)
                )
                self._database = _opened(None)
                with self._database:
                    return work(self._database)


def _opened(path: str | None) -> sqlite3.Connection:
    try:
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=10)
        _prepare(database, path)
    except (sqlite3.Error, OSError) as error:
        raise InvalidInputError(
            f"history file {path!r}: {error}; expected a file that a service made, or the name of "
            "one to make"
        ) from error
    return database


def _prepare(database: sqlite3.Connection, path: str | None) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and (application, version) != (_APPLICATION, _SCHEMA_VERSION):
        database.close()
        raise InvalidInputError(
            f"history file {path!r} is none that this version made; expected another name, or no "
            "file there"
        )
    # A file that may be lost need not wait for the disk.
    database.execute("PRAGMA synchronous = OFF")
    if not tables:
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
        for text in _TABLES:
            database.execute(text)
        database.commit()


def _newest(database: sqlite3.Connection) -> int:
    """Return the greatest id that was given; 0: none was."""
    (newest,) = database.execute("SELECT coalesce(max(id), 0) FROM processes").fetchone()
    return int(newest)


def _lose_unfinished(database: sqlite3.Connection) -> None:
    """Close what an earlier service left open: it is gone."""
    running = (ProcessStatus.WAITING.value, ProcessStatus.RUNNING.value)
    for name in ("processes", "tasks"):
        database.execute(
            f"UPDATE {name} SET status = ? WHERE status IN (?, ?)",
            (ProcessStatus.LOST.value, *running),
        )


def _values(record: ProcessRecord | TaskRecord) -> dict[str, Any]:
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    return {**values, "status": record.status.value}


def _insert(database: sqlite3.Connection, name: str, values: dict[str, Any]) -> None:
    marks = ", ".join("?" for _ in values)
    query = f"INSERT INTO {name} ({_quoted(values)}) VALUES ({marks})"
    database.execute(query, tuple(values.values()))


def _update(
    database: sqlite3.Connection, name: str, where: dict[str, Any], facts: dict[str, Any]
) -> None:
    said = {
        key: value.value if isinstance(value, ProcessStatus) else value
        for key, value in facts.items()
    }
    wanted = ", ".join(f'"{key}" = ?' for key in said)
    which = " AND ".join(f'"{key}" = ?' for key in where)
    database.execute(f"UPDATE {name} SET {wanted} WHERE {which}", (*said.values(), *where.values()))


def _process(row: tuple[Any, ...]) -> ProcessRecord:
    values = dict(zip(_PROCESS_COLUMNS, row, strict=True))
    return ProcessRecord(**{**values, "status": ProcessStatus(values["status"])})


def _task(row: tuple[Any, ...]) -> TaskRecord:
    values = dict(zip(_TASK_COLUMNS, row, strict=True))
    return TaskRecord(**{**values, "status": ProcessStatus(values["status"])})

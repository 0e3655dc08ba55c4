"""A process that kills itself just before its n-th step, and how a parent runs it.

A step is a call that touches storage: a file created, written to, closed, opened or deleted, a
statement of the catalog or its COMMIT. A write is torn: the first half of its bytes is on disk.

Rules:
    - Every run, also the one that only counts, takes place in a forked child. So the parent has
      imported everything, and has neither a thread nor a connection that a fork would break.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from sqlalchemy import event
from sqlalchemy.engine import Engine

from arctic.iceberg.storage import local_files

T = TypeVar("T")


class Steps:
    """Counts the steps of this process; dies at one of them."""

    def __init__(self, kill_at: int | None) -> None:
        self._kill_at = kill_at
        self._lock = threading.Lock()
        self.kinds: list[str] = []

    def take(self, kind: str) -> None:
        """Note that a step comes next; the first has the number 1."""
        with self._lock:
            self.kinds.append(kind)
            if len(self.kinds) == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)


class _TornStream:
    """An output stream whose writes and whose end are steps."""

    def __init__(self, stream: Any, steps: Steps) -> None:
        self._stream = stream
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> _TornStream:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def write(self, content: Any) -> int:
        """Write one half, then take the step, then write the other."""
        view = bytes(content)
        half = len(view) // 2
        self._stream.write(view[:half])
        self._stream.flush()
        self._steps.take("write")
        self._stream.write(view[half:])
        return len(view)

    def close(self) -> None:
        """Complete the file."""
        if not self._stream.closed:
            self._steps.take("close")
            self._stream.close()


def instrument(steps: Steps) -> None:
    """Make every call that touches storage a step, for as long as this process lives."""
    create, open_file, delete = PyArrowFile.create, PyArrowFile.open, PyArrowFileIO.delete
    create_local, open_local = local_files.create_file, local_files.open_file

    def stepping_create(self: PyArrowFile, overwrite: bool = False) -> Any:
        steps.take("create")
        return _TornStream(create(self, overwrite=overwrite), steps)

    def stepping_open(self: PyArrowFile, seekable: bool = True) -> Any:
        steps.take("open")
        return open_file(self, seekable=seekable)

    def stepping_delete(self: PyArrowFileIO, location: Any) -> None:
        steps.take("delete")
        delete(self, location)

    def stepping_create_local(path: str) -> Any:
        steps.take("create")
        return _TornStream(create_local(path), steps)

    def stepping_open_local(path: str) -> Any:
        steps.take("open")
        return open_local(path)

    local_files.create_file = stepping_create_local
    local_files.open_file = stepping_open_local
    PyArrowFile.create = stepping_create  # type: ignore[method-assign]
    PyArrowFile.open = stepping_open  # type: ignore[method-assign]
    PyArrowFileIO.delete = stepping_delete  # type: ignore[method-assign]
    event.listen(Engine, "before_cursor_execute", lambda *_: steps.take("statement"))
    event.listen(Engine, "commit", lambda *_: steps.take("commit"))


def kinds_of_steps(run: Callable[[], object]) -> list[str]:
    """Run to the end in a child; return what kind each step was."""

    def count() -> list[str]:
        steps = Steps(kill_at=None)
        instrument(steps)
        run()
        return steps.kinds

    kinds = in_child(count)
    assert kinds is not None
    return kinds


def killed_at(step: int, run: Callable[[], object]) -> bool:
    """Run in a child that dies at a step; False when it came to its end before."""

    def start() -> str:
        instrument(Steps(kill_at=step))
        run()
        return "ended"

    return in_child(start) is None


def in_child(run: Callable[[], T]) -> T | None:
    """Return what a forked child returns; None when it was killed.

    Raises:
        AssertionError: the child raised; the message is its traceback.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(run, reading, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    assert answer, f"a child ended with status {status} and without an answer"
    value, error = pickle.loads(answer)
    assert error is None, error
    result: T = value
    return result


def _answer(run: Callable[[], object], reading: int, writing: int) -> None:
    """Run, send the answer, and end this process whatever happens."""
    try:
        os.close(reading)
        answer: tuple[object, str | None]
        try:
            answer = (run(), None)
        except BaseException:  # noqa: BLE001 - it is raised again in the parent
            answer = (None, traceback.format_exc())
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(pickle.dumps(answer))
    finally:
        os._exit(0)

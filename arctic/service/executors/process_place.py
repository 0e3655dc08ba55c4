"""An executor that is a process of its own: its memory is its own, and so is its death."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from arctic.job.tasks.run_tasks import Task
from arctic.service.executors import worker_process
from arctic.service.executors.task_place import LostPlaceError


class ProcessPlace:
    """A process that is begun with the first task, and anew after it has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, work: Callable[[Any], Any], task: Task[Any]) -> Any:
        """Send the task, and wait for its answer."""
        message = pickle.dumps((work, task.value))
        process = self._begun()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            worker_process.send(process.stdin, message)
            answer = worker_process.receive(process.stdout)
        except (OSError, ValueError):  # closed by ``close``, or by its death
            answer = None
        if answer is None:
            self._end()
            code = process.returncode
            raise LostPlaceError(f"worker process {process.pid} died with exit code {code}")
        is_good, result = pickle.loads(answer)
        if not is_good:
            raise result
        return result

    def close(self) -> None:
        """Kill the process."""
        self._is_closed = True
        self._end()

    def _begun(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_closed:
                raise LostPlaceError("the worker process was told to end")
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", worker_process.__name__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            return self._process

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            # What was not sent yet cannot be any more.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

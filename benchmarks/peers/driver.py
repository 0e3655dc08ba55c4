"""The parent's side of a measurement: a system in a process group of its own."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from benchmarks.memory import PeakMemory
from benchmarks.peers.environments import ROOT

START_SECONDS = 120
STOP_SECONDS = 20


class PhaseTimeout(Exception):
    """A phase took longer than it may."""


class PhaseError(Exception):
    """The system said, or showed, that it failed."""


class Driver:
    """Starts a system's script and calls it; on leaving, the whole group is gone.

    Args:
        command: interpreter, ``-m``, module and arguments.
        log: takes what the script and its libraries print.
        scratch: for temporary files, so that the table's folder holds the table alone.
    """

    def __init__(self, command: list[str], *, log: Path, scratch: Path) -> None:
        self._log = log
        scratch.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(scratch),
            "SPARK_LOCAL_DIRS": str(scratch),
            "PYSPARK_PYTHON": command[0],
            "PYSPARK_DRIVER_PYTHON": command[0],
        }
        environment.pop("SPARK_HOME", None)
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=scratch,
                env=environment,
                text=True,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._calls: IO[str] = self._process.stdin
        self._answers: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, args=(self._process.stdout,))
        self._listener.start()

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):
            self._calls.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        # The group outlives its leader where Spark's workers do.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._listener.join()

    def hello(self) -> dict[str, Any]:
        """Return what the script says when it is ready."""
        return self._answer(START_SECONDS)

    def call(
        self, what: str, *arguments: object, times: int = 1, limit_seconds: float
    ) -> tuple[dict[str, Any], int]:
        """Return the answer to one call, and the peak of resident bytes meanwhile.

        Raises:
            PhaseTimeout: no answer in time; the process cannot be used again.
            PhaseError: the system failed.
        """
        call = {"what": what, "arguments": arguments, "times": times}
        try:
            with PeakMemory(self._process.pid, with_java=True) as peak:
                self._calls.write(json.dumps(call) + "\n")
                self._calls.flush()
                answer = self._answer(limit_seconds)
        except BrokenPipeError as error:
            raise PhaseError(self._last_words()) from error
        if "error" in answer:
            raise PhaseError(answer["error"])
        return answer, peak.total_bytes

    def _answer(self, limit_seconds: float) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=limit_seconds)
        except queue.Empty as error:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise PhaseTimeout(f"> {limit_seconds:g} s") from error
        if not line:
            raise PhaseError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _listen(self, answers: IO[str]) -> None:
        with answers:
            for line in answers:
                self._answers.put(line)
        self._answers.put("")

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines() or ["no message"]
        return f"the process ended: {lines[-1][:300]}"

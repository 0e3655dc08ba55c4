"""A process that does tasks: ``python -m arctic.service.executors.worker_process``.

Rules:
    - It reads pickled tasks from its standard input and answers on its standard output, each with
      its length before it. It ends with its input, so that it never outlives the service for long.
    - Nothing else may get into the answers: what a task prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import IO, Any

_LENGTH_BYTES = 8


def send(stream: IO[bytes], payload: bytes) -> None:
    """Write a message."""
    stream.write(len(payload).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(payload)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read a message; None: there is none any more, or only a part of one."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(head, "big")
    payload = stream.read(size)
    return payload if len(payload) == size else None


def _answer_of(message: bytes) -> bytes:
    """Do a task, and return its result or its error, pickled."""
    try:
        work, value = pickle.loads(message)
        return pickle.dumps((True, work(value)))
    except Exception as error:  # noqa: BLE001 - raised where the answer is read
        return pickle.dumps((False, _portable(error)))


def _portable(error: Exception) -> Exception:
    """Return an error that another process can unpickle."""
    try:
        found: Any = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - errors of libraries pickle in many wrong ways
        found = None
    return error if type(found) is type(error) else RuntimeError(f"{type(error).__name__}: {error}")


def main() -> None:
    """Do tasks until there is no input any more."""
    # The service is told to end, and lets its tasks finish; a terminal tells all processes at it,
    # and systemd all of a unit.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        while (message := receive(sys.stdin.buffer)) is not None:
            send(answers, _answer_of(message))
    except BrokenPipeError:
        # The service was killed. What is left in the buffer would fail again at the exit.
        os._exit(0)


if __name__ == "__main__":
    main()

"""The end of a command that goes on until it is told to stop."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST_STOP_SECONDS = 10.0
"""From a signal to the end of the process, whatever is under way."""
_FORCED = 1
"""The exit code of a process that could not end by itself."""


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Set an event at a SIGINT or SIGTERM; only the main thread of a process is sent them.

    A process whose threads wait for a catalog or a file for ever is left all the same.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def end(*_: object) -> None:
        if not stop.is_set():
            stop.set()
            leaving = threading.Timer(MOST_STOP_SECONDS, os._exit, (_FORCED,))
            leaving.daemon = True
            leaving.start()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

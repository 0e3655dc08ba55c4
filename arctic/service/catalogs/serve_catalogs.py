"""Services for several catalogs, from their beginning to the end of all.

Rules:
    - Each catalog has its own tables, groups, slots and threads. One that is away or hangs is tried
      again until it is back; the others do not wait for it.
    - A failure that time does not mend ends all of them at once: a catalog that is not configured,
      a session of Spark that has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.job.reference import Catalog
from arctic.job.tasks.run_tasks import LostRunnerError, TaskRunner
from arctic.service.asked_service import AskedService
from arctic.service.ending import Ending
from arctic.service.event_log import Say, why
from arctic.service.serve import Beside, serve_tables

_MOST_AWAY_SECONDS = 60.0
"""Until a catalog is tried again that could not be opened."""
_END_SPARE_SECONDS = 2.0
"""At the end, for calls that are under way and those who are told of it."""
_FINAL = (InvalidInputError, LostRunnerError, UnsupportedError)
"""What no waiting mends."""
_WAKE_SECONDS = 0.2


def serve_catalogs(
    asked: Mapping[str, AskedService],
    catalogs: Mapping[str, Catalog],
    *,
    once: bool,
    stop: threading.Event | None,
    say: Callable[[str], Say],
    spark_runner: TaskRunner | None,
    beside: Callable[[str], Beside] | None,
    ending: Ending,
) -> None:
    """Look after every table of several catalogs; as ``serve_tables``.

    Args:
        asked: name of a catalog -> how.
        catalogs: name -> a PyIceberg catalog, by name or by properties.
        once: do what is due now and return; else go on until ``stop``.
        stop: set it, and the call returns within about ten seconds.
        say: of a catalog, is called with each event and its facts.
        spark_runner: runs the tasks of groups whose executors are of Spark.
        beside: of a catalog, what is to run as long as its service does; None: nothing.
        ending: of all of them, how long it takes.

    Raises:
        ArcticError: the first failure, after all others have done what is due; or, where they go
            on, at once what no waiting mends.
    """
    ends = threading.Event()
    failures: dict[str, Exception] = {}

    def look_after(name: str) -> None:
        serve = partial(
            serve_tables,
            asked[name],
            once=once,
            stop=ends,
            say=say(name),
            spark_runner=spark_runner,
            beside=None if beside is None else beside(name),
            warehouse=None,
            catalog=catalogs[name],
        )
        while not ends.is_set():
            error = _failure(partial(serve, ending=Ending(ending)))
            if error is None or ends.is_set():
                return
            is_final = isinstance(error, _FINAL)
            if is_final or once:
                failures[name] = error
            if is_final:
                ends.set()
                return
            say(name)("failed", what="beginning with the catalog", why=why(error))
            if once:
                return
            ends.wait(min(_MOST_AWAY_SECONDS, asked[name].interval_seconds))

    threads = [
        threading.Thread(target=look_after, args=(name,), name=f"arctic-of-{name}", daemon=True)
        for name in catalogs
    ]
    for thread in threads:
        thread.start()
    try:
        _wait(threads, stop, ends, ending)
    except KeyboardInterrupt:
        ends.set()
        _wait(threads, None, ends, ending)
        raise
    for name in catalogs:
        if name in failures:
            raise failures[name]


def _failure(serve: Callable[[], None]) -> Exception | None:
    try:
        serve()
    except Exception as error:  # noqa: BLE001 - the other catalogs must not stop
        return error
    return None


def _wait(
    threads: list[threading.Thread],
    stop: threading.Event | None,
    ends: threading.Event,
    ending: Ending,
) -> None:
    """Wait until all services have ended; those that were told to, while there is time."""
    while any(thread.is_alive() for thread in threads):
        if stop is not None and stop.is_set():
            ends.set()
        if ends.is_set():
            ending.begin()
            if not ending.left_seconds(spare=_END_SPARE_SECONDS):
                return
        for thread in threads:
            thread.join(_WAKE_SECONDS / len(threads))

"""The service from its beginning to its end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.commits.lease import MOST_LEASE_MS, owner_name
from arctic.job.reference import Catalog, call_options, placed
from arctic.job.tasks.run_tasks import LostRunnerError, TaskRunner
from arctic.service.asked_service import PROCESS, SPARK, AskedService
from arctic.service.control import ServiceControl
from arctic.service.ending import Ending
from arctic.service.event_log import Say, why
from arctic.service.executors.process_place import ProcessPlace
from arctic.service.executors.task_place import RunnerPlace, TaskPlace, ThreadPlace
from arctic.service.history.history_file import History
from arctic.service.process_book import ProcessBook
from arctic.service.scheduling.ranks import SCHEDULERS
from arctic.service.table_runs import ServiceSettings
from arctic.service.table_service import TableService
from arctic.service.table_work import TableWork
from arctic.service.watching.watch import Watch

Beside = Callable[[ServiceControl], AbstractContextManager[object]]
"""What runs beside a service, and is given the control of it."""
_LEAST_LEASE_MS = 600_000
_MOST_LEASE_MS = MOST_LEASE_MS // 2
"""So that it counts for services whose clocks are behind, too."""
_STOP_SECONDS = 0.2
"""How long the thread that waits for the end of a service outlives it."""


def serve_tables(
    asked: AskedService,
    *,
    once: bool,
    stop: threading.Event | None,
    say: Say,
    spark_runner: TaskRunner | None = None,
    beside: Beside | None = None,
    ending: Ending,
    warehouse: str | None,
    catalog: Catalog | None,
) -> None:
    """Look after every table of a catalog; as ``arctic.serve``.

    Args:
        asked: how.
        once: do what is due now and return; else go on until ``stop``.
        stop: set it, and the call returns within about ten seconds.
        say: is called with each event and its facts.
        spark_runner: runs the tasks of groups whose executors are of Spark.
        beside: what is to run as long as the service does; None: nothing.
        ending: how long it takes to end.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        LostRunnerError: what runs the tasks has ended; so has the service then.
    """
    _check_spark(asked, spark_runner)
    place = placed(call_options(None, warehouse, catalog))
    config = CatalogConfig.from_options(place)
    open_catalog(config)
    settings = _settings(asked)
    history = History(asked.history, say)
    work = TableWork(
        config=config,
        place=place,
        owner=owner_name(os.getpid()),
        lease_ms=min(_MOST_LEASE_MS, max(_LEAST_LEASE_MS, 3 * settings.interval_ms)),
        now_ms=_now_ms,
        passed_ms=_passing(),
        say=say,
    )
    watch = Watch(
        config=config,
        asked=work.asked,
        groups=None if asked.is_read_only else frozenset(settings.groups),
        threads=int(asked.threads),
        say=say,
    )
    executors = {name: asked.executor(name) for name in asked.slots}
    lost: list[LostRunnerError] = []

    def end_without(error: LostRunnerError) -> None:
        lost.append(error)
        service.stop()

    service = TableService(
        work,
        watch,
        ProcessBook(history, work.now_ms),
        settings,
        {name: _places(each, spark_runner, end_without) for name, each in executors.items()},
        ending,
    )
    control = ServiceControl(service=service, executors=executors)
    say("serving", owner=work.owner, scheduler=asked.scheduler, groups=dict(settings.groups))
    with _stopped_by(service, stop), beside(control) if beside else nullcontext():
        try:
            if once:
                service.run_once()
            else:
                service.run()
        finally:
            history.close()
            for error in lost[:1]:
                say("failed", what="running tasks; the service ends", why=why(error))
            say("stopped", owner=work.owner)
    for error in lost:
        raise error


def _settings(asked: AskedService) -> ServiceSettings:
    return ServiceSettings(
        groups=asked.slots,
        scheduler=SCHEDULERS[asked.scheduler],
        interval_ms=int(1_000 * asked.interval_seconds),
        clean_every_ms=int(1_000 * asked.clean_every_seconds),
        is_read_only=asked.is_read_only,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _passing() -> Callable[[], int]:
    """Return a clock that begins with the time of now, and is never set."""
    began_ms = _now_ms() - time.monotonic_ns() // 1_000_000
    return lambda: began_ms + time.monotonic_ns() // 1_000_000


def _check_spark(asked: AskedService, runner: TaskRunner | None) -> None:
    for name in asked.slots:
        if asked.executor(name) == SPARK and runner is None:
            raise InvalidInputError(
                f"group {name!r} is to be worked on by Spark, and no session was given; expected "
                "arctic.serve(spark=...)"
            )


def _places(
    executor: str, runner: TaskRunner | None, lost: Callable[[LostRunnerError], None]
) -> Callable[[], TaskPlace]:
    if executor == SPARK and runner is not None:
        place = RunnerPlace(runner, lost)
        return lambda: place
    return ProcessPlace if executor == PROCESS else ThreadPlace


@contextmanager
def _stopped_by(service: TableService, stop: threading.Event | None) -> Iterator[None]:
    """Stop a service when an event is set, or when this thread is interrupted."""
    ended = threading.Event()

    def wait(asked: threading.Event) -> None:
        while not ended.is_set():
            if asked.wait(_STOP_SECONDS):
                service.stop()
                return

    if stop is not None:
        threading.Thread(target=wait, args=(stop,), name="arctic-stop", daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        service.stop()
        service.wait_for_the_end()
        raise
    finally:
        ended.set()

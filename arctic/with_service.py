"""The verb that looks after every table of a catalog, with all that may stand beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.job.reference import Catalog
from arctic.job.tasks.run_tasks import TaskRunner
from arctic.service.asked_service import AskedService
from arctic.service.catalogs.asked_catalogs import asked_of_catalogs
from arctic.service.catalogs.serve_catalogs import serve_catalogs
from arctic.service.ending import Ending
from arctic.service.event_counts import EventCounts
from arctic.service.event_log import Say, said_to, say_to_log
from arctic.service.outlets.command import command
from arctic.service.outlets.outlet import Outlet
from arctic.service.outlets.webhook import webhook as posted_to
from arctic.service.serve import Beside, serve_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from arctic.http.catalogs_app import CatalogsApp
    from arctic.http.http_face import HttpFace


def serve(
    *,
    once: bool = False,
    stop: threading.Event | None = None,
    groups: Mapping[str, int] | None = None,
    executors: Mapping[str, str] | None = None,
    scheduler: str = "quota",
    interval_seconds: float = 180.0,
    clean_every_seconds: float = 86_400.0,
    threads: int = 10,
    http: str | None = None,
    http_token_file: str | None = None,
    history: str | None = None,
    webhook: str | None = None,
    event_command: str | None = None,
    spark: SparkSession | None = None,
    read_only: bool = False,
    say: Say = say_to_log,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
    catalogs: Mapping[str, Catalog] | None = None,
) -> None:
    """Look after every table of a catalog: optimize what is due, clean what nobody needs.

    ``docs/service.md`` tells what it does, and which properties of a table it goes by. Several may
    run on one catalog.

    Args:
        once: do what is due now and return; else go on until ``stop``.
        stop: set it, and the call returns within about ten seconds.
        groups: name -> tasks that run at a time; None: ``default``, with the cores of this machine.
        executors: group -> ``thread``, ``process`` or ``spark``: where its tasks run; else threads.
        scheduler: ``quota``, ``balanced`` or ``benefit``: who goes first where many wait.
        interval_seconds: between two looks at the catalog.
        clean_every_seconds: between two cleanings of a table.
        threads: that look at tables.
        http: ``host:port`` where calls are answered, as ``docs/service.md`` lists them; needs the
            extra ``serve``.
        http_token_file: holds the token that callers must show; None: ``ARCTIC_HTTP_TOKEN``, or
            none where only this machine can call.
        history: a small SQLite file that remembers what was done; None: it is kept in memory.
        webhook: address that events are posted to.
        event_command: program that is run for an event, with a JSON document as its input.
        spark: the session that runs the tasks of groups whose executors are ``spark``.
        read_only: look at tables and answer calls about them, but change none; groups, executors
            and schedulers have no meaning then.
        say: is called with each event and its facts; None: events go to logger ``arctic.service``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.
        catalogs: several catalogs instead, name -> catalog. ``catalog/group`` names a group or
            executor of one of them alone. Each keeps its history in a file beside ``history``.

    Memory: that of the tasks that run at a time, as ``optimize`` says, and 2 KB for each partition.

    Raises:
        NotFoundError: no such warehouse.
        InvalidInputError: an unknown scheduler or executor, a number, a group, an address or a
            token that cannot be.
        StorageError: the catalog cannot be reached at the beginning.
        UnsupportedError: ``http`` without the extra ``serve``.
    """
    is_one = not catalogs
    if catalogs and (warehouse is not None or catalog is not None):
        raise InvalidInputError("catalogs beside catalog or warehouse; expected one of them")
    asked = AskedService(
        groups=groups or {} if is_one else {},
        executors=executors or {} if is_one else {},
        scheduler=scheduler,
        interval_seconds=interval_seconds,
        clean_every_seconds=clean_every_seconds,
        threads=threads,
        history=history,
        is_read_only=read_only,
    )
    if once and http is not None:
        raise InvalidInputError("http beside once; expected a service that goes on")
    counts = EventCounts()
    log = said_to(counts.say, say)
    ending = Ending()
    outlets = _outlets(webhook, event_command, log, ending)
    told = said_to(log, *(outlet.say for outlet in outlets))
    with ExitStack() as beside:
        for outlet in outlets:
            beside.enter_context(outlet.telling())
        face = None
        if http is not None:
            face = _face(http, http_token_file, counts, interval_seconds, log)
            beside.callback(face.close)
        if catalogs:
            _serve_several(
                asked_of_catalogs(catalogs, asked, groups=groups or {}, executors=executors or {}),
                catalogs,
                once=once,
                stop=stop,
                say=told,
                spark=spark,
                face=face,
                ending=ending,
            )
            return
        serve_tables(
            asked,
            once=once,
            stop=stop,
            say=told,
            spark_runner=_spark_runner(spark),
            beside=None if face is None else face.serving,
            ending=ending,
            warehouse=warehouse,
            catalog=catalog,
        )


def _serve_several(
    asked: Mapping[str, AskedService],
    catalogs: Mapping[str, Catalog],
    *,
    once: bool,
    stop: threading.Event | None,
    say: Say,
    spark: SparkSession | None,
    face: HttpFace | None,
    ending: Ending,
) -> None:
    counts = {name: EventCounts() for name in catalogs}

    def say_of(name: str) -> Say:
        def say_it(event: str, **facts: object) -> None:
            say(event, catalog=name, **facts)

        return said_to(counts[name].say, say_it)

    with ExitStack() as beside:
        joined: Callable[[str], Beside] | None = None
        if face is not None:
            app = beside.enter_context(face.serving_catalogs(list(catalogs)))

            joined = partial(_joining, app, counts)
        serve_catalogs(
            asked,
            catalogs,
            once=once,
            stop=stop,
            say=say_of,
            spark_runner=_spark_runner(spark),
            beside=joined,
            ending=ending,
        )


def _joining(app: CatalogsApp, counts: Mapping[str, EventCounts], name: str) -> Beside:
    return lambda control: app.joined(name, control, counts[name])


def _outlets(
    webhook: str | None, event_command: str | None, log: Say, ending: Ending
) -> list[Outlet]:
    outlets = []
    if webhook is not None:
        outlets.append(Outlet("webhook", posted_to(webhook), log, ending))
    if event_command is not None:
        outlets.append(Outlet("event-command", command(event_command), log, ending))
    return outlets


def _face(
    address: str, token_file: str | None, counts: EventCounts, interval_seconds: float, log: Say
) -> HttpFace:
    # Late: what it needs is an extra, and no other verb does.
    try:
        from arctic.http.http_face import HttpFace  # noqa: PLC0415
        from arctic.http.http_settings import HttpSettings  # noqa: PLC0415
    except ImportError as error:
        raise UnsupportedError(
            f"http: {error}; install the extra, in a checkout: pip install '.[serve]'"
        ) from error
    settings = HttpSettings.of(address, token_file)
    return HttpFace(settings, counts=counts, interval_seconds=interval_seconds, say=log)


def _spark_runner(spark: SparkSession | None) -> TaskRunner | None:
    if spark is None:
        return None
    # Late: importing Spark takes longer than a look at a table.
    from arctic.spark.tasks.spark_tasks import SparkRunner  # noqa: PLC0415

    return SparkRunner(spark)

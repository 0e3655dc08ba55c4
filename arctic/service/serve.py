"""The verb that looks after every table of a catalog."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.commits.lease import MOST_LEASE_MS
from arctic.job.reference import Catalog, call_options, placed
from arctic.options import default_parallelism
from arctic.service.event_log import Say, say_to_log
from arctic.service.scheduling.ranks import SCHEDULERS
from arctic.service.table_service import ServiceSettings, TableService
from arctic.service.table_work import TableWork
from arctic.service.watch import Watch

_LEAST_LEASE_MS = 600_000
_MOST_LEASE_MS = MOST_LEASE_MS // 2
"""So that it counts for services whose clocks are behind, too."""
_STOP_SECONDS = 0.2
"""How long the thread that waits for the end of a service outlives it."""
_NAME = re.compile(r"[\w.-]+")


def serve(
    *,
    once: bool = False,
    stop: threading.Event | None = None,
    groups: Mapping[str, int] | None = None,
    scheduler: str = "quota",
    interval_seconds: float = 180.0,
    clean_every_seconds: float = 86_400.0,
    threads: int = 10,
    say: Say = say_to_log,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> None:
    """Look after every table of a catalog: optimize what is due, clean what nobody needs.

    ``docs/service.md`` tells what it does, and which properties of a table it goes by. Several may
    run on one catalog.

    Args:
        once: do what is due now and return; else go on until ``stop``.
        stop: set it, and the call returns within about ten seconds.
        groups: name -> tasks that run at a time; None: ``default``, with the cores of this machine.
        scheduler: ``quota``, ``balanced`` or ``benefit``: who goes first where many wait.
        interval_seconds: between two looks at the catalog.
        clean_every_seconds: between two cleanings of a table.
        threads: that look at tables.
        say: is called with each event and its facts; else the logger ``arctic.service`` is.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: that of the tasks that run at a time, as ``optimize`` says, and 2 KB for each partition.

    Raises:
        NotFoundError: no such warehouse.
        InvalidInputError: an unknown scheduler, or a number or a group that cannot be.
        StorageError: the catalog cannot be reached at the beginning.
    """
    settings = ServiceSettings(
        groups=_checked(groups or {"default": default_parallelism()}),
        scheduler=SCHEDULERS[_known(scheduler)],
        interval_ms=int(1_000 * _above_0("interval_seconds", interval_seconds)),
        clean_every_ms=int(1_000 * _above_0("clean_every_seconds", clean_every_seconds)),
    )
    place = placed(call_options(None, warehouse, catalog))
    config = CatalogConfig.from_options(place)
    open_catalog(config)
    work = TableWork(
        config=config,
        place=place,
        owner=f"{socket.gethostname() or 'host'}-{os.getpid()}-{uuid.uuid4().hex[:8]}",
        lease_ms=min(_MOST_LEASE_MS, max(_LEAST_LEASE_MS, 3 * settings.interval_ms)),
        now_ms=lambda: time.time_ns() // 1_000_000,
        say=say,
    )
    watch = Watch(
        config=config,
        asked=work.asked,
        groups=frozenset(settings.groups),
        threads=int(_above_0("threads", threads)),
        say=say,
    )
    service = TableService(work, watch, settings)
    say("serving", owner=work.owner, scheduler=scheduler, groups=dict(settings.groups))
    with _stopped_by(service, stop):
        try:
            if once:
                service.run_once()
            else:
                service.run()
        finally:
            say("stopped", owner=work.owner)


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


def _known(scheduler: str) -> str:
    if scheduler not in SCHEDULERS:
        raise InvalidInputError(
            f"scheduler {scheduler!r}; expected one of {', '.join(sorted(SCHEDULERS))}"
        )
    return scheduler


def _checked(groups: Mapping[str, int]) -> dict[str, int]:
    for name, slots in groups.items():
        if not _NAME.fullmatch(name):
            raise InvalidInputError(
                f"group {name!r}; expected letters, digits, '_', '-' or '.', such as 'default'"
            )
        if slots < 1:
            raise InvalidInputError(f"group {name!r} of {slots} slots; expected 1 or more")
    return dict(groups)


def _above_0(name: str, number: float) -> float:
    if not 0 < number < float("inf"):
        raise InvalidInputError(f"{name} {number}; expected a number above 0")
    return number

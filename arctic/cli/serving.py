"""``arctic serve``: look after every table of a catalog."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import click

from arctic.cli.place import catalog_options, place_of
from arctic.service.event_log import json_line, text_line
from arctic.service.scheduling.ranks import SCHEDULERS
from arctic.service.serve import serve as serve_tables


def _groups(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    pairs = [value.partition("=") for value in values]
    for name, _, slots in pairs:
        if not name.strip() or not slots.strip().isdecimal():
            raise click.BadParameter("expected NAME=SLOTS, for example default=4.")
    return {name.strip(): int(slots) for name, _, slots in pairs}


@click.command()
@click.option("--once", is_flag=True, help="Do what is due now, and end.")
@click.option(
    "--group",
    "groups",
    metavar="NAME=SLOTS",
    multiple=True,
    callback=_groups,
    help="A group and the tasks that run in it at a time; may be repeated. Else default=CORES.",
)
@click.option(
    "--scheduler",
    type=click.Choice(sorted(SCHEDULERS)),
    default="quota",
    show_default=True,
    help="Who goes first where many tables wait.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    default=180.0,
    show_default=True,
    help="Seconds between two looks at the catalog.",
)
@click.option(
    "--clean-every",
    type=click.FloatRange(min=0, min_open=True),
    default=86_400.0,
    show_default=True,
    help="Seconds between two cleanings of a table.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Tables that are looked at, at a time.",
)
@catalog_options
def serve(
    once: bool,
    groups: dict[str, int],
    scheduler: str,
    interval: float,
    clean_every: float,
    threads: int,
    output: str,
    **place: Any,
) -> None:
    """Look after every table: optimize what is due, clean what nobody needs.

    Each event is a line of standard output. An interrupt or a SIGTERM ends it within ten seconds.
    """
    line = json_line if output == "json" else text_line

    def say(event: str, **facts: object) -> None:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        said = line(event, at=now, **facts) if output == "json" else f"{now} {line(event, **facts)}"
        click.echo(said)

    with _stop_by_signals() as stop:
        serve_tables(
            once=once,
            stop=stop,
            groups=groups or None,
            scheduler=scheduler,
            interval_seconds=interval,
            clean_every_seconds=clean_every,
            threads=threads,
            say=say,
            **place_of(**place),
        )


@contextmanager
def _stop_by_signals() -> Iterator[threading.Event]:
    """Set an event at a SIGINT or SIGTERM; only the main thread of a process is sent them."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

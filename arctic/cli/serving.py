"""``arctic serve``: look after every table of a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import click

from arctic.cli.config_file import read_config
from arctic.cli.place import catalogs_options, looking_interval, looking_threads, places_of
from arctic.cli.signals import stopped_by_signals
from arctic.service.asked_service import PROCESS, SPARK, THREAD
from arctic.service.event_log import json_line, text_line
from arctic.service.scheduling.ranks import SCHEDULERS
from arctic.with_service import serve as serve_tables
from arctic.with_spark import local_session

_ENVIRONMENT = "ARCTIC_SERVE"


def _pairs(values: tuple[str, ...], expected: str) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    for name, _, text in pairs:
        if not name.strip() or not text.strip():
            raise click.BadParameter(expected)
    return {name.strip(): text.strip() for name, _, text in pairs}


def _groups(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    expected = "expected NAME=SLOTS, for example default=4."
    pairs = _pairs(values, expected)
    if not all(slots.isdecimal() for slots in pairs.values()):
        raise click.BadParameter(expected)
    return {name: int(slots) for name, slots in pairs.items()}


def _executors(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    return _pairs(values, f"expected NAME={THREAD}, NAME={PROCESS} or NAME={SPARK}.")


@click.command(context_settings={"auto_envvar_prefix": _ENVIRONMENT})
@click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=read_config,
    help="A TOML file with these options by name; ARCTIC_SERVE_NAME and the command line win.",
)
@click.option("--once", is_flag=True, help="Do what is due now, and end.")
@click.option(
    "--group",
    metavar="NAME=SLOTS",
    multiple=True,
    callback=_groups,
    help="A group and the tasks that run in it at a time; may be repeated. Else default=CORES.",
)
@click.option(
    "--executor",
    metavar="NAME=KIND",
    multiple=True,
    callback=_executors,
    help="Where the tasks of a group run: thread, process or spark; may be repeated.",
)
@click.option(
    "--scheduler",
    type=click.Choice(sorted(SCHEDULERS)),
    default="quota",
    show_default=True,
    help="Who goes first where many tables wait.",
)
@looking_interval
@click.option(
    "--clean-every",
    type=click.FloatRange(min=0, min_open=True),
    default=86_400.0,
    show_default=True,
    help="Seconds between two cleanings of a table.",
)
@looking_threads
@click.option("--http", metavar="HOST:PORT", help="Where calls are answered, and the page is.")
@click.option(
    "--http-token-file",
    metavar="FILE",
    help="Holds the token that callers must show; else ARCTIC_HTTP_TOKEN does.",
)
@click.option("--history", metavar="FILE", help="A small SQLite file of what was done.")
@click.option("--webhook", metavar="URL", help="Where events are posted to.")
@click.option("--event-command", metavar="COMMAND", help="A program that is run for an event.")
@catalogs_options
def serve(
    once: bool,
    group: dict[str, int],
    executor: dict[str, str],
    scheduler: str,
    interval: float,
    clean_every: float,
    threads: int,
    http: str | None,
    http_token_file: str | None,
    history: str | None,
    webhook: str | None,
    event_command: str | None,
    output: str,
    **place: Any,
) -> None:
    """Look after every table: optimize what is due, clean what nobody needs.

    With several catalogs a group or executor of one alone is named CATALOG/GROUP.
    Each event is a line of standard output. An interrupt or a SIGTERM ends it within 10 seconds.
    """
    line = json_line if output == "json" else text_line

    def say(event: str, **facts: object) -> None:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        said = line(event, at=now, **facts) if output == "json" else f"{now} {line(event, **facts)}"
        click.echo(said)

    with stopped_by_signals() as stop:
        serve_tables(
            once=once,
            stop=stop,
            groups=group or None,
            executors=executor,
            scheduler=scheduler,
            interval_seconds=interval,
            clean_every_seconds=clean_every,
            threads=threads,
            http=http,
            http_token_file=http_token_file,
            history=history,
            webhook=webhook,
            event_command=event_command,
            spark=_session(executor),
            say=say,
            **places_of(**place),
        )


def _session(executors: Mapping[str, str]) -> Any:
    """Return the session that there is, or one of this machine; None: none is needed."""
    return local_session(app_name="arctic serve") if SPARK in executors.values() else None

"""The commands that wait for event time: ready, windows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

import arctic
from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json
from arctic.job.complete.readiness import Readiness
from arctic.job.complete.window_job import Window
from arctic.service.event_log import json_line
from arctic.service.outlets.command import command as run_by
from arctic.service.outlets.outlet import NotToldError
from arctic.service.outlets.webhook import webhook

EXIT_BEHIND = 3
"""Of ``ready``, where the table is not complete: no failure, so that a scheduler can tell."""

_wait = click.option(
    "--wait", type=click.FloatRange(min=0), default=0, metavar="SECONDS", help="How long to wait."
)
_writers = click.option(
    "--writer", "writers", multiple=True, help="A writer that counts even if it has never written."
)


@click.command()
@click.argument("table")
@click.option("--until", required=True, metavar="TIME", help="Such as 12:10, or with day and zone.")
@_wait
@_writers
@catalog_options
def ready(
    table: str, until: str, wait: float, writers: tuple[str, ...], output: str, **place: Any
) -> int:
    """Say whether TABLE has every row before a time; exit code 3 if it has not."""
    found = arctic.ready(table, until, wait=wait, writers=writers, **place_of(**place))
    if output == "json":
        print_json(
            {
                "table": table,
                "ready": bool(found),
                "until": found.until.isoformat(),
                "watermark": _text(found.watermark),
                "behind": {name: _text(moment) for name, moment in found.behind.items()},
            }
        )
    else:
        click.echo(_said(found))
    return 0 if found else EXIT_BEHIND


@click.command()
@click.argument("table")
@click.argument("every")
@click.option("--consumer", required=True, metavar="NAME", help="Who works on them.")
@click.option("--start", metavar="TIME", help="A time in the first window of a new consumer.")
@_wait
@_writers
@click.option("--run", "line", metavar="COMMAND", help="Is given each window as JSON; no shell.")
@click.option("--post", "url", metavar="URL", help="Where each window is posted to.")
@catalog_options
def windows(
    table: str,
    every: str,
    consumer: str,
    start: str | None,
    wait: float,
    writers: tuple[str, ...],
    line: str | None,
    url: str | None,
    output: str,
    **place: Any,
) -> None:
    """Give each window of TABLE once, when it is complete: EVERY is its length, such as 10min.

    What fails on a window ends the command, and is given the window again by the next.
    """
    tellers: list[Callable[[str], None]] = []
    if line is not None:
        tellers.append(run_by(line, seconds=None))
    if url is not None:
        tellers.append(webhook(url))
    for window in arctic.windows(
        table,
        every,
        consumer=consumer,
        start=start,
        wait=wait,
        writers=writers,
        **place_of(**place),
    ):
        document = _document(window)
        try:
            for tell in tellers:
                tell(document)
        except NotToldError as error:
            raise click.ClickException(
                f"window {window.begin.isoformat()} of {table}: {error}; it is not done, and is "
                "given again"
            ) from error
        click.echo(document if output == "json" else f"{table}: {_span(window)}")


def _document(window: Window) -> str:
    return json_line(
        "window",
        table=window.table,
        begin=window.begin.isoformat(),
        end=window.end.isoformat(),
        version=window.version,
        base_snapshot_id=window.base_snapshot_id,
        change_snapshot_id=window.change_snapshot_id,
        filter=window.row_filter,
    )


def _span(window: Window) -> str:
    return f"{window.begin.isoformat()} to {window.end.isoformat()}, version {window.version}"


def _said(found: Readiness) -> str:
    if found:
        return f"{found.table}: complete until {found.until.isoformat()}"
    waits = [
        f"{name} ({_text(moment) or 'has never written'})" for name, moment in found.behind.items()
    ]
    far = _text(found.watermark) or "nowhere: no event time was written"
    return f"{found.table}: not complete until {found.until.isoformat()}, it has come to {far}" + (
        f"; behind: {', '.join(waits)}" if waits else ""
    )


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()

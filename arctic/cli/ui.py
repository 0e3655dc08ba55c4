"""``arctic ui``: pages about tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from arctic.cli.place import catalog_options, looking_interval, looking_threads, place_of
from arctic.cli.printed.render import print_json
from arctic.cli.signals import stopped_by_signals
from arctic.page.static_report import write_report
from arctic.scan.explain import counted
from arctic.service.event_log import json_line, text_line
from arctic.with_service import serve


@click.command()
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@click.option(
    "--report",
    metavar="FILE_OR_FOLDER",
    type=click.Path(path_type=Path),
    help="Write pages instead: a name that ends in .html is one file, any other a folder.",
)
@click.option(
    "--filter", "row_filter", metavar="TEXT", help='Plan a read of such rows, as "amount > 10".'
)
@click.option("--cleaning", is_flag=True, help="Find what a cleaning would remove; remove nothing.")
@click.option(
    "--http",
    metavar="HOST:PORT",
    default="127.0.0.1:0",
    show_default=True,
    help="Where the pages are served; 0 is a port that nobody uses.",
)
@looking_interval
@looking_threads
@catalog_options
def ui(
    tables: tuple[str, ...],
    report: Path | None,
    row_filter: str | None,
    cleaning: bool,
    http: str,
    interval: float,
    threads: int,
    output: str,
    **place: Any,
) -> None:
    """Show tables as pages for a browser, and change nothing.

    It serves the pages of a catalog until it is interrupted. With --report it writes them, of all
    tables or of each TABLE: those need no server and load nothing.
    """
    if report is None:
        if tables or row_filter is not None or cleaning:
            raise click.UsageError(
                "a table, --filter and --cleaning go with --report; the pages that are served ask "
                "for them."
            )
        _serve(http, interval, threads, output, place)
        return
    written = write_report(
        report,
        tables,
        row_filter=row_filter,
        with_cleaning=cleaning,
        threads=threads,
        **place_of(**place),
    )
    if output == "json":
        print_json(
            {
                "report": str(written.place),
                "tables": written.tables,
                "broken": {each.name: each.why for each in written.broken},
            }
        )
        return
    click.echo(f"{counted(written.tables, 'table')} in {written.place}")
    for each in written.broken:
        click.echo(f"broken: {each.name}: {each.why}")


def _serve(http: str, interval: float, threads: int, output: str, place: Mapping[str, Any]) -> None:
    def say(event: str, **facts: object) -> None:
        if event == "listening":
            address = f"http://{facts['address']}/"
            text = f"pages at {address}; Ctrl-C ends them"
            click.echo(json_line(event, address=address) if output == "json" else text)
        elif event in ("failed", "stuck"):
            click.echo(text_line(event, **facts), err=True)

    with stopped_by_signals() as stop:
        serve(
            read_only=True,
            stop=stop,
            interval_seconds=interval,
            threads=threads,
            http=http,
            say=say,
            **place_of(**place),
        )

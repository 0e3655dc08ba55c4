"""``arctic ui``: pages about tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arctic.cli.place import catalog_options, looking_threads, place_of
from arctic.cli.printed.render import print_json
from arctic.page.static_report import write_report
from arctic.scan.explain import counted


@click.command()
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@click.option(
    "--report",
    metavar="FILE_OR_FOLDER",
    required=True,
    type=click.Path(path_type=Path),
    help="A name that ends in .html is one file; any other a folder with a page for each table.",
)
@click.option(
    "--filter", "row_filter", metavar="TEXT", help='Plan a read of such rows, as "amount > 10".'
)
@click.option("--cleaning", is_flag=True, help="Find what a cleaning would remove; remove nothing.")
@looking_threads
@catalog_options
def ui(
    tables: tuple[str, ...],
    report: Path,
    row_filter: str | None,
    cleaning: bool,
    threads: int,
    output: str,
    **place: Any,
) -> None:
    """Draw tables as pages for a browser, and change nothing.

    Without a TABLE all tables of the catalog are drawn. The pages need no server and load nothing.
    """
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

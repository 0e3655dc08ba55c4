"""The commands for views: materialize, refresh, views."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import click

from arctic import materialized
from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json, print_rows
from arctic.job.views.refresh_report import RefreshReport
from arctic.views.view_definition import KINDS, ROWS


@click.command()
@click.argument("sql")
@click.option("--into", required=True, metavar="TABLE", help="The table to make.")
@click.option("--partition-by", multiple=True, metavar="FIELD", help="Such as day(at).")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default=ROWS,
    show_default=True,
    help="What it keeps: its rows, their versions, or those of each day.",
)
@click.option("--full", is_flag=True, help="Compute all rows anew, at every refresh.")
@catalog_options
def materialize(
    sql: str,
    into: str,
    partition_by: tuple[str, ...],
    kind: str,
    full: bool,
    output: str,
    **place: Any,
) -> None:
    """Make a table of what the statement SQL returns, to be kept up by refresh."""
    _print(
        materialized.materialize(
            sql, into, kind=kind, full=full, partition_by=partition_by, **place_of(**place)
        ),
        output,
    )


@click.command()
@click.argument("views", nargs=-1, required=True)
@click.option("--full", is_flag=True, help="Compute all rows anew, this time.")
@catalog_options
def refresh(views: tuple[str, ...], full: bool, output: str, **place: Any) -> None:
    """Bring VIEWS up to their sources, one after another."""
    for view in views:
        _print(materialized.refresh(view, full=full, **place_of(**place)), output)


@click.command()
@catalog_options
def views(output: str, **place: Any) -> None:
    """List the views with each of their sources, and how far they are behind."""
    found = materialized.list_views(**place_of(**place))
    if output == "json":
        rows = found.to_pylist()
        print_json([{name: _number(each) for name, each in row.items()} for row in rows])
    else:
        print_rows(found)


def _number(value: Any) -> Any:
    """Return a duration in seconds, and other values as they are."""
    return value.total_seconds() if isinstance(value, timedelta) else value


def _print(report: RefreshReport, output: str) -> None:
    if output == "json":
        print_json(asdict(report))
    else:
        click.echo(str(report))

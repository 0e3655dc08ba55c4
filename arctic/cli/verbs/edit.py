"""The commands that change rows by a condition: delete, update."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

import arctic
from arctic.cli.place import catalog_options, name_value_pairs, place_of
from arctic.cli.printed.render import print_json
from arctic.job.edit.edit_report import EditReport

_where = click.option(
    "--where",
    metavar="TEXT",
    required=True,
    help="Which rows: a condition of SQL; 'true' means all of them.",
)


@click.command()
@click.argument("table")
@_where
@catalog_options
def delete(table: str, where: str, output: str, **place: Any) -> None:
    """Delete the rows of TABLE that a condition is true of, in one commit."""
    _print(arctic.open_table(table, **place_of(**place)).delete(_condition(where)), output)


@click.command()
@click.argument("table")
@click.argument(
    "settings", metavar="COLUMN=EXPRESSION...", nargs=-1, required=True, callback=name_value_pairs
)
@_where
@catalog_options
def update(table: str, settings: dict[str, str], where: str, output: str, **place: Any) -> None:
    """Set columns of the rows of TABLE that a condition is true of, in one commit."""
    found = arctic.open_table(table, **place_of(**place))
    _print(found.update(_condition(where), set=settings), output)


def _condition(where: str) -> str | None:
    return None if where.strip().lower() == "true" else where


def _print(report: EditReport, output: str) -> None:
    if output == "json":
        print_json({**asdict(report), "seconds": round(report.seconds, 3)})
    else:
        click.echo(str(report))

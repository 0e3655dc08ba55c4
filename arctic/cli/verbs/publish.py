"""The commands that show a table to other engines: publish and unpublish."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

import arctic
from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json

_into = click.option("--into", metavar="NAME", help="The published table; else TABLE_fresh.")
_form = click.option(
    "--form",
    type=click.Choice(["v2", "v3", "clean"]),
    help="Position deletes, vectors, or copies without dead rows; else as it was published before, "
    "or as the property publish.output says.",
)


@click.command()
@click.argument("table")
@_into
@_form
@catalog_options
def publish(table: str, into: str | None, form: str | None, output: str, **place: Any) -> None:
    """Show the newest rows of TABLE as a plain Iceberg table that any engine reads."""
    report = arctic.publish(table, into=into, output=form, **place_of(**place))
    if output == "json":
        print_json({**asdict(report), "seconds": round(report.seconds, 3)})
    else:
        click.echo(str(report))


@click.command()
@click.argument("table")
@click.option("--into", metavar="NAME", help="One published table; else all of them.")
@catalog_options
def unpublish(table: str, into: str | None, output: str, **place: Any) -> None:
    """Drop the published table of TABLE; its own rows stay."""
    names = arctic.unpublish(table, into, **place_of(**place))
    if output == "json":
        print_json({"table": table, "dropped": list(names)})
    else:
        click.echo(f"{table}: dropped {', '.join(names) or 'nothing: it is not published'}")

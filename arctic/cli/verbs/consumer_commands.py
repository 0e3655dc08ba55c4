"""The commands for consumers of changes: consumers, drop-consumer."""

from __future__ import annotations

from typing import Any

import click

import arctic
from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json, print_rows


@click.command()
@click.argument("table")
@catalog_options
def consumers(table: str, output: str, **place: Any) -> None:
    """List the consumers of the changes of TABLE, with how far they are behind."""
    found = arctic.consumers(table, **place_of(**place))
    if output == "json":
        rows = found.to_pylist()
        print_json([{**row, "behind": row["behind"].total_seconds()} for row in rows])
    else:
        print_rows(found)


@click.command("drop-consumer")
@click.argument("table")
@click.argument("name")
@catalog_options
def drop_consumer(table: str, name: str, output: str, **place: Any) -> None:
    """Forget the consumer NAME of TABLE, so that expiry may take what only it held back."""
    arctic.drop_consumer(table, name, **place_of(**place))
    if output == "json":
        print_json({"table": table, "dropped": name})
    else:
        click.echo(f"{table}: dropped consumer {name}")

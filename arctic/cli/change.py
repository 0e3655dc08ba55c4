"""The commands that change what a table is: set, unset, rename."""

from __future__ import annotations

from typing import Any

import click

import arctic
from arctic.cli.place import catalog_options, name_value_pairs, place_of
from arctic.cli.printed.render import print_json


@click.command("set")
@click.argument("table")
@click.argument(
    "settings", metavar="NAME=VALUE...", nargs=-1, required=True, callback=name_value_pairs
)
@catalog_options
def set_properties(table: str, settings: dict[str, str], output: str, **place: Any) -> None:
    """Set properties of TABLE, even if a bad one keeps it from being opened."""
    found = arctic.set_properties(table, settings, **place_of(**place))
    names = sorted(name for name in found.properties if _is_one_of(name, settings))
    _print(output, table, {name: found.properties[name] for name in names})


@click.command("unset")
@click.argument("table")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@catalog_options
def unset_properties(table: str, names: tuple[str, ...], output: str, **place: Any) -> None:
    """Remove properties of TABLE, so that their defaults apply again."""
    arctic.unset_properties(table, names, **place_of(**place))
    _print(output, table, dict.fromkeys(names))


@click.command()
@click.argument("table")
@click.argument("new_name")
@catalog_options
def rename(table: str, new_name: str, output: str, **place: Any) -> None:
    """Call TABLE by NEW_NAME (namespace.table) from now on."""
    renamed = arctic.rename(table, new_name, **place_of(**place))
    if output == "json":
        print_json({"table": renamed.name, "before": table})
    else:
        click.echo(f"{table} is {renamed.name} now")


def _is_one_of(name: str, settings: dict[str, str]) -> bool:
    return name.lower() in {each.lower() for each in settings}


def _print(output: str, table: str, properties: dict[str, str | None]) -> None:
    if output == "json":
        print_json({"table": table, "properties": properties})
        return
    for name, text in properties.items():
        click.echo(f"{table}: {name} is not set" if text is None else f"{table}: {name} = {text}")

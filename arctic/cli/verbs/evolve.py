"""The command that changes the columns of a table."""

from __future__ import annotations

from typing import Any

import click
import pyarrow as pa

import arctic
from arctic.cli.place import catalog_options, name_value_pairs, place_of
from arctic.cli.printed.look_lines import columns_of
from arctic.cli.printed.render import print_json, print_rows
from arctic.iceberg.values.type_names import named_type


@click.command()
@click.argument("table")
@click.option(
    "--add",
    metavar="NAME=TYPE",
    multiple=True,
    callback=name_value_pairs,
    help="A new column, such as seen=timestamptz; may be repeated.",
)
@click.option(
    "--rename",
    metavar="OLD=NEW",
    multiple=True,
    callback=name_value_pairs,
    help="Another name for a column; may be repeated.",
)
@click.option(
    "--widen",
    metavar="NAME=TYPE",
    multiple=True,
    callback=name_value_pairs,
    help="A wider type for a column, such as n=long; may be repeated.",
)
@click.option("--drop", metavar="NAME", multiple=True, help="A column to drop; may be repeated.")
@catalog_options
def evolve(
    table: str,
    add: dict[str, str],
    rename: dict[str, str],
    widen: dict[str, str],
    drop: tuple[str, ...],
    output: str,
    **place: Any,
) -> None:
    """Add, rename, widen and drop columns of TABLE, all at once."""
    if not (add or rename or widen or drop):
        raise click.UsageError("expected --add, --rename, --widen or --drop, one at least.")
    found = arctic.evolve_schema(
        table,
        add=_types(add),
        rename=rename,
        widen=_types(widen),
        drop=drop,
        **place_of(**place),
    )
    columns = columns_of(found)
    if output == "json":
        print_json({"table": found.name, "columns": columns.to_pylist()})
    else:
        print_rows(columns)


def _types(texts: dict[str, str]) -> dict[str, pa.DataType]:
    return {name: named_type(text, column=name) for name, text in texts.items()}

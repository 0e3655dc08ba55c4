"""The commands that look at tables and change nothing: tables, show, explain, history."""

from __future__ import annotations

from typing import Any

import click

import arctic
from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.look_lines import commit_lines, describe
from arctic.cli.printed.render import print_json, print_rows

_columns = click.option("--columns", metavar="A,B,C", help="Columns to read, in this order.")
_filter = click.option(
    "--filter", "row_filter", metavar="TEXT", help='Rows to keep, such as "amount > 10".'
)


@click.command()
@click.argument("namespace", required=False)
@catalog_options
def tables(namespace: str | None, output: str, **place: Any) -> None:
    """List the tables of a NAMESPACE, or of all."""
    names = arctic.list_tables(namespace, **place_of(**place))
    if output == "json":
        print_json(names)
        return
    for name in names:
        click.echo(name)


@click.command()
@click.argument("table")
@click.option(
    "--rows", type=click.IntRange(min=0), default=10, show_default=True, help="Rows to print."
)
@_columns
@_filter
@catalog_options
def show(
    table: str,
    rows: int,
    columns: str | None,
    row_filter: str | None,
    output: str,
    **place: Any,
) -> None:
    """Describe a TABLE (namespace.table): schema, key, stores, nodes and some rows."""
    description = describe(
        arctic.open_table(table, **place_of(**place)),
        row_count=rows,
        columns=_names(columns),
        row_filter=row_filter,
    )
    if output == "json":
        print_json(description.document())
    else:
        description.print()


@click.command()
@click.argument("table")
@_columns
@_filter
@click.option(
    "--analyze", is_flag=True, help="Carry it out, and count the files and row groups it touches."
)
@catalog_options
def explain(
    table: str,
    columns: str | None,
    row_filter: str | None,
    analyze: bool,
    output: str,
    **place: Any,
) -> None:
    """Print how a read of TABLE would be carried out: nodes, files, deletes, tasks."""
    plan = arctic.explain(
        table, columns=_names(columns), filter=row_filter, analyze=analyze, **place_of(**place)
    )
    if output == "json":
        print_json({"table": table, "plan": plan.splitlines()})
    else:
        click.echo(plan)


@click.command()
@click.argument("table")
@catalog_options
def history(table: str, output: str, **place: Any) -> None:
    """List the snapshots of both stores of TABLE, oldest first."""
    commits = arctic.open_table(table, **place_of(**place)).history()
    if output == "json":
        print_json(commits.to_pylist(maps_as_pydicts="strict"))
    else:
        print_rows(commit_lines(commits))


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]

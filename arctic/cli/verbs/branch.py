"""The commands for branches of a table without a key."""

from __future__ import annotations

from typing import Any

import click

from arctic import api
from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json


@click.command()
@click.argument("table")
@catalog_options
def branches(table: str, output: str, **place: Any) -> None:
    """List the branches of TABLE, with the snapshot at the head of each."""
    found = api.open_table(table, **place_of(**place)).branches()
    rows = [{"branch": each.name, "snapshot_id": each.snapshot_id} for each in found]
    if output == "json":
        print_json(rows)
    else:
        for row in rows:
            click.echo(f"{row['branch']}: snapshot {row['snapshot_id']}")


@click.command("create-branch")
@click.argument("table")
@click.argument("name")
@click.option("--version", metavar="VERSION", help="A version, tag or snapshot; else the newest.")
@click.option(
    "--as-of", metavar="TIME", help="The state at this time, such as 2024-02-29T12:00:00Z."
)
@catalog_options
def create_branch(
    table: str, name: str, version: str | None, as_of: str | None, output: str, **place: Any
) -> None:
    """Let branch NAME of TABLE, which has no key, begin at a state of it."""
    made = api.open_table(table, **place_of(**place)).create_branch(name, version, as_of=as_of)
    if output == "json":
        print_json({"table": table, "branch": made.name, "snapshot_id": made.snapshot_id})
    else:
        click.echo(f"{table}: branch {made.name} is at snapshot {made.snapshot_id}")


@click.command("drop-branch")
@click.argument("table")
@click.argument("name")
@catalog_options
def drop_branch(table: str, name: str, output: str, **place: Any) -> None:
    """Forget the branch NAME of TABLE."""
    api.open_table(table, **place_of(**place)).drop_branch(name)
    if output == "json":
        print_json({"table": table, "dropped": name})
    else:
        click.echo(f"{table}: dropped branch {name}")


@click.command("fast-forward")
@click.argument("table")
@click.argument("branch")
@click.argument("to")
@catalog_options
def fast_forward(table: str, branch: str, to: str, output: str, **place: Any) -> None:
    """Move BRANCH of TABLE, such as main, to the head of branch TO, which goes on from it."""
    before, after = api.open_table(table, **place_of(**place)).fast_forward(branch, to)
    if output == "json":
        print_json({"table": table, "branch": branch, "before": before, "after": after})
    else:
        click.echo(f"{table}: branch {branch} is at snapshot {after}, was at {before}")

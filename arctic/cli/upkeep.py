"""The commands that keep a table fast and small: status, optimize, expire, and its writers."""

from __future__ import annotations

from typing import Any

import click

import arctic
from arctic.cli.place import catalog_options, name_value_pairs, place_of
from arctic.cli.printed.upkeep_lines import (
    print_expired,
    print_optimized,
    print_status,
    print_watermarks,
)

_where = click.option(
    "--where", metavar="TEXT", help="Only the partitions that can hold such rows."
)
_dry_run = click.option("--dry-run", is_flag=True, help="Change nothing, only say what would go.")
_options = click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    callback=name_value_pairs,
    help="An option instead of the table's property, such as snapshot.keep.duration=1d.",
)


@click.command()
@click.argument("table")
@_where
@catalog_options
def status(table: str, where: str | None, output: str, **place: Any) -> None:
    """Say what TABLE consists of, how healthy it is, and what optimizing is due."""
    print_status(arctic.status(table, where=where, **place_of(**place)), output)


@click.command()
@click.argument("table")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["minor", "major", "full"]),
    help="For every partition; else what is due in each.",
)
@_where
@catalog_options
def optimize(table: str, kind: str | None, where: str | None, output: str, **place: Any) -> None:
    """Fold the changes of TABLE into base files, and small files into large ones."""
    report = arctic.optimize(table, type=kind, where=where, **place_of(**place))
    print_optimized(report, output)


@click.command()
@click.argument("table")
@_dry_run
@_options
@catalog_options
def expire(table: str, dry_run: bool, options: dict[str, str], output: str, **place: Any) -> None:
    """Remove from TABLE what is no longer needed: merged changes, old snapshots, orphans."""
    report = arctic.expire(table, dry_run=dry_run, options=options, **place_of(**place))
    print_expired(report, output)


@click.command("clean-orphans")
@click.argument("table")
@_dry_run
@_options
@catalog_options
def clean_orphans(
    table: str, dry_run: bool, options: dict[str, str], output: str, **place: Any
) -> None:
    """Delete files in the folders of TABLE that nothing refers to."""
    found = arctic.open_table(table, **place_of(**place))
    print_expired(found.clean_orphans(dry_run=dry_run, options=options), output)


@click.command()
@click.argument("table")
@catalog_options
def watermarks(table: str, output: str, **place: Any) -> None:
    """Say how far event time has come in TABLE with each of its writers."""
    print_watermarks(table, arctic.watermarks(table, **place_of(**place)), output)


@click.command("retire-writer")
@click.argument("table")
@click.argument("writer")
@catalog_options
def retire_writer(table: str, writer: str, output: str, **place: Any) -> None:
    """Let the watermark of TABLE no longer wait for WRITER."""
    print_watermarks(table, arctic.retire_writer(table, writer, **place_of(**place)), output)

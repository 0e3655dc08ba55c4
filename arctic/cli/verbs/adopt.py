"""The commands for plain Iceberg tables: adopt, release and repair."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

import arctic
from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json


@click.command()
@click.argument("table")
@click.option(
    "--primary-key", metavar="COLUMNS", required=True, help="The key columns, joined by ','."
)
@click.option("--files", metavar="FOLDER", help="Parquet files that become the new table TABLE.")
@click.option("--trust-key", is_flag=True, help="Do not look whether several rows have one key.")
@catalog_options
def adopt(
    table: str, primary_key: str, files: str | None, trust_key: bool, output: str, **place: Any
) -> None:
    """Give the plain Iceberg table TABLE a primary key; no data file is rewritten."""
    key = [name.strip() for name in primary_key.split(",")]
    arctic.adopt(table, primary_key=key, files=files, check_key=not trust_key, **place_of(**place))
    if output == "json":
        print_json({"table": table, "primary_key": key})
    else:
        click.echo(f"{table}: has the primary key {', '.join(key)} now")


@click.command()
@click.argument("table")
@click.option("--discard-changes", is_flag=True, help="Lose what is not merged into base.")
@catalog_options
def release(table: str, discard_changes: bool, output: str, **place: Any) -> None:
    """Make TABLE a plain Iceberg table again."""
    arctic.release(table, discard_changes=discard_changes, **place_of(**place))
    if output == "json":
        print_json({"table": table, "released": True})
    else:
        click.echo(f"{table}: is a plain Iceberg table now")


@click.command()
@click.argument("table")
@catalog_options
def repair(table: str, output: str, **place: Any) -> None:
    """Turn the equality deletes of the Iceberg table TABLE into position deletes or vectors."""
    report = arctic.repair(table, **place_of(**place))
    if output == "json":
        print_json({**asdict(report), "seconds": round(report.seconds, 3)})
    else:
        click.echo(str(report))

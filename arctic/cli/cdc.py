"""``arctic cdc``: follow the changes of a database."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json
from arctic.job.mirror.run_mirror import MirrorReport
from arctic.mirror import follow_postgres


@click.group()
def cdc() -> None:
    """Follow the changes of a database."""


@cdc.command()
@click.option("--dsn", required=True, help="What libpq takes: postgresql://user@host/database.")
@click.option(
    "--tables",
    required=True,
    multiple=True,
    metavar="A,B,C",
    help="Tables as schema.table, or schema.table:name; may be repeated.",
)
@click.option("--into", required=True, metavar="NAMESPACE", help="Where the mirrors go.")
@click.option("--slot", default="arctic", show_default=True, help="The replication slot.")
@click.option("--once", is_flag=True, help="Stop when everything committed so far is mirrored.")
@click.option(
    "--max-changes",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="Changes of one batch, about; a transaction is never cut.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Seconds to wait when there is nothing to do.",
)
@catalog_options
def postgres(
    dsn: str,
    tables: tuple[str, ...],
    into: str,
    slot: str,
    once: bool,
    max_changes: int,
    interval: float,
    output: str,
    **place: Any,
) -> None:
    """Copy tables of PostgreSQL, then follow their changes, each exactly once."""
    names = [name.strip() for text in tables for name in text.split(",") if name.strip()]
    if not names:
        raise click.UsageError("--tables names no table.")
    report = follow_postgres(
        dsn,
        names,
        into=into,
        slot=slot,
        once=once,
        max_changes=max_changes,
        interval_seconds=interval,
        **place_of(**place),
    )
    _print_report(report, output)


def _print_report(report: MirrorReport, output: str) -> None:
    if output == "json":
        print_json(asdict(report))
        return
    click.echo(
        f"{report.events} changes in {report.batches} batches, {report.quarantined} quarantined; "
        f"mirrored up to {report.place >> 32:X}/{report.place & 0xFFFFFFFF:X}"
    )

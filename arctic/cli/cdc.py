"""``arctic cdc``: follow the changes of a database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

import click

from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json
from arctic.job.mirror.mirror_settings import MirrorReport
from arctic.with_mirrors import mirror_kafka, mirror_mysql, mirror_postgres

Report = TypeVar("Report")


@click.group()
def cdc() -> None:
    """Follow the changes of a database."""


def mirror_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options of every mirror."""
    options = (
        click.option(
            "--tables",
            required=True,
            multiple=True,
            metavar="A,B,C",
            help="Tables as schema.table, or schema.table:name; may be repeated.",
        ),
        click.option("--into", required=True, metavar="NAMESPACE", help="Where the mirrors go."),
        click.option("--once", is_flag=True, help="Stop when all committed so far is mirrored."),
        click.option(
            "--max-changes",
            type=click.IntRange(min=1),
            default=100_000,
            show_default=True,
            help="Changes of one batch, about; a transaction is never cut.",
        ),
        click.option(
            "--interval",
            "interval_seconds",
            type=click.FloatRange(min=0),
            default=1.0,
            show_default=True,
            help="Seconds to wait when there is nothing to do.",
        ),
        catalog_options,
    )
    for option in reversed(options):
        verb = option(verb)
    return verb


watermark_option = click.option(
    "--watermark",
    is_flag=True,
    help="Tell the tables up to which time of the source they are complete.",
)


@cdc.command()
@click.option("--dsn", required=True, help="What libpq takes: postgresql://user@host/database.")
@click.option("--slot", default="arctic", show_default=True, help="The replication slot.")
@watermark_option
@mirror_options
def postgres(**given: Any) -> None:
    """Copy tables of PostgreSQL, then follow their changes, each exactly once."""
    report, output = _followed(mirror_postgres, given)
    _print_report(report, output, f"{report.place >> 32:X}/{report.place & 0xFFFFFFFF:X}")


@cdc.command()
@click.option("--dsn", required=True, help="mysql://user:password@host:port/database.")
@click.option("--slot", default="arctic", show_default=True, help="The mirror's name there.")
@watermark_option
@mirror_options
def mysql(**given: Any) -> None:
    """Copy tables of MySQL or MariaDB, then follow their changes, each exactly once."""
    report, output = _followed(mirror_mysql, given)
    _print_report(report, output, f"{report.place >> 32}:{report.place & 0xFFFFFFFF}")


@cdc.command()
@click.option("--dsn", required=True, help="The brokers: kafka://host:port,host:port.")
@click.option(
    "--topics", required=True, multiple=True, metavar="A,B,C", help="Topics; may be repeated."
)
@click.option(
    "--envelope",
    type=click.Choice(["debezium", "json", "wal2json"]),
    default="debezium",
    show_default=True,
    help="The form of the messages; json: rows in no envelope, a topic for each table.",
)
@click.option("--slot", default="arctic", show_default=True, help="Names the batches in tables.")
@click.option(
    "--config",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of Kafka's client, such as security.protocol=SSL, or of a registry of Avro's "
    "schemas, as schema.registry.url=...; may be repeated.",
)
@mirror_options
def kafka(**given: Any) -> None:
    """Apply the messages of topics to tables, each exactly once."""
    topics = [name for text in given.pop("topics") for name in text.split(",") if name]
    config = dict(text.partition("=")[::2] for text in given.pop("config"))
    envelope = given.pop("envelope")
    follow = partial(mirror_kafka, topics=topics, envelope=envelope, config=config)
    report, output = _followed(follow, given)
    if output == "json":
        print_json(asdict(report))
        return
    click.echo(
        f"{report.events} changes in {report.batches} batches, {report.quarantined} quarantined"
    )
    for partition, offset in report.offsets.items():
        click.echo(f"{partition} applied up to {offset}")


def _followed(follow: Callable[..., Report], given: dict[str, Any]) -> tuple[Report, str]:
    named, output = given.pop("tables"), given.pop("output")
    known = ("dsn", "slot", "into", "once", "max_changes", "interval_seconds")
    told = {name: given.pop(name) for name in (*known, "watermark") if name in given}
    names = [name.strip() for text in named for name in text.split(",") if name.strip()]
    if not names:
        raise click.UsageError("--tables names no table.")
    return follow(tables=names, **told, **place_of(**given)), output


def _print_report(report: MirrorReport, output: str, place: str) -> None:
    if output == "json":
        print_json(asdict(report))
        return
    click.echo(
        f"{report.events} changes in {report.batches} batches, {report.quarantined} quarantined; "
        f"mirrored up to {place}"
    )

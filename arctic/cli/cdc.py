"""``arctic cdc``: follow the changes of a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from arctic.cli.render import print_json
from arctic.job.mirror_postgres import MirrorReport
from arctic.mirror import mirror_postgres


def mirror(
    dsn: str,
    tables: tuple[str, ...],
    *,
    into: str,
    slot: str,
    once: bool,
    max_changes: int,
    interval: float,
    place: Mapping[str, Any],
) -> MirrorReport:
    """Mirror tables of PostgreSQL until interrupted, or once."""
    names = [name.strip() for text in tables for name in text.split(",") if name.strip()]
    if not names:
        raise click.UsageError("--tables names no table.")
    return mirror_postgres(
        dsn,
        names,
        into=into,
        slot=slot,
        once=once,
        max_changes=max_changes,
        interval_seconds=interval,
        **place,
    )


def print_mirror_report(report: MirrorReport, output: str) -> None:
    """Print what a run did."""
    if output == "json":
        print_json(asdict(report))
        return
    click.echo(
        f"{report.events} changes in {report.batches} batches, {report.quarantined} quarantined; "
        f"mirrored up to {report.place >> 32:X}/{report.place & 0xFFFFFFFF:X}"
    )

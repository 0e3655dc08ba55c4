"""What ``arctic watermarks`` says: each writer, and how far event time has come with it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone

import click

from arctic.cli.printed.render import print_facts, print_json

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def print_watermarks(table: str, watermarks: Mapping[str, int], output: str) -> None:
    """Print them as ``text``, or as ``json`` in milliseconds."""
    if output == "json":
        print_json({"table": table, "writers": watermarks})
    elif watermarks:
        print_facts({writer: _moment(ms) for writer, ms in watermarks.items()})
    else:
        click.echo(f"{table}: no writer with a name")


def _moment(ms: int) -> str:
    try:
        return (_EPOCH + timedelta(milliseconds=ms)).isoformat(sep=" ", timespec="milliseconds")
    except OverflowError:
        return str(ms)

"""What ``arctic expire`` says: counts and bytes of each kind, then what went and why."""

from __future__ import annotations

from typing import Any

import click

from arctic.cli.printed.render import print_json
from arctic.table.expire_report import ExpiredItem, ExpireReport


def print_report(report: ExpireReport, output: str) -> None:
    """Print it as ``text``, or as ``json`` with every item."""
    if output == "json":
        print_json(document_of(report))
    else:
        click.echo(report.explain())


def document_of(report: ExpireReport) -> dict[str, Any]:
    """Return it as one value for JSON."""
    sizes = report.bytes
    return {
        "table": report.table,
        "dry_run": report.dry_run,
        "seconds": round(report.seconds, 3),
        "kinds": [
            {"kind": kind.value, "count": count, "bytes": sizes[kind]}
            for kind, count in report.counts.items()
        ],
        "items": [_item(item) for item in report.items],
        "outside": [_item(item) for item in report.outside],
        "notes": list(report.notes),
    }


def _item(item: ExpiredItem) -> dict[str, Any]:
    return {
        "store": item.store,
        "kind": item.kind.value,
        "name": item.name,
        "size_bytes": item.size_bytes,
        "reason": item.reason,
    }

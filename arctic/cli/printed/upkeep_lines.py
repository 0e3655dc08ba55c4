"""What the commands of upkeep print: how a table is, what was done to it, and its writers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import click
import pyarrow as pa

from arctic.cli.printed.render import print_facts, print_json, print_rows
from arctic.optimizing.report import SHOWN_PARTITIONS, OptimizeReport, TableStatus
from arctic.table.expire_report import ExpiredItem, ExpireReport

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def print_status(status: TableStatus, output: str) -> None:
    """Print how a table is, and what is due in which partition; as ``json``, all that is known."""
    if output == "json":
        print_json(_status_document(status))
        return
    print_facts(
        {
            "table": status.table,
            "health": f"{status.score} of 100",
            "due": status.reason,
        }
    )
    if status.sizing:
        rows = pa.Table.from_pylist([dataclasses.asdict(each) for each in status.sizing])
        print_rows(rows.drop_columns("why"), title="chosen by itself")
    worst = status.worst_first
    if worst:
        lines = [_line(each) for each in worst[:SHOWN_PARTITIONS]]
        print_rows(pa.Table.from_pylist(lines), title="partitions")
    if len(worst) > SHOWN_PARTITIONS:
        click.echo(f"... and {len(worst) - SHOWN_PARTITIONS:,} more; --output json lists all")


def print_optimized(report: OptimizeReport, output: str) -> None:
    """Print what a run of optimizing did, as ``text`` or ``json``."""
    if output == "json":
        kind = report.type.value if report.type else None
        print_json({**dataclasses.asdict(report), "type": kind})
    else:
        click.echo(str(report))


def print_expired(report: ExpireReport, output: str) -> None:
    """Print counts and bytes of what went, then what and why; as ``json``, every item."""
    if output == "json":
        print_json(_expired_document(report))
    else:
        click.echo(report.explain())


def print_watermarks(table: str, watermarks: Mapping[str, int], output: str) -> None:
    """Print how far event time has come with each writer; as ``json``, in milliseconds."""
    if output == "json":
        print_json({"table": table, "writers": watermarks})
    elif watermarks:
        print_facts({writer: _moment(ms) for writer, ms in watermarks.items()})
    else:
        click.echo(f"{table}: no writer with a name")


def _status_document(status: TableStatus) -> dict[str, Any]:
    return {
        "table": status.table,
        "score": status.score,
        "due": status.due.value if status.due else None,
        "reason": status.reason,
        "sizing": [dataclasses.asdict(each) for each in status.sizing],
        "partitions": [
            {**dataclasses.asdict(each), "score": each.health.score} for each in status.partitions
        ],
    }


def _line(status: Any) -> dict[str, Any]:
    health = status.health
    return {
        "partition": status.partition or "(whole table)",
        "health": health.score,
        **health.file_counts,
        "duplicates": f"{health.duplicate_ratio:.1%}",
        "due": str(status.verdict),
        "nodes": status.nodes,
    }


def _expired_document(report: ExpireReport) -> dict[str, Any]:
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


def _moment(ms: int) -> str:
    try:
        return (_EPOCH + timedelta(milliseconds=ms)).isoformat(sep=" ", timespec="milliseconds")
    except OverflowError:
        return str(ms)

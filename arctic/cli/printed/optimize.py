"""What ``arctic status`` and ``arctic optimize`` print."""

from __future__ import annotations

import dataclasses
from typing import Any

import click
import pyarrow as pa

from arctic.cli.printed.render import print_facts, print_json, print_rows
from arctic.optimizing.report import SHOWN_PARTITIONS, OptimizeReport, TableStatus


def print_status(status: TableStatus) -> None:
    """Print how a table is, and what is due in which partition."""
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


def print_status_json(status: TableStatus) -> None:
    """Print everything that is known, as one document."""
    print_json(
        {
            "table": status.table,
            "score": status.score,
            "due": status.due.value if status.due else None,
            "reason": status.reason,
            "sizing": [dataclasses.asdict(each) for each in status.sizing],
            "partitions": [
                {**dataclasses.asdict(each), "score": each.health.score}
                for each in status.partitions
            ],
        }
    )


def print_report(report: OptimizeReport) -> None:
    """Print what a run did."""
    click.echo(str(report))


def print_report_json(report: OptimizeReport) -> None:
    """Print what a run did, as one document."""
    print_json({**dataclasses.asdict(report), "type": report.type.value if report.type else None})


def _line(status: Any) -> dict[str, Any]:
    health = status.health
    return {
        "partition": status.partition or "(whole table)",
        "health": health.score,
        "fragments": health.fragments.files,
        "segments": health.segments.files,
        "undersized": health.undersized.files,
        "inserts": health.inserts.files,
        "change_deletes": health.change_deletes.files,
        "position_deletes": health.position_deletes.files,
        "duplicates": f"{health.duplicate_ratio:.1%}",
        "due": str(status.verdict),
        "nodes": status.nodes,
    }

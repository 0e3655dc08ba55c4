"""Procedures that look at a table, and keep it fast and small."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from arctic.api import calls
from arctic.optimizing.planning.health import COUNTED_FILES
from arctic.spark.catalog.procedures.procedure import (
    FLAG,
    OPTIONS,
    TABLE,
    TEXT,
    TEXTS,
    Call,
    Parameter,
    Procedure,
)
from arctic.table.expire_report import ExpireReport

_WHERE = Parameter(
    name="where", kind=TEXT, doc="only the partitions that can hold such rows, as \"day = '...'\""
)
_DRY_RUN = Parameter(
    name="dry_run", kind=FLAG, doc="change nothing, only say what would go", default="false"
)
_CLEANED = pa.schema(
    [("kind", pa.string()), ("count", pa.int64()), ("bytes", pa.int64()), ("note", pa.string())]
)


def _optimize(call: Call) -> Iterator[Mapping[str, Any]]:
    report = calls.run_optimize(
        call.options,
        type=call.given("type"),
        where=call.given("where"),
        options=call.given("options"),
        runner=call.runner,
    )
    yield {
        "table": report.table,
        "type": None if report.type is None else report.type.value,
        "partitions": len(report.partitions),
        "files_before": report.before.files,
        "files_after": report.after.files,
        "bytes_before": report.before.bytes,
        "bytes_after": report.after.bytes,
        "rows_written": report.rows_written,
        "rows_deleted": report.rows_deleted,
        "snapshot_id": report.snapshot_id,
        "seconds": report.seconds,
    }


def _expire(call: Call) -> Iterator[Mapping[str, Any]]:
    report = calls.run_expire(
        call.options, dry_run=bool(call.given("dry_run")), options=call.given("options")
    )
    return _cleaned(report)


def _clean_orphans(call: Call) -> Iterator[Mapping[str, Any]]:
    report = calls.clean_orphans(
        call.options, dry_run=bool(call.given("dry_run")), options=call.given("options")
    )
    return _cleaned(report)


def _cleaned(report: ExpireReport) -> Iterator[Mapping[str, Any]]:
    sizes = report.bytes
    for kind, count in report.counts.items():
        yield {"kind": kind.value, "count": count, "bytes": sizes[kind]}
    for note in report.notes:
        yield {"kind": "note", "note": note}


def _status(call: Call) -> Iterator[Mapping[str, Any]]:
    found = calls.status_of(call.options, where=call.given("where"), options=call.given("options"))
    for each in found.worst_first:
        health = each.health
        yield {
            "partition": each.partition,
            "health": health.score,
            "due": None if each.verdict.type is None else each.verdict.type.value,
            "reason": each.verdict.reason,
            **health.file_counts,
            "nodes": each.nodes,
        }


def _explain(call: Call) -> Iterator[Mapping[str, Any]]:
    plan = calls.explain_read(
        call.options,
        columns=call.given("columns"),
        filter=call.given("filter"),
        verbose=bool(call.given("verbose")),
        analyze=bool(call.given("analyze")),
    )
    return ({"plan": line} for line in plan.splitlines())


UPKEEP_PROCEDURES: Mapping[str, Procedure] = {
    "optimize": Procedure(
        doc="Folds changes into base files and small files into large ones, in one commit.",
        parameters=(
            TABLE,
            Parameter(
                name="type",
                kind=TEXT,
                doc="minor, major or full for every partition; else what is due in each",
            ),
            _WHERE,
            OPTIONS,
        ),
        columns=pa.schema(
            [
                *(("table", pa.string()), ("type", pa.string()), ("partitions", pa.int64())),
                *(("files_before", pa.int64()), ("files_after", pa.int64())),
                *(("bytes_before", pa.int64()), ("bytes_after", pa.int64())),
                *(("rows_written", pa.int64()), ("rows_deleted", pa.int64())),
                *(("snapshot_id", pa.int64()), ("seconds", pa.float64())),
            ]
        ),
        run=_optimize,
    ),
    "expire": Procedure(
        doc="Removes merged changes, old snapshots and the files that only those had, and orphans.",
        parameters=(TABLE, _DRY_RUN, OPTIONS),
        columns=_CLEANED,
        run=_expire,
        changes=TABLE.name,
    ),
    "clean_orphans": Procedure(
        doc="Deletes files in the table's folders that nothing refers to.",
        parameters=(TABLE, _DRY_RUN, OPTIONS),
        columns=_CLEANED,
        run=_clean_orphans,
    ),
    "status": Procedure(
        doc="Says of each partition what it consists of, which optimizing is due, and its nodes.",
        parameters=(TABLE, _WHERE, OPTIONS),
        columns=pa.schema(
            [
                *(("partition", pa.string()), ("health", pa.int64())),
                *(("due", pa.string()), ("reason", pa.string())),
                *((name, pa.int64()) for name in COUNTED_FILES),
                ("nodes", pa.string()),
            ]
        ),
        run=_status,
    ),
    "explain": Procedure(
        doc="Says how a read would be carried out: nodes, files, deletes, tasks.",
        parameters=(
            TABLE,
            Parameter(name="filter", kind=TEXT, doc="rows to keep, as 'amount > 10'"),
            Parameter(name="columns", kind=TEXTS, doc="columns to read; else all"),
            Parameter(name="verbose", kind=FLAG, doc="list every task and file", default="false"),
            Parameter(
                name="analyze", kind=FLAG, doc="read, and say what was touched", default="false"
            ),
        ),
        columns=pa.schema([("plan", pa.string())]),
        run=_explain,
    ),
}

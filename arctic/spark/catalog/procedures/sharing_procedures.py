"""Procedures for those beside a table: engines that read it, and jobs that wait for its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from arctic.job.adopt.adopt_job import adopt_table, release_table
from arctic.job.adopt.repair_job import repair_table
from arctic.job.complete.readiness import wait_until_ready
from arctic.job.publish.publish_job import end_publishing, publish_table
from arctic.job.read.asked_read import AskedRead
from arctic.job.reference import table_reference
from arctic.spark.catalog.procedures.procedure import (
    FLAG,
    TABLE,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
    Call,
    Parameter,
    Procedure,
)

_POLL_SECONDS = 5
_SHOWN = "the plain Iceberg table that shows it"
_INTO = Parameter(
    name="into", kind=TEXT, doc=f"{_SHOWN}; else as before, or with _fresh", names_table=True
)
_PUBLISHED = pa.schema(
    [
        *(("table", pa.string()), ("into", pa.string()), ("snapshot_id", pa.int64())),
        *(("base_snapshot_id", pa.int64()), ("change_snapshot_id", pa.int64())),
        *(("data_files_added", pa.int64()), ("data_files_removed", pa.int64())),
        *(("delete_files_added", pa.int64()), ("delete_files_removed", pa.int64())),
        ("seconds", pa.float64()),
    ]
)
_REPAIRED = pa.schema(
    [
        *(("table", pa.string()), ("snapshot_id", pa.int64()), ("removed", pa.int64())),
        *(("added", pa.int64()), ("rows", pa.int64()), ("seconds", pa.float64())),
    ]
)


def _publish(call: Call) -> Iterator[Mapping[str, Any]]:
    report = publish_table(table_reference(call.options), call.given("into"), call.given("output"))
    yield {name: getattr(report, name) for name in _PUBLISHED.names}


def _unpublish(call: Call) -> Iterator[Mapping[str, Any]]:
    for name in end_publishing(table_reference(call.options), call.given("into")):
        yield {"into": name}


def _adopt(call: Call) -> Iterator[Mapping[str, Any]]:
    asked, key = AskedRead.of(call.options), call.given("primary_key")
    opened = adopt_table(asked, key, checks_key=bool(call.given("check_key")))
    yield {"table": opened.table.name, "primary_key": list(opened.table.primary_key)}


def _release(call: Call) -> Iterator[Mapping[str, Any]]:
    reference = table_reference(call.options)
    release_table(reference, discards_changes=bool(call.given("discard_changes")))
    yield {"table": reference.identifier}


def _repair(call: Call) -> Iterator[Mapping[str, Any]]:
    report = repair_table(AskedRead.of(call.options))
    yield {name: getattr(report, name) for name in _REPAIRED.names}


def _ready(call: Call) -> Iterator[Mapping[str, Any]]:
    found = wait_until_ready(
        table_reference(call.options),
        call.given("until") // 1000,
        writers=call.given("writers") or (),
        wait_seconds=call.given("wait"),
        poll_seconds=_POLL_SECONDS,
    )
    yield {"ready": bool(found), "watermark": found.watermark, "behind": list(found.behind)}


SHARING_PROCEDURES: Mapping[str, Procedure] = {
    "publish": Procedure(
        doc="Shows the newest rows as a plain Iceberg table, by reference, in one commit.",
        parameters=(
            TABLE,
            _INTO,
            Parameter(name="output", kind=TEXT, doc="v2, v3 or clean; else as before"),
        ),
        columns=_PUBLISHED,
        run=_publish,
    ),
    "unpublish": Procedure(
        doc="Drops what shows a table; the rows of the table stay.",
        parameters=(TABLE, replace(_INTO, doc=f"{_SHOWN}; else all of them")),
        columns=pa.schema([("into", pa.string())]),
        run=_unpublish,
    ),
    "adopt": Procedure(
        doc="Makes a plain Iceberg table one with a primary key; no data file is rewritten.",
        parameters=(
            TABLE,
            Parameter(name="primary_key", kind=TEXTS, doc="its key, as array('id')", default=None),
            Parameter(name="check_key", kind=FLAG, doc="look whether it is unique", default="true"),
        ),
        columns=pa.schema([("table", pa.string()), ("primary_key", pa.list_(pa.string()))]),
        run=_adopt,
        changes=TABLE.name,
    ),
    "release": Procedure(
        doc="Makes a table with a primary key a plain Iceberg table again.",
        parameters=(
            TABLE,
            Parameter(
                name="discard_changes",
                kind=FLAG,
                doc="lose what is not merged; else that is refused",
                default="false",
            ),
        ),
        columns=pa.schema([("table", pa.string())]),
        run=_release,
    ),
    "repair": Procedure(
        doc="Turns the equality deletes of any Iceberg table into positions, in one commit.",
        parameters=(TABLE,),
        columns=_REPAIRED,
        run=_repair,
    ),
    "ready": Procedure(
        doc="Says whether all rows before a moment of event time are there, or waits for them.",
        parameters=(
            TABLE,
            Parameter(name="until", kind=TIME, doc="a moment of event time", default=None),
            Parameter(name="wait", kind=WHOLE, doc="seconds at most", default="0"),
            Parameter(name="writers", kind=TEXTS, doc="must have written, beside those that did"),
        ),
        columns=pa.schema(
            [
                *(("ready", pa.bool_()), ("watermark", pa.timestamp("us", tz="UTC"))),
                ("behind", pa.list_(pa.string())),
            ]
        ),
        run=_ready,
    ),
}

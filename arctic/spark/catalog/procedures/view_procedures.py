"""Procedures for views that are kept in tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from arctic.job.reference import table_reference
from arctic.job.views.materialize_job import materialize_view
from arctic.job.views.refresh_job import refresh_view
from arctic.job.views.refresh_report import RefreshReport
from arctic.spark.catalog.procedures.procedure import (
    FLAG,
    PAIRS,
    TABLE,
    TEXT,
    TEXTS,
    Call,
    Parameter,
    Procedure,
)
from arctic.views.view_definition import ROWS

_REFRESHED = pa.schema(
    [
        *(("view", pa.string()), ("is_full", pa.bool_()), ("upserts", pa.int64())),
        *(("deletes", pa.int64()), ("snapshot_id", pa.int64()), ("seconds", pa.float64())),
    ]
)


def _materialize(call: Call) -> Iterator[Mapping[str, Any]]:
    yield _told(
        materialize_view(
            call.given("sql"),
            table_reference(call.options),
            kind=call.given("kind"),
            is_whole=bool(call.given("full")),
            partition_by=call.given("partition_by") or (),
            properties=call.given("properties") or {},
            exist_ok=False,
        )
    )


def _refresh(call: Call) -> Iterator[Mapping[str, Any]]:
    yield _told(refresh_view(table_reference(call.options), is_full=bool(call.given("full"))))


def _told(report: RefreshReport) -> Mapping[str, Any]:
    return {name: getattr(report, name) for name in _REFRESHED.names}


VIEW_PROCEDURES: Mapping[str, Procedure] = {
    "materialize": Procedure(
        doc="Makes a table of what a statement returns, to be kept up by refresh.",
        parameters=(
            TABLE,
            Parameter(name="sql", kind=TEXT, doc="a SELECT of DuckDB's SQL", default=None),
            Parameter(name="kind", kind=TEXT, doc="rows, scd2 or daily", default=f"'{ROWS}'"),
            Parameter(
                name="full", kind=FLAG, doc="compute all rows at every refresh", default="false"
            ),
            Parameter(name="partition_by", kind=TEXTS, doc="as array('day(at)')"),
            Parameter(name="properties", kind=PAIRS, doc="of the table"),
        ),
        columns=_REFRESHED,
        run=_materialize,
    ),
    "refresh": Procedure(
        doc="Brings a view up to its sources.",
        parameters=(
            TABLE,
            Parameter(name="full", kind=FLAG, doc="compute all rows, this time", default="false"),
        ),
        columns=_REFRESHED,
        run=_refresh,
        changes="view",
    ),
}

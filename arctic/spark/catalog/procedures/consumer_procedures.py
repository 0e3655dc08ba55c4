"""Procedures for the consumers of a table's changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from arctic.spark.catalog.procedures.procedure import TABLE, TEXT, Call, Parameter, Procedure

_CONSUMER = Parameter(name="consumer", kind=TEXT, doc="name of the consumer", default=None)


def _consumers(call: Call) -> Iterator[Mapping[str, Any]]:
    for row in call.table.consumers().to_pylist():
        yield {**row, "seconds_behind": row["behind"].total_seconds()}


def _drop_consumer(call: Call) -> Iterator[Mapping[str, Any]]:
    call.table.drop_consumer(call.given("consumer"))
    yield {"consumer": call.given("consumer")}


CONSUMER_PROCEDURES: Mapping[str, Procedure] = {
    "consumers": Procedure(
        doc="Lists the consumers of the changes, with how far they are behind.",
        parameters=(TABLE,),
        columns=pa.schema(
            [
                *(("consumer", pa.string()), ("moved_at", pa.timestamp("us", tz="UTC"))),
                *(("commits_behind", pa.int64()), ("rows_behind", pa.int64())),
                *(("seconds_behind", pa.float64()), ("holds", pa.bool_())),
            ]
        ),
        run=_consumers,
    ),
    "drop_consumer": Procedure(
        doc="Forgets a consumer, so that expiry may take what only it held back.",
        parameters=(TABLE, _CONSUMER),
        columns=pa.schema([("consumer", pa.string())]),
        run=_drop_consumer,
    ),
}

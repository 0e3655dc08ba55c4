"""Events of a table with ordering columns, and what a dictionary holds of them in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import arctic

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("at", pa.timestamp("us")),
        pa.field("step", pa.int32()),
        pa.field("note", pa.string()),
    ]
)
Event = tuple[int, int, bool]
"""A key, its place in the order, and whether it deletes the key; a place tells which it does."""

events = st.tuples(st.integers(0, 5), st.integers(0, 9)).map(
    lambda drawn: (*drawn, (drawn[0] + drawn[1]) % 3 == 0)
)


def as_row(event: Event, ordering: Sequence[str]) -> dict[str, Any]:
    """Return the event as a row whose ordering columns rise with its place, however many."""
    key, place, _ = event
    day, step = (place // 3, place % 3) if len(ordering) > 1 else (place, place)
    return {
        "id": key,
        "at": pa.scalar(day * 1_000, pa.timestamp("us")).as_py(),
        "step": step,
        "note": f"{key}-{place}",
    }


def deliver(table: arctic.Table, batch: Sequence[Event], ordering: Sequence[str], how: str) -> None:
    """Write events: by their actions in one write, or upserts and deletes each in their own."""
    if how == "actions":
        rows = [{**as_row(e, ordering), "op": "D" if e[2] else "U"} for e in batch]
        schema = SCHEMA.append(pa.field("op", pa.string()))
        table.write(
            pa.Table.from_pylist(rows, schema=schema),
            mode="upsert",
            options={"action-column": "op"},
        )
        return
    for deletes, mode in ((True, "delete"), (False, "upsert")):
        rows = [as_row(event, ordering) for event in batch if event[2] is deletes]
        if rows:
            names = ["id", *ordering] if deletes else SCHEMA.names
            written = pa.Table.from_pylist(rows, schema=SCHEMA).select(names)
            table.write(written, mode=mode)


def expected(delivered: Sequence[Event], ordering: Sequence[str]) -> list[dict[str, Any]]:
    """Return what a dictionary would hold that keeps the greatest event of each key."""
    last: dict[int, Event] = {}
    for event in delivered:
        if event[0] not in last or event[1] >= last[event[0]][1]:
            last[event[0]] = event
    return [as_row(event, ordering) for _, event in sorted(last.items()) if not event[2]]


def rows_of(table: arctic.Table, **asked: Any) -> list[dict[str, Any]]:
    """Return the rows of a read by their key."""
    return sorted(table.read(**asked).read_all().to_pylist(), key=lambda row: int(row["id"]))

"""Batches of change messages, applied to tables once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError

SCHEMA = pa.schema(
    [pa.field("id", pa.int32(), nullable=False), ("n", pa.int32()), ("s", pa.string())]
)
INT, LONG, TEXT = ({"type": name} for name in ("int32", "int64", "string"))


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """Make an empty table."""
    place = {"warehouse": str(tmp_path)}
    arctic.create_table("db.t", SCHEMA, primary_key=["id"], warehouse=str(tmp_path))
    return place


def message(
    op: str, before: Any = None, after: Any = None, table: str = "t", **columns: Any
) -> str:
    """Return an envelope; with columns, one that describes them."""
    source = {"schema": "public", "table": table}
    payload = {"op": op, "before": before, "after": after, "source": source}
    fields = [{"field": name, **each} for name, each in columns.items()]
    schema = {"fields": [{"field": "after", "fields": fields}]}
    return json.dumps({"schema": schema, "payload": payload} if columns else payload)


def line(action: str, **values: Any) -> str:
    """Return a message of wal2json."""
    columns = [
        {"name": name, "type": "integer" if name != "s" else "text", "value": value}
        for name, value in values.items()
    ]
    return json.dumps({"action": action, "schema": "public", "table": "t", "columns": columns})


def apply(
    place: dict[str, Any],
    batch: int,
    *messages: str | None,
    envelope: str = "debezium",
    **more: Any,
) -> arctic.ApplyReport:
    """Apply messages."""
    return arctic.apply_changes(
        list(messages),
        envelope=envelope,
        tables={"public.t": "db.t"},
        quarantine="db.bad",
        writer="topic",
        batch_id=batch,
        **more,
        **place,
    )


def rows(place: dict[str, Any], table: str = "db.t") -> list[dict[str, Any]]:
    """Read a table."""
    return sorted(arctic.read(table, **place).read_all().to_pylist(), key=str)


def test_a_batch_is_applied_in_order_and_once(place: dict[str, Any]) -> None:
    """A key that changes, a delete, a row of no known table, something broken, a tombstone."""
    batch = (
        message("c", after={"id": 1, "n": 1, "s": "a"}),
        message("c", after={"id": 2, "n": 2, "s": "b"}),
        message("u", {"id": 1, "n": 1, "s": "a"}, {"id": 3, "n": 9, "s": "a"}),
        message("d", {"id": 2, "n": None, "s": None}),
        None,
        message("c", after={"id": 1}, table="other"),
        message("c", after={"id": 7, "n": "many", "s": ""}),
        "nonsense",
    )
    first, again = apply(place, 0, *batch), apply(place, 0, *batch)

    assert first == arctic.ApplyReport(events=7, quarantined=3, ignored=1)
    # What the table has taken is not looked at again.
    assert again == arctic.ApplyReport(events=7, quarantined=2, ignored=1)
    assert rows(place) == [{"id": 3, "n": 9, "s": "a"}]
    assert [(row["seq"], row["source"], row["reason"]) for row in rows(place, "db.bad")] == [
        (5, "public.other", "no table is named for this source"),
        (6, "public.t", "column n: many is no exact int32"),
        (7, None, "no JSON object"),
    ]


def test_a_row_that_comes_in_two_batches_is_there_once(tmp_path: Path) -> None:
    """Also in a table whose other writers take inserts for new."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    arctic.create_table(
        "db.t", SCHEMA, primary_key=["id"], properties={"write.upsert.enabled": "false"}, **place
    )
    for batch in (0, 1):
        apply(place, batch, message("c", after={"id": 1, "n": batch}))

    assert rows(place) == [{"id": 1, "n": 1, "s": None}]


def test_columns_follow_the_schema_beside_the_payload(place: dict[str, Any]) -> None:
    """Added and widened in one batch with older events; dropped only if asked."""
    apply(
        place,
        0,
        message("c", after={"id": 1, "n": 1, "s": "x"}, id=INT, n=INT, s=TEXT),
        message("c", after={"id": 2, "n": 2**40, "m": 5}, id=INT, n=LONG, m=INT),
    )
    assert rows(place) == [
        {"id": 1, "n": 1, "s": "x", "m": None},
        {"id": 2, "n": 2**40, "s": None, "m": 5},
    ]
    apply(place, 1, message("c", after={"id": 3, "n": 3}, id=INT, n=LONG), drops_columns=True)
    assert rows(place)[2] == {"id": 3, "n": 3}


def test_older_events_in_a_batch_do_not_take_columns_back(place: dict[str, Any]) -> None:
    """Whatever their place: a column stays that one of them has, a type is the widest of them."""
    apply(
        place,
        0,
        message("c", after={"id": 1, "n": 1}, id=INT, n=INT),
        message("c", after={"id": 2, "n": 2**40, "m": 2**40}, id=INT, n=LONG, m=LONG),
        message("c", after={"id": 3, "n": 3, "m": 3}, id=INT, n=INT, m=INT),
        message("c", after={"id": 4, "s": "x"}, id=INT, s=TEXT),
        drops_columns=True,
    )

    assert rows(place) == [
        {"id": 1, "n": 1, "s": None, "m": None},
        {"id": 2, "n": 2**40, "s": None, "m": 2**40},
        {"id": 3, "n": 3, "s": None, "m": 3},
        {"id": 4, "n": None, "s": "x", "m": None},
    ]


def test_a_batch_that_is_held_changes_no_columns(place: dict[str, Any]) -> None:
    """It is older than what the table says; a later one added a column, which has values."""
    old = message("c", after={"id": 1, "n": 1}, id=INT, n=INT)
    new = message("c", after={"id": 2, "n": 2, "m": 7}, id=INT, n=INT, m=INT)
    for batch, text in ((0, old), (1, new), (0, old), (1, new)):
        apply(place, batch, text, drops_columns=True)

    assert rows(place) == [{"id": 1, "n": 1, "m": None}, {"id": 2, "n": 2, "m": 7}]


def test_a_truncate_empties_the_table_before_what_follows(place: dict[str, Any]) -> None:
    """In one commit with it."""
    apply(place, 0, message("c", after={"id": 1}), message("c", after={"id": 2}))
    apply(place, 1, message("c", after={"id": 3}), message("t"), message("c", after={"id": 4}))

    assert [row["id"] for row in rows(place)] == [4]


def test_values_that_no_schema_describes_need_to_be_told(place: dict[str, Any]) -> None:
    """A number could be days, and Base64 a text; untold, they are broken."""
    arctic.evolve_schema("db.t", add={"day": pa.date32()}, **place)
    told = {"public.t": {"day": arctic.Decoding(encoding=arctic.Encoding.DAYS)}}

    assert apply(place, 0, message("c", after={"id": 1, "day": 1})).quarantined == 1
    assert apply(place, 1, message("c", after={"id": 1, "day": 1}), decodings=told).quarantined == 0
    assert str(rows(place)[0]["day"]) == "1970-01-02"


def test_an_update_of_wal2json_without_a_value_is_not_taken_for_null(place: dict[str, Any]) -> None:
    """What an update did not touch outside of the row is left out; an insert leaves out nothing."""
    lines = [line("I", id=1, n=1), line("U", id=1, n=2), line("U", id=1, n=3, s="x")]
    apply(place, 0, *lines, envelope="wal2json")

    assert rows(place) == [{"id": 1, "n": 3, "s": "x"}]
    (broken,) = rows(place, "db.bad")
    assert broken["reason"] == (
        "column s: the event has no value, nor the row before; if the source has no such column, "
        "drop it from the table"
    )


def test_a_column_that_a_source_of_wal2json_dropped_is_to_be_dropped(place: dict[str, Any]) -> None:
    """An update says the same where the column is gone and where it was left out."""
    update = line("U", id=1, n=2)
    assert apply(place, 0, line("I", id=1, n=1), update, envelope="wal2json").quarantined == 1

    arctic.evolve_schema("db.t", drop=["s"], **place)

    assert apply(place, 1, update, envelope="wal2json").quarantined == 0
    assert rows(place) == [{"id": 1, "n": 2}]


def test_an_unknown_envelope_is_refused(place: dict[str, Any]) -> None:
    """With those there are."""
    with pytest.raises(InvalidInputError, match="expected one of debezium, json, wal2json"):
        arctic.apply_changes(
            [], envelope="canal", tables={}, quarantine="db.bad", writer="w", batch_id=0, **place
        )


@pytest.mark.parametrize(
    ("tables", "quarantine", "message"),
    [
        ({"public.t": "db.t", "public.u": " db.T "}, "db.bad", "source 'public.t' and of source"),
        ({"public.t": "db.t"}, "db.t", "source 'public.t' and of the quarantine"),
    ],
)
def test_two_of_one_batch_cannot_share_a_table(
    place: dict[str, Any], tables: dict[str, str], quarantine: str, message: str
) -> None:
    """The second commit would pass for one that is there already, and its rows be lost."""
    with pytest.raises(InvalidInputError, match=message):
        arctic.apply_changes(
            [message], envelope="debezium", tables=tables, quarantine=quarantine,
            writer="w", batch_id=0, **place,
        )  # fmt: skip

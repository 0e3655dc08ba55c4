"""Events of one table become rows with actions."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from arctic.cdc.decode import Decoding, Encoding
from arctic.cdc.events import EVENTS, split_by_shape
from arctic.cdc.rows.event_rows import ACTION, ORDER, last_rows, typed_rows, typed_values
from arctic.cdc.unread import ReadColumn

COLUMNS = [
    ReadColumn(field=pa.field("id", pa.int32(), nullable=False), source="id"),
    ReadColumn(field=pa.field("n", pa.int64()), source="number"),
    ReadColumn(field=pa.field("t", pa.string()), source="t"),
]


def event(
    seq: int, kind: str, new: dict[str, Any] | None = None, old: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return an event; values are texts or None."""
    return {
        "seq": seq,
        "ends": 7,
        "source": "s.t",
        "kind": kind,
        "names": None if new is None else list(new),
        "vals": None if new is None else list(new.values()),
        "old_names": None if old is None else list(old),
        "old_vals": None if old is None else list(old.values()),
        "shape": None,
        "message": f"m{seq}",
    }


def typed(*events: dict[str, Any], columns: list[ReadColumn] = COLUMNS) -> Any:
    """Read events."""
    return typed_rows(pa.Table.from_pylist(list(events), EVENTS), columns, ["id"])


def tuples(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows as tuples."""
    return [tuple(row.values()) for row in rows.to_pylist()]


def test_each_kind_of_event_becomes_its_rows() -> None:
    """An update with a full row before shows it; one with the same key alone does not."""
    row = {"id": "1", "number": "5", "t": "x"}
    result = typed(
        event(0, "I", row),
        event(1, "U", {**row, "t": None}, row),
        event(2, "U", row),
        event(3, "U", row, {"id": "1"}),
        event(4, "U", {**row, "id": "2"}, {"id": "1"}),
        event(5, "D", old={"id": "2"}),
    )

    assert result.rows.column_names == ["id", "n", "t", ACTION, ORDER]
    assert tuples(result.rows) == [
        (1, 5, "x", "I", 1),
        (1, 5, "x", "-U", 2),
        (1, 5, None, "+U", 3),
        (1, 5, "x", "+U", 5),
        (1, 5, "x", "+U", 7),
        (1, None, None, "-U", 8),
        (2, 5, "x", "+U", 9),
        (2, None, None, "D", 10),
    ]
    assert result.broken.num_rows == 0
    assert not result.lacking
    assert result.nulls == {"t"}


def test_what_cannot_be_read_is_broken_as_a_whole_and_says_why() -> None:
    """Neither half of such an update is applied; deletes only need their key."""
    row = {"id": "1", "number": "5", "t": "x"}
    result = typed(
        event(0, "I", {**row, "number": "5.5"}),
        event(1, "U", {**row, "number": "NaN"}, row),
        event(2, "I", {**row, "id": None}),
        event(3, "D", old={"id": "one"}),
        event(4, "D", old={"number": "1"}),
        event(5, "D", old={**row, "number": "5.5"}),
    )

    assert tuples(result.rows) == [(1, None, "x", "D", 10)]
    assert [
        (each["seq"], each["reason"], each["message"]) for each in result.broken.to_pylist()
    ] == [
        (0, "column n: 5.5 is no exact int64", "m0"),
        (1, "column n: NaN is no exact int64", "m1"),
        (2, "column id has no value", "m2"),
        (3, "column id of the row before: one", "m3"),
        (4, "column id of the row before: no value", "m4"),
    ]


def test_a_value_that_an_update_left_out_is_that_of_the_row_before() -> None:
    """And where that is not known either, the column is said to lack."""
    result = typed(
        event(0, "U", {"id": "1", "number": "5"}, {"id": "1", "number": "4", "t": "kept"}),
        event(1, "U", {"id": "2", "number": "5"}),
    )

    assert [row[:3] for row in tuples(result.rows)] == [
        (1, 4, "kept"),
        (1, 5, "kept"),
        (2, 5, None),
    ]
    assert result.lacking == {"t"}
    safe = [*COLUMNS[:2], ReadColumn(field=COLUMNS[2].field, source="t", absent_is_null=True)]
    assert not typed(event(1, "U", {"id": "2", "number": "5"}), columns=safe).lacking


def test_a_column_that_can_never_be_read_breaks_every_event() -> None:
    """Nothing is lost, nothing is guessed."""
    listed = ReadColumn(field=pa.field("l", pa.list_(pa.int32())), source="l")
    result = typed(event(0, "I", {"id": "1"}), columns=[*COLUMNS, listed])

    assert result.rows.num_rows == 0
    assert "cannot be read from text" in result.broken.to_pylist()[0]["reason"]


def test_an_unscaled_decimal_may_come_as_a_number() -> None:
    """Its digits alone could be Base64, so the event says which columns are numbers."""
    unscaled = Decoding(encoding=Encoding.UNSCALED, scale=1)
    price = ReadColumn(field=pa.field("p", pa.decimal128(9, 1)), source="p", decoding=unscaled)
    row = {"id": "1", "number": "5", "t": "x", "p": "1234"}
    result = typed(
        {**event(0, "U", row, {"id": "1", "p": "12.5"}), "numbers": ["id", "p"]},
        event(1, "I", row),
        columns=[*COLUMNS, price],
    )

    assert [value[3] for value in tuples(result.rows)] == [Decimal("1234"), Decimal("-265882.4")]


def test_a_copy_that_can_never_be_read_is_broken_row_by_row() -> None:
    """As the events are: bytes have no text that a column of texts could hold."""
    as_bytes = replace(COLUMNS[2], decoding=Decoding(encoding=Encoding.HEX))
    texts = pa.table({"id": ["1", "2"], "number": ["5", None], "t": ["00ff", None]})
    result = typed_values(texts, [*COLUMNS[:2], as_bytes])

    assert result.rows.num_rows == 0
    assert [(row["reason"], row["message"]) for row in result.broken.to_pylist()] == [
        ("column 't' is string, which cannot be read from hex", message)
        for message in ('{"id":"1","number":"5","t":"00ff"}', '{"id":"2","number":null,"t":null}')
    ]


def test_last_rows_are_what_an_empty_table_would_hold() -> None:
    """Of each key the last event counts, if it is no delete."""
    row = {"id": "1", "number": "5", "t": "x"}
    result = typed(
        event(0, "I", row),
        event(1, "I", {**row, "id": "2"}),
        event(2, "U", {**row, "number": "6"}, row),
        event(3, "D", old={"id": "2"}),
        event(4, "U", {**row, "id": "3"}, row),
    )

    assert tuples(last_rows(result.rows, ["id"])) == [(3, 5, "x")]


def test_events_are_split_by_what_they_say_of_their_columns() -> None:
    """Those that say nothing are one part too."""
    events = [{**event(n, "I", {"id": "1"}), "shape": s} for n, s in enumerate("ab")]
    parts = split_by_shape(pa.Table.from_pylist([*events, event(2, "D", old={"id": "1"})], EVENTS))

    assert {shape: part["seq"].to_pylist() for shape, part in parts.items()} == {
        "a": [0], "b": [1], None: [2],
    }  # fmt: skip

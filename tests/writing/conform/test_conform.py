"""Frames that fit the table, and the words with which others are refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arctic.errors import InvalidInputError
from arctic.writing.conform.conform import Conform, plan_conform
from arctic.writing.write_request import WriteMode
from tests.factories.tables import field
from tests.writing.local_table import SCHEMA

FRAME = {"id": pa.int32(), "region": pa.large_string(), "amount": pa.int8(), "note": pa.string()}


def plan(frame: dict[str, pa.DataType] | pa.Schema, **arguments: Any) -> Conform:
    """Plan with the usual arguments."""
    known: dict[str, Any] = {
        "table_name": "db.t",
        "mode": WriteMode.UPSERT,
        "key": ("id",),
        "extra_columns": (),
        "ignored_columns": (),
        "partition_sources": (),
    }
    incoming = frame if isinstance(frame, pa.Schema) else pa.schema(list(frame.items()))
    return plan_conform(incoming, SCHEMA, **{**known, **arguments})


def rows(frame: dict[str, pa.DataType], *values: dict[str, Any]) -> pa.RecordBatch:
    """Return a batch of a frame."""
    return pa.RecordBatch.from_pylist(list(values), schema=pa.schema(list(frame.items())))


def without(*names: str) -> dict[str, pa.DataType]:
    """Return the frame without some columns."""
    return {name: kind for name, kind in FRAME.items() if name not in names}


def test_a_batch_comes_out_in_the_tables_names_order_and_types() -> None:
    """Columns meet by name, a missing optional one is null, extras stand at the end."""
    frame = {
        "op": pa.large_string(),
        **dict(reversed(without("note").items())),
        "_task": pa.int32(),
    }
    conform = plan(frame, extra_columns=("op",), ignored_columns=("_task",))

    result = conform.apply(rows(frame, {"id": 1, "region": "eu", "amount": 2, "op": "I"}))

    assert result.schema == pa.schema([*SCHEMA, ("op", pa.string())])
    assert result.schema.field("id").metadata == {b"PARQUET:field_id": b"1"}
    assert result.to_pylist() == [{"id": 1, "region": "eu", "amount": 2, "note": None, "op": "I"}]


def test_an_extra_column_of_the_table_comes_out_once() -> None:
    """A table's own column may order the events."""
    conform = plan(FRAME, extra_columns=("amount",))

    assert conform.extra_columns == ()
    assert conform.apply(rows(FRAME)).schema.names == SCHEMA.names


@pytest.mark.parametrize(
    ("frame", "arguments", "message"),
    [
        (
            {**FRAME, "ID": pa.int32()},
            {},
            "column 'ID' is not in table 'db.t'; did you mean 'id'? names are compared with case",
        ),
        (
            {**FRAME, "nota": pa.int32()},
            {},
            "column 'nota' is not in table 'db.t'; did you mean 'note'?",
        ),
        (
            {**FRAME, "zzz": pa.int32()},
            {},
            "column 'zzz' is not in table 'db.t'; expected one of id, region, amount, note",
        ),
        (
            without("id"),
            {},
            "column 'id' (int64) of table 'db.t' is a key column, but the frame has ",
        ),
        (
            without("amount"),
            {},
            "column 'amount' (int32) of table 'db.t' is required, but the frame",
        ),
        (
            {**FRAME, "amount": pa.float64()},
            {},
            "column 'amount' is double, but the table has int32",
        ),
        (
            FRAME,
            {"extra_columns": ("op",)},
            "column 'op' is named as an action or ordering column of this upsert, but the frame",
        ),
        (
            {**FRAME, "seq": pa.list_(pa.int8())},
            {"extra_columns": ("seq",)},
            "column 'seq' is list<item: int8>: it can neither tell an action nor an order",
        ),
        (
            pa.schema([*FRAME.items(), ("id", pa.int32())]),
            {},
            "the frame has two columns 'id'; expected one",
        ),
        (without("id"), {"mode": WriteMode.DELETE}, "column 'id' (int64) of table 'db.t' is a key"),
        (
            {**FRAME, "note": pa.int8()},
            {"mode": WriteMode.DELETE},
            "column 'note' is int8, but the table has string",
        ),
    ],
)
def test_a_frame_that_does_not_fit_is_refused_before_any_row(
    frame: dict[str, pa.DataType], arguments: dict[str, Any], message: str
) -> None:
    """The message names the column and what was expected."""
    with pytest.raises(InvalidInputError) as caught:
        plan(frame, **arguments)

    assert message in caught.value.message


def test_a_delete_needs_the_key_and_carries_only_what_its_row_will_hold() -> None:
    """Optional columns may be given, but a delete has no use for them."""
    only_key = plan({"id": pa.int64()}, mode=WriteMode.DELETE)
    everything = plan(FRAME, mode=WriteMode.DELETE)
    sourced = plan(FRAME, mode=WriteMode.DELETE, partition_sources=("region",))

    assert only_key.table_fields.names == ["id"]
    assert everything.table_fields.names == ["id", "amount"]
    assert sourced.table_fields.names == ["id", "region", "amount"]


def test_only_a_delete_may_leave_its_partition_open() -> None:
    """A missing optional source column of a row is null, of a delete it is unknown."""
    frame = without("region")

    assert plan(frame, partition_sources=("region",)).has_partition_sources
    assert not plan(
        frame, mode=WriteMode.DELETE, partition_sources=("region",)
    ).has_partition_sources


def test_a_null_key_is_refused_with_its_row() -> None:
    """The first offender is shown with all key columns."""
    frame = FRAME
    conform = plan(frame, key=("region", "id"))

    with pytest.raises(InvalidInputError) as caught:
        conform.apply(
            rows(frame, {"id": 1, "region": "eu"}, {"id": 2, "region": None}, {"id": None})
        )

    assert caught.value.message == (
        "column 'region' of table 'db.t' is part of the key, but null in the row with key "
        "(region=None, id=2); expected a value"
    )


def test_a_null_in_a_required_column_is_refused_only_where_it_would_become_a_row() -> None:
    """A delete may know no more than its key."""
    conform = plan(FRAME)
    found = conform.apply(
        rows(FRAME, {"id": 1, "amount": 1}, {"id": 2, "amount": None}, {"id": 3, "amount": None})
    )

    conform.check_required(found, np.array([True, False, False]))
    for inserted, key in ((None, 2), (np.array([True, False, True]), 3)):
        with pytest.raises(InvalidInputError) as caught:
            conform.check_required(found, inserted)

        assert caught.value.message == (
            "column 'amount' of table 'db.t' is required, but null in the row with key "
            f"(id={key}); expected a value"
        )


def test_a_null_deep_inside_a_required_part_is_refused() -> None:
    """Parquet would take it, and readers would fail."""
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    schema = pa.schema([field("id", pa.int64(), 1, nullable=False), field("s", inner, 2)])
    frame = {"id": pa.int64(), "s": pa.struct([("x", pa.int32())])}
    conform = plan_conform(
        pa.schema(list(frame.items())),
        schema,
        table_name="db.t",
        mode=WriteMode.APPEND,
        key=(),
        extra_columns=(),
        ignored_columns=(),
        partition_sources=(),
    )
    found = conform.apply(rows(frame, {"id": 1, "s": None}, {"id": 2, "s": {"x": None}}))

    with pytest.raises(InvalidInputError, match=r"column 's' .* null in row 1 of a batch"):
        conform.check_required(found, None)


def test_a_batch_of_other_columns_is_refused() -> None:
    """The frame was checked once: a batch that differs must not slip through."""
    with pytest.raises(InvalidInputError, match="a batch has columns"):
        plan(FRAME).apply(rows(without("note")))


def test_a_batch_may_come_in_another_form_of_a_type_but_not_another_type() -> None:
    """Engines announce one schema and send another: each batch is judged again."""
    conform = plan(FRAME)

    other = {**FRAME, "note": pa.dictionary(pa.int8(), pa.string())}
    assert conform.apply(rows(other, {"id": 1, "note": "x"})).column("note").to_pylist() == ["x"]
    with pytest.raises(InvalidInputError, match="column 'note' is int64"):
        conform.apply(rows({**FRAME, "note": pa.int64()}, {"id": 1}))


def test_a_value_beyond_its_type_is_refused() -> None:
    """The one thing that only the value can tell: a time that microseconds cannot reach."""
    schema = pa.schema([field("t", pa.timestamp("us"), 1)])
    frame = pa.schema([("t", pa.timestamp("s"))])
    conform = plan_conform(
        frame,
        schema,
        table_name="db.t",
        mode=WriteMode.APPEND,
        key=(),
        extra_columns=(),
        ignored_columns=(),
        partition_sources=(),
    )

    with pytest.raises(InvalidInputError, match="column 't' has a value that timestamp"):
        conform.apply(
            pa.RecordBatch.from_arrays([pa.array([2**50]).cast(pa.timestamp("s"))], schema=frame)
        )


def test_a_plan_goes_to_executors() -> None:
    """It pickles, and works the same afterwards."""
    conform = pickle.loads(pickle.dumps(plan(FRAME)))

    result = conform.apply(rows(FRAME, {"id": 1, "amount": 2}))

    assert result.schema.field("id").metadata == {b"PARQUET:field_id": b"1"}
    assert result.to_pylist()[0]["amount"] == 2

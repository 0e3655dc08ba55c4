"""Parts of aggregates: whatever they are, they add up to what the rows give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.mor import partial_aggregates
from arctic.mor.partial_aggregates import PartialAggregate, PartialGroups
from arctic.scan.aggregate import AggregateKind as Kind

ROWS = pa.schema(
    {
        "name": pa.string(),
        "flag": pa.bool_(),
        "small": pa.int32(),
        "large": pa.int64(),
        "price": pa.decimal128(6, 2),
        "day": pa.date32(),
    }
)
ASKED = (
    (Kind.COUNT_ROWS, None, pa.int64()),
    (Kind.COUNT, "price", pa.int64()),
    (Kind.SUM, "small", pa.int64()),
    (Kind.SUM, "large", pa.int64()),
    (Kind.SUM, "price", pa.decimal128(6, 2)),
    (Kind.MIN, "name", pa.string()),
    (Kind.MAX, "day", pa.date32()),
    (Kind.MIN, "price", pa.decimal128(6, 2)),
)
Row = tuple[Any, ...]
LARGE = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1))
PRICES = st.decimals(Decimal("-9999.99"), Decimal("9999.99"), places=2)
BATCHES = st.lists(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from(["", "a", "b", "é"]),
            st.none() | st.booleans(),
            st.none() | st.integers(-(2**31), 2**31 - 1),
            st.none() | LARGE,
            st.none() | PRICES,
            st.none() | st.dates(),
        ),
        max_size=6,
    ),
    max_size=8,
)


def groups_by(*keys: str) -> PartialGroups:
    """Return what makes every kind of aggregate."""
    fields = [ROWS.field(key) for key in keys]
    fields += [pa.field(f"a{place}", kind) for place, (_, _, kind) in enumerate(ASKED)]
    made = tuple(PartialAggregate(kind=kind, column=column) for kind, column, _ in ASKED)
    return PartialGroups(keys=keys, aggregates=made, schema=pa.schema(fields))


def batches_of(rows: Sequence[Sequence[Row]]) -> list[pa.RecordBatch]:
    """Return batches of literal rows."""
    names = ROWS.names
    return [
        pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in batch], ROWS)
        for batch in rows
    ]


def added(values: list[Any]) -> Any:
    """Return what Spark adds parts up to, but for its bounds."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def least(values: list[Any]) -> Any:
    """Return the least part."""
    return min([value for value in values if value is not None], default=None)


def most(values: list[Any]) -> Any:
    """Return the greatest part."""
    return max([value for value in values if value is not None], default=None)


JOINS = (added, added, added, added, added, least, most, least)


def of_rows(batches: Sequence[Sequence[Row]], keys: Sequence[str]) -> dict[Row, Row]:
    """Return every group, by Python."""
    places = [ROWS.names.index(key) for key in keys]
    rows: dict[Row, list[Row]] = defaultdict(list)
    for row in [row for batch in batches for row in batch]:
        rows[tuple(row[place] for place in places)].append(row)
    if not keys:
        rows.setdefault((), [])
    found = {}
    for key, group in rows.items():
        _, _, small, large, price, day = [[row[at] for row in group] for at in range(6)]
        names = [row[0] for row in group]
        counts = len(group), sum(each is not None for each in price)
        sums = added(small), added(large), added(price)
        found[key] = (*counts, *sums, least(names), most(day), least(price))
    return found


def of_parts(parts: Sequence[pa.RecordBatch], keys: int) -> dict[Row, Row]:
    """Return the groups that parts add up to."""
    values: dict[Row, list[Row]] = defaultdict(list)
    for part in parts:
        for row in part.to_pylist():
            each = tuple(row.values())
            values[each[:keys]].append(each[keys:])
    return {
        key: tuple(join([row[at] for row in rows]) for at, join in enumerate(JOINS))
        for key, rows in values.items()
    }


@given(batches=BATCHES, keys=st.sampled_from([(), ("name",), ("flag", "name"), ("price",)]))
def test_parts_add_up_to_what_the_rows_give(
    batches: list[list[Row]], keys: tuple[str, ...]
) -> None:
    """Sums that would overflow included: none of them wraps, and every part is of its type."""
    wanted = groups_by(*keys)

    parts = list(wanted.of(batches_of(batches)))

    assert all(part.schema == wanted.schema for part in parts)
    assert of_parts(parts, len(keys)) == of_rows(batches, keys)
    for part in parts:
        part.validate(full=True)


@given(batches=BATCHES)
def test_more_groups_than_there_is_room_for_come_out_in_parts(batches: list[list[Row]]) -> None:
    """As many as fit at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial_aggregates, "MOST_GROUPS", 2)
        patch.setattr(partial_aggregates, "_FEW_GROUPS", 3)
        parts = list(groups_by("name", "day").of(batches_of(batches)))

    assert of_parts(parts, 2) == of_rows(batches, ("name", "day"))


def test_groups_take_no_more_bytes_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few they are: keys and extremes may be texts of any length."""
    monkeypatch.setattr(partial_aggregates, "MOST_BYTES", 100_000)
    monkeypatch.setattr(partial_aggregates, "_FEW_BYTES", 50_000)
    rows: list[list[Row]] = [
        [(f"{at}".zfill(20_000), None, at, None, None, None)] * 2 for at in range(40)
    ]

    parts = list(groups_by("name").of(batches_of([*rows, *rows])))

    assert of_parts(parts, 1) == of_rows([*rows, *rows], ("name",))
    # A group has its name twice, as a key and as an extreme.
    assert max(part.nbytes for part in parts) < 250_000
    assert sum(part.num_rows for part in parts) > 40


def test_groups_of_many_batches_come_out_once() -> None:
    """Where they have room, and sums fit."""
    rows = [("a", True, 1, 2, Decimal("0.50"), None), ("b", None, None, 5, None, None)]

    parts = list(groups_by("name").of(batches_of([rows] * 50)))

    assert sum(part.num_rows for part in parts) == 2


def test_without_aggregates_groups_are_the_distinct_keys() -> None:
    """As SELECT DISTINCT wants them."""
    wanted = PartialGroups(keys=("flag",), aggregates=(), schema=pa.schema([ROWS.field("flag")]))
    rows = [(None, flag, None, None, None, None) for flag in (True, None, True)]

    parts = list(wanted.of(batches_of([rows, rows])))

    assert sorted(str(row["flag"]) for part in parts for row in part.to_pylist()) == [
        "None",
        "True",
    ]


@pytest.mark.parametrize(("kind", "value"), [(pa.date32(), 6_669_000), (pa.timestamp("us"), 2**58)])
def test_extremes_may_be_of_years_that_python_does_not_know(kind: pa.DataType, value: int) -> None:
    """A table may have them: Spark writes years of five digits and more."""
    number = pa.int32() if kind == pa.date32() else pa.int64()
    rows = pa.record_batch([pa.array([value, None, 0], number).cast(kind)], names=["at"])
    made = (PartialAggregate(kind=Kind.MAX, column="at"),)
    wanted = PartialGroups(keys=(), aggregates=made, schema=pa.schema({"most": kind}))

    (part,) = wanted.of([rows])

    assert part.column("most").cast(number).to_pylist() == [value]


def test_rows_without_columns_are_counted() -> None:
    """A reader yields them so where nothing else is wanted."""
    made = (PartialAggregate(kind=Kind.COUNT_ROWS, column=None),)
    wanted = PartialGroups(keys=(), aggregates=made, schema=pa.schema({"n": pa.int64()}))
    bare = pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), 7, [None]))

    assert [part.to_pylist() for part in wanted.of([bare, bare])] == [[{"n": 14}]]

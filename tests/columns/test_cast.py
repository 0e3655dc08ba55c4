"""Types that turn into the table's, exactly or not at all."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns.cast import cast_array, cast_column, check_castable, plain_table
from arctic.columns.nullable import null_offenders
from arctic.errors import InvalidInputError

UTC = dt.timezone.utc
NOON = dt.datetime(2024, 5, 6, 12, 0, 1)  # noqa: DTZ001


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """A value of one type that another type takes as it is."""

    id: str
    given: pa.DataType
    expected: pa.DataType
    value: Any


def nested(*fields: tuple[str, pa.DataType]) -> pa.DataType:
    """Return a struct of optional fields."""
    return pa.struct([pa.field(name, kind) for name, kind in fields])


FITS = [
    Fits(id="same", given=pa.int32(), expected=pa.int32(), value=-5),
    Fits(id="byte to int", given=pa.int8(), expected=pa.int32(), value=-128),
    Fits(id="short to long", given=pa.int16(), expected=pa.int64(), value=-32768),
    Fits(id="int to long", given=pa.int32(), expected=pa.int64(), value=2**31 - 1),
    Fits(id="long to int", given=pa.int64(), expected=pa.int32(), value=-(2**31)),
    Fits(id="unsigned to int", given=pa.uint64(), expected=pa.int32(), value=2**31 - 1),
    Fits(id="unsigned to long", given=pa.uint64(), expected=pa.int64(), value=2**63 - 1),
    Fits(
        id="dictionary of longs",
        given=pa.dictionary(pa.int8(), pa.int64()),
        expected=pa.int32(),
        value=7,
    ),
    Fits(id="nanoseconds", given=pa.timestamp("ns"), expected=pa.timestamp("us"), value=NOON),
    Fits(
        id="nanoseconds in a zone",
        given=pa.timestamp("ns", "Asia/Tokyo"),
        expected=pa.timestamp("us", "UTC"),
        value=NOON.replace(tzinfo=UTC),
    ),
    Fits(id="float to double", given=pa.float32(), expected=pa.float64(), value=0.25),
    Fits(
        id="wider decimal",
        given=pa.decimal128(5, 2),
        expected=pa.decimal128(20, 2),
        value=Decimal("-123.45"),
    ),
    Fits(
        id="decimal in 256 bits",
        given=pa.decimal256(38, 2),
        expected=pa.decimal128(38, 2),
        value=Decimal("1" * 36 + ".25"),
    ),
    Fits(id="large string", given=pa.large_string(), expected=pa.string(), value="数据"),
    Fits(id="string view", given=pa.string_view(), expected=pa.string(), value="a" * 40),
    Fits(id="fixed bytes", given=pa.binary(), expected=pa.binary(2), value=b"\x00\xff"),
    Fits(id="large binary", given=pa.large_binary(), expected=pa.binary(), value=b"\x00\xff"),
    Fits(id="binary view", given=pa.binary_view(), expected=pa.binary(), value=b"\x00" * 40),
    Fits(id="date", given=pa.date32(), expected=pa.date32(), value=NOON.date()),
    Fits(id="seconds", given=pa.timestamp("s"), expected=pa.timestamp("us"), value=NOON),
    Fits(id="milliseconds", given=pa.timestamp("ms"), expected=pa.timestamp("us"), value=NOON),
    Fits(
        id="another zone",
        given=pa.timestamp("ms", "Asia/Tokyo"),
        expected=pa.timestamp("us", "UTC"),
        value=NOON.replace(tzinfo=UTC),
    ),
    Fits(
        id="struct by name",
        given=nested(("b", pa.int16()), ("a", pa.large_string())),
        expected=nested(("a", pa.string()), ("b", pa.int32()), ("c", pa.date32())),
        value={"a": "x", "b": 7, "c": None},
    ),
    Fits(
        id="list",
        given=pa.large_list(pa.int8()),
        expected=pa.list_(pa.int32()),
        value=[1, None, 3],
    ),
    Fits(id="list view", given=pa.list_view(pa.int8()), expected=pa.list_(pa.int64()), value=[1]),
    Fits(
        id="map",
        given=pa.map_(pa.large_string(), pa.int8()),
        expected=pa.map_(pa.string(), pa.int32()),
        value=[("k", 1), ("l", None)],
    ),
    Fits(
        id="lists of structs of lists",
        given=pa.list_(nested(("x", pa.list_(pa.int8())))),
        expected=pa.list_(nested(("x", pa.list_(pa.int64())), ("y", pa.string()))),
        value=[{"x": [1, 2], "y": None}, None, {"x": None, "y": None}],
    ),
]


@pytest.mark.parametrize("case", FITS, ids=lambda case: case.id)
def test_a_fitting_value_is_kept_as_it_is(case: Fits) -> None:
    """Values, nulls and slices survive; the result has exactly the expected type."""
    field = pa.field("c", case.expected)
    array = _array([case.value, None, case.value], case.given)

    check_castable(array.type, field, "c")

    for part in (array, array.slice(1), array.slice(1, 1), array.slice(0, 0)):
        result = cast_array(part, field.type)
        result.validate(full=True)
        assert result.type == case.expected
        assert result.to_pylist() == [
            case.value if v is not None else None for v in part.to_pylist()
        ]


def _array(values: list[Any], data_type: pa.DataType) -> pa.Array:
    if pa.types.is_struct(data_type):
        names = {field.name for field in data_type}
        values = [v and {name: v[name] for name in names} for v in values]
    return pa.array(values, data_type)


def test_dictionaries_are_resolved_at_any_depth() -> None:
    """A dictionary is only another form of the same column."""
    words = pa.array(["x", None, "y", "x"]).dictionary_encode()
    inside = pa.StructArray.from_arrays([words], names=["w"])
    field = pa.field("c", nested(("w", pa.string())))

    check_castable(inside.type, field, "c")
    result = cast_array(inside, field.type)

    assert result.type == field.type
    assert [row["w"] for row in result.to_pylist()] == ["x", None, "y", "x"]


def test_plain_rows_have_neither_dictionaries_nor_views() -> None:
    """At any depth, in any chunk; what is plain stays the very same."""
    views = pa.struct(
        [
            ("text", pa.dictionary(pa.int8(), pa.string())),
            ("list", pa.list_view(pa.binary_view())),
            ("map", pa.map_(pa.string_view(), pa.large_list(pa.string_view()))),
        ]
    )
    plain = pa.struct(
        [
            ("text", pa.string()),
            ("list", pa.list_(pa.binary())),
            ("map", pa.map_(pa.string(), pa.large_list(pa.string()))),
        ]
    )
    rows = [{"text": "a", "list": [b"b", None], "map": [("k", ["v"])]}, None]
    given = pa.table({"deep": pa.array(rows, views), "n": [1, 2]})
    given = pa.concat_tables([given, given.slice(1), given.slice(0, 0)])

    found = plain_table(given)

    assert found.schema == pa.schema([("deep", plain), ("n", pa.int64())])
    assert found.to_pylist() == given.to_pylist()
    assert plain_table(found) is found
    assert plain_table(given.schema.empty_table()).schema == found.schema


@pytest.mark.parametrize(
    ("given_type", "expected", "reason"),
    [
        (pa.int32(), pa.float64(), "lost or changed"),
        (pa.float64(), pa.int32(), "lost or changed"),
        (pa.bool_(), pa.int32(), "lost or changed"),
        (pa.float64(), pa.float32(), "lost or changed"),
        (pa.float16(), pa.float32(), "lost or changed"),
        (pa.int32(), pa.string(), "lost or changed"),
        (pa.string(), pa.int32(), "lost or changed"),
        (pa.string(), pa.binary(), "lost or changed"),
        (pa.binary(5), pa.binary(4), "lost or changed"),
        (pa.null(), pa.int32(), "lost or changed"),
        (pa.decimal128(10, 2), pa.decimal128(9, 2), "lost or changed"),
        (pa.decimal128(10, 2), pa.decimal128(20, 3), "lost or changed"),
        (pa.date64(), pa.date32(), "lost or changed"),
        (pa.timestamp("us"), pa.date32(), "lost or changed"),
        (pa.time32("s"), pa.time64("us"), "lost or changed"),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"), "has a time zone"),
        (pa.timestamp("ns"), pa.timestamp("us", "UTC"), "has no time zone"),
        (pa.list_(pa.int32()), nested(("a", pa.int32())), "lost or changed"),
    ],
    ids=str,
)
def test_what_could_change_a_value_is_refused_by_type(
    given_type: pa.DataType, expected: pa.DataType, reason: str
) -> None:
    """Even where the values at hand would survive: the next batch's might not."""
    with pytest.raises(InvalidInputError, match=reason) as caught:
        check_castable(given_type, pa.field("col", expected), "col")

    assert "column 'col'" in caught.value.message
    assert "cast it to" in caught.value.message


@pytest.mark.parametrize(
    ("array", "expected", "message"),
    [
        (
            pa.array([1, 2**31, 2, 2**40], pa.int64()),
            pa.int32(),
            "cannot hold: 2147483648 in row 1;",
        ),
        (
            pa.array([None, -(2**31) - 1], pa.int64()),
            pa.int32(),
            "cannot hold: -2147483649 in row 1;",
        ),
        (pa.array([2**63], pa.uint64()), pa.int64(), "cannot hold: 9223372036854775808 in row 0;"),
        (pa.array([b"ab", None, b"abc"]), pa.binary(2), "cannot hold: b'abc' in row 2;"),
        (
            pa.array([5_000, None, 1_709_164_800_000_000_001], pa.timestamp("ns")),
            pa.timestamp("us"),
            "2024-02-29.*000000001.* in row 2;",
        ),
        (
            pa.array([0, 2**60], pa.timestamp("s", "UTC")),
            pa.timestamp("us", "UTC"),
            "column 'c' has a value that timestamptz cannot hold: .* in row 1;",
        ),
        (
            pa.array([[1], None, [], [2, 2**31]], pa.list_(pa.int64())),
            pa.list_(pa.int32()),
            r"cannot hold: \[2, 2147483648\] in row 3;",
        ),
        (
            pa.array([{"a": 1}] * 9 + [{"a": 2**31}], nested(("a", pa.int64()))),
            nested(("a", pa.int32())),
            "'a': 2147483648.* in row 9;",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_refused_by_value(
    array: pa.Array, expected: pa.DataType, message: str
) -> None:
    """The first of them, with its row; the others of the column might fit."""
    check_castable(array.type, pa.field("c", expected), "c")

    with pytest.raises(InvalidInputError, match=message):
        cast_column(array, expected, "c", lambda row: f"row {row}")


@pytest.mark.parametrize(
    ("given_type", "expected", "message"),
    [
        (
            nested(("a", pa.float64())),
            nested(("a", pa.int32())),
            "column 'c.a' is double, but the table has int32",
        ),
        (
            nested(("A", pa.int32())),
            nested(("a", pa.int32())),
            "column 'c.A' is not in the table; did you mean 'a'? names are compared with case",
        ),
        (
            nested(("a", pa.int32())),
            pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.int32(), nullable=False)]),
            "column 'c.b' (int32) is required but missing",
        ),
        (
            nested(("a", pa.int32()), ("a", pa.int32())),
            nested(("a", pa.int32()), ("b", pa.int32())),
            "column 'c' has two fields 'a'",
        ),
        (pa.list_(pa.string()), pa.list_(pa.int32()), "column 'c.element' is string"),
        (
            pa.map_(pa.string(), pa.int8()),
            pa.map_(pa.int32(), pa.int8()),
            "column 'c.key' is string",
        ),
        (pa.map_(pa.int8(), pa.string()), pa.map_(pa.int8(), pa.int32()), "column 'c.value' is"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_names_the_nested_column(
    given_type: pa.DataType, expected: pa.DataType, message: str
) -> None:
    """The path leads to the part that does not fit."""
    with pytest.raises(InvalidInputError) as caught:
        check_castable(given_type, pa.field("c", expected), "c")

    assert message in caught.value.message


def required(name: str, data_type: pa.DataType) -> pa.Field:
    """Return a field that must not be null."""
    return pa.field(name, data_type, nullable=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nulls:
    """Values, and the rows that break the field."""

    id: str
    field: pa.Field
    values: list[Any]
    rows: list[int]


NULLS = [
    Nulls(id="flat", field=required("c", pa.int32()), values=[1, None, 2, None], rows=[1, 3]),
    Nulls(
        id="in a struct",
        field=pa.field("c", pa.struct([required("a", pa.int32())])),
        values=[{"a": 1}, None, {"a": None}],
        rows=[2],
    ),
    Nulls(
        id="in a list",
        field=pa.field("c", pa.list_(required("element", pa.int32()))),
        values=[[], None, [1, 2], [1, None], [None]],
        rows=[3, 4],
    ),
    Nulls(
        id="in a map",
        field=pa.field("c", pa.map_(pa.string(), required("value", pa.int32()))),
        values=[[("a", 1)], None, [("a", None), ("b", None)]],
        rows=[2],
    ),
    Nulls(
        id="deep",
        field=pa.field("c", pa.list_(pa.struct([required("a", pa.list_(pa.int32()))]))),
        values=[[{"a": [None]}], [None], [{"a": None}], None],
        rows=[2],
    ),
]


@pytest.mark.parametrize("case", NULLS, ids=lambda case: case.id)
def test_nulls_are_found_where_a_part_is_required(case: Nulls) -> None:
    """A required part is only asked for where what it is part of is there."""
    array = pa.array(case.values, _optional(case.field.type))

    assert null_offenders(cast_array(array, case.field.type), case.field).tolist() == case.rows
    shifted = cast_array(array.slice(1), case.field.type)
    expected = [row - 1 for row in case.rows if row]
    assert null_offenders(shifted, case.field).tolist() == expected


def _optional(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(data_type):
        return pa.struct([pa.field(child.name, _optional(child.type)) for child in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(_optional(data_type.value_type))
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_type, _optional(data_type.item_type))
    return data_type


rows_of_lists = st.lists(
    st.one_of(
        st.none(), st.lists(st.one_of(st.none(), st.fixed_dictionaries({"a": st.integers(0, 9)})))
    )
)


@given(values=rows_of_lists, start=st.integers(0, 3))
def test_nested_values_survive_any_slice(values: list[Any], start: int) -> None:
    """A slice of a nested column keeps the values of the whole: none of them leaks in."""
    array = pa.array(values, pa.large_list(nested(("a", pa.int8())))).slice(min(start, len(values)))
    expected = pa.list_(nested(("z", pa.string()), ("a", pa.int64())))

    result = cast_array(array, expected)
    result.validate(full=True)

    plain = [v and [r and {"z": None, **r} for r in v] for v in values[start:]]
    assert result.to_pylist() == plain
    assert np.array_equal(null_offenders(result, pa.field("c", expected)), [])

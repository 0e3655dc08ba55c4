"""Key columns for tests: for each Iceberg type, Arrow's type and every value it can have."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.factories.numbers import INTS, LONGS


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumn:
    """One column: its types, and values in Iceberg's internal form."""

    type: str
    arrow_type: Any
    values: list[Any]

    def array(self) -> Any:
        """Return the values as an Arrow array."""
        return internal_array(self.values, self.arrow_type)


def internal_array(values: list[Any], arrow_type: Any) -> Any:
    """Return an array of internal values: days and microseconds are given as numbers."""
    numbers = {pa.date32(): pa.int32(), pa.time64("us"): pa.int64()}
    if pa.types.is_timestamp(arrow_type):
        return pa.array(values, pa.int64()).view(arrow_type)
    if arrow_type in numbers:
        return pa.array(values, numbers[arrow_type]).view(arrow_type)
    return pa.array(values, arrow_type)


def _float_of(bits: int) -> float:
    return float(struct.unpack(">f", struct.pack(">I", bits))[0])


def _double_of(bits: int) -> float:
    return float(struct.unpack(">d", struct.pack(">Q", bits))[0])


_TEXT = st.one_of(st.text(max_size=12), st.text("aé数😀", max_size=40))

SIMPLE: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "boolean": (pa.bool_(), st.booleans()),
    "int": (pa.int32(), INTS),
    "long": (pa.int64(), LONGS),
    # From bits, so that infinities, both zeros and NaNs of every payload come up.
    "float": (pa.float32(), st.integers(0, 2**32 - 1).map(_float_of)),
    "double": (pa.float64(), st.integers(0, 2**64 - 1).map(_double_of)),
    "date": (pa.date32(), INTS),
    "time": (pa.time64("us"), st.integers(0, 86_399_999_999)),
    "timestamp": (pa.timestamp("us"), LONGS),
    "timestamptz": (pa.timestamp("us", tz="UTC"), LONGS),
    "string": (pa.string(), _TEXT),
    "binary": (pa.binary(), st.binary(max_size=40)),
    "fixed[5]": (pa.binary(5), st.binary(min_size=5, max_size=5)),
}


@st.composite
def decimal_types(draw: st.DrawFn) -> tuple[str, Any, st.SearchStrategy[Any]]:
    """Draw a decimal type with the values that it holds."""
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    limit = 10**precision - 1
    values = st.integers(-limit, limit).map(lambda unscaled: decimal_of(unscaled, scale))
    return f"decimal({precision}, {scale})", pa.decimal128(precision, scale), values


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """Return a decimal by its digits, not by arithmetic, which would round to 28 of them."""
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


@st.composite
def key_columns(draw: st.DrawFn, *, rows: int) -> KeyColumn:
    """Draw a column of any type that can be a key, with nulls."""
    name = draw(st.sampled_from([*SIMPLE, "decimal"]))
    if name == "decimal":
        name, arrow_type, values = draw(decimal_types())
    else:
        arrow_type, values = SIMPLE[name]
    column = draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
    return KeyColumn(type=name, arrow_type=arrow_type, values=column)


@st.composite
def composite_keys(draw: st.DrawFn) -> list[KeyColumn]:
    """Draw one to three key columns of the same length."""
    rows = draw(st.integers(0, 12))
    return draw(st.lists(key_columns(rows=rows), min_size=1, max_size=3))

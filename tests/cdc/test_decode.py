"""Values of events become typed values, exactly or not at all."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.cdc.decode import Decoding, Encoding, decode
from arctic.cdc.engine import engine
from arctic.errors import InvalidInputError

TEXT = Decoding()
UTC = timezone.utc


def decoded(
    values: Sequence[str | None], target: pa.DataType, decoding: Decoding = TEXT
) -> list[Any]:
    """Decode a column."""
    with engine() as connection:
        connection.register("given", pa.table({"v": pa.array(values, pa.string())}))
        sql = decode("v", target, decoding, column="c")
        result = connection.sql(f"SELECT {sql} AS d FROM given").to_arrow_table()
    found: list[Any] = result.column("d").to_pylist()
    return found


@pytest.mark.parametrize(
    ("target", "values", "expected"),
    [
        (
            pa.int32(),
            ["1", "-2147483648", "2147483648", "1.0", " 1", ""],
            [1, -(2**31), *[None] * 4],
        ),
        (pa.int64(), [str(2**63 - 1), str(2**63)], [2**63 - 1, None]),
        (pa.bool_(), ["true", "f", "1", "yes"], [True, False, None, None]),
        (pa.float64(), ["0.1", "-Infinity", "1e400", "x"], [0.1, float("-inf"), None, None]),
        (pa.float32(), ["0.5", "1e39"], [0.5, None]),
        (
            pa.decimal128(6, 2),
            ["12.3", "-0.05", "12.345", "12.3400", "99999.00", "NaN", "1e5", "1e-3", "1e999"],
            [Decimal("12.30"), Decimal("-0.05"), None, Decimal("12.34"), *[None] * 5],
        ),
        (
            pa.decimal128(6, 2),
            ["1e2", "-1.5E-1", "0E-10", "12.345E+1", "1234500E-3", "0e99"],
            [Decimal(text) for text in ("100", "-0.15", "0", "123.45", "1234.50", "0")],
        ),
        (pa.decimal128(38, 0), ["9" * 38, "9" * 39], [Decimal("9" * 38), None]),
        (
            pa.date32(),
            ["2026-02-28", "2026-02-30", "infinity", "0044-03-15 BC"],
            [date(2026, 2, 28), None, None, None],
        ),
        (
            pa.timestamp("us"),
            ["2026-01-01 01:02:03.000004", "infinity", "2026-01-01 00:00:00.1234567", "2026-01-01"],
            [datetime(2026, 1, 1, 1, 2, 3, 4), None, None, None],  # noqa: DTZ001
        ),
        (
            pa.timestamp("us", "UTC"),
            ["2026-01-01 01:00:00+02", "2026-01-01T00:00:00Z", "2026-01-01 01:00:00"],
            [datetime(2025, 12, 31, 23, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), None],
        ),
        (pa.string(), ["", "NaN", "it's"], ["", "NaN", "it's"]),
    ],
    ids=str,
)
def test_text_becomes_the_value_it_says_or_nothing(
    target: pa.DataType, values: list[str], expected: list[Any]
) -> None:
    """Nothing is rounded, cut or taken for something near."""
    found = decoded([*values, None], target)

    assert found[-1] is None
    for text, want, got in zip(values, expected, found, strict=False):
        assert got == want, text


@pytest.mark.parametrize(
    ("target", "decoding", "values", "expected"),
    [
        (pa.binary(), Encoding.HEX, ["00ff", "0", "zz", ""], [b"\x00\xff", None, None, b""]),
        (pa.binary(), Encoding.BASE64, ["AQI=", "A"], [b"\x01\x02", None]),
        (pa.binary(2), Encoding.HEX, ["00ff", "00"], [b"\x00\xff", None]),
        (pa.date32(), Encoding.DAYS, ["-1", "1.5"], [date(1969, 12, 31), None]),
        (pa.timestamp("us"), Encoding.MILLISECONDS, ["1500"], [datetime(1970, 1, 1, 0, 0, 1, 500000)]),  # noqa: DTZ001, E501
        (pa.timestamp("us"), Encoding.MICROSECONDS, ["-1"], [datetime(1969, 12, 31, 23, 59, 59, 999999)]),  # noqa: DTZ001, E501
        (pa.timestamp("us"), Encoding.NANOSECONDS, ["1000", "1001"], [datetime(1970, 1, 1, 0, 0, 0, 1), None]),  # noqa: DTZ001, E501
        (pa.string(), Encoding.TIME_MICROSECONDS, ["3661000001", "86400000000", "-1"], ["01:01:01.000001", "24:00:00", None]),  # noqa: E501
        (pa.timestamp("us", tz="UTC"), Encoding.INSTANT_MILLISECONDS, ["1500", "x"], [datetime(1970, 1, 1, 0, 0, 1, 500000, UTC), None]),  # noqa: E501
        (pa.timestamp("us", tz="UTC"), Encoding.INSTANT_MICROSECONDS, ["-1"], [datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)]),  # noqa: E501
        (pa.timestamp("us", tz="UTC"), Encoding.INSTANT_NANOSECONDS, ["1000", "1001"], [datetime(1970, 1, 1, 0, 0, 0, 1, UTC), None]),  # noqa: E501
        (pa.string(), Encoding.TIME_MILLISECONDS, ["43200500"], ["12:00:00.5"]),
    ],
    ids=str,
)  # fmt: skip
def test_encoded_values_are_read_as_they_are_encoded(
    target: pa.DataType, decoding: Encoding, values: list[str], expected: list[Any]
) -> None:
    """Times lose no digit: what a microsecond cannot hold is no value."""
    assert decoded(values, target, Decoding(encoding=decoding)) == expected


@given(
    st.lists(st.integers(-(10**38) + 1, 10**38 - 1), min_size=1, max_size=30), st.integers(0, 38)
)
def test_unscaled_decimals_are_exact(numbers: list[int], scale: int) -> None:
    """Every number of up to 38 digits, at every scale."""
    texts = [
        base64.b64encode(n.to_bytes(n.bit_length() // 8 + 1, "big", signed=True)).decode()
        for n in numbers
    ]

    found = decoded(
        texts, pa.decimal128(38, scale), Decoding(encoding=Encoding.UNSCALED, scale=scale)
    )

    assert found == [Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale)) for n in numbers]


def test_an_encoding_that_can_never_be_the_type_is_refused() -> None:
    """Before any value is looked at."""
    with pytest.raises(InvalidInputError, match="column 'c' is int32, which cannot be read from"):
        decode("v", pa.int32(), Decoding(encoding=Encoding.BASE64), column="c")

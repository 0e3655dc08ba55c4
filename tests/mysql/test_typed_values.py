"""Values of a binary log become what their texts do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.cdc.decode import Decoding, Encoding
from arctic.cdc.mysql_types import source_column
from arctic.cdc.rows.copied_texts import copied_texts
from arctic.cdc.unread import ReadColumn
from arctic.mysql.characters import BinlogColumn
from arctic.mysql.column_values import decimal_bytes, texts
from arctic.mysql.row_images import Extent
from arctic.mysql.typed_values import values


def binlog_column(kind: str, type_: str, width: int, **told: Any) -> BinlogColumn:
    """Return a column whose values all have so many bytes."""
    extent = Extent(prefix=0, size=width)
    return BinlogColumn(name="c", type=type_, kind=kind, extent=extent, **told)


COLUMNS = {
    "tinyint": binlog_column("integer", "tinyint", 1, size=1),
    "mediumint": binlog_column("integer", "mediumint", 3, size=3),
    "int unsigned": binlog_column("integer", "int unsigned", 4, size=4, is_unsigned=True),
    "bigint": binlog_column("integer", "bigint", 8, size=8),
    "bigint unsigned": binlog_column("integer", "bigint unsigned", 8, size=8, is_unsigned=True),
    "float": binlog_column("float", "float", 4, size=4),
    "double": binlog_column("float", "double", 8, size=8),
    "date": binlog_column("date", "date", 3, size=3),
    "datetime": binlog_column("datetime", "datetime", 5),
    "datetime(3)": binlog_column("datetime", "datetime", 7, scale=3),
    "timestamp(6)": binlog_column("timestamp", "timestamp", 7, scale=6),
    "binary": binlog_column("binary", "varbinary", 3, size=0),
    "binary(5)": binlog_column("binary", "varbinary", 3, size=5),
}
DAY = [(year, month, day) for year in (1, 1900, 1970, 2024) for month in (2, 12) for day in (1, 29)]


def both(column: BinlogColumn, raw: Sequence[bytes | None], target: pa.DataType) -> None:
    """Compare the values with what DuckDB makes of their texts."""
    buffer = np.frombuffer(b"".join(each or b"" for each in raw) + bytes(16), np.uint8)
    lengths = np.array([-1 if each is None else len(each) for each in raw], np.int64)
    starts = np.concatenate([[0], np.cumsum(np.maximum(lengths, 0))])[:-1].astype(np.int64)
    decoding = source_column("c", column.type, position=None).decoding
    wanted = ReadColumn(field=pa.field("c", target), source="c", decoding=decoding)
    text = texts(buffer, starts, lengths, column)
    expected = copied_texts(pa.table({"c": text}), [wanted])
    found = values(buffer, starts, lengths, column, wanted)
    if found.type == target:
        found.validate(full=True)
        assert expected.broken.num_rows == 0
        assert found.to_pylist() == expected.rows["c"].to_pylist()
    else:
        assert found == text


@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=3)
@given(chance=st.randoms(use_true_random=False))
def test_any_bytes_become_what_their_texts_become(name: str, chance: Any) -> None:
    """Values that are none included, of which a column is left to its texts."""
    column = COLUMNS[name]
    target = source_column("c", column.type, position=None).type
    size = column.extent.size
    raw = [chance.randbytes(size) for _ in range(chance.choice([1, 3, 200]))]
    if column.kind == "float":
        # The server has neither infinities nor numbers that are none.
        raw = [each[:-1] + bytes([each[-1] & 0xBF]) for each in raw]
    for given_values in (raw, [*raw, None], [bytes(size), *raw], [None, None]):
        both(column, given_values, target)
        both(column, given_values, pa.string() if column.kind != "binary" else pa.binary())


@pytest.mark.parametrize("scale", [0, 2, 6])
def test_days_and_moments_are_exact(scale: int) -> None:
    """Of the first year, of leap years and of years that are none."""
    dates = [(y << 9 | m << 5 | d).to_bytes(3, "little") for y, m, d in DAY]
    datetimes = [
        ((1 << 39) + (((y * 13 + m) << 5 | d) << 17 | 23 << 12 | 59 << 6 | 58)).to_bytes(5, "big")
        + (123456 // 10 ** (6 - 2 * ((scale + 1) // 2))).to_bytes((scale + 1) // 2, "big")
        for y, m, d in DAY
    ]
    column = binlog_column("datetime", "datetime", len(datetimes[0]), scale=scale)
    for which in (dates, [each for n, each in enumerate(dates) if DAY[n][0] > 1900]):
        both(COLUMNS["date"], which, pa.date32())
    leap = [each for n, each in enumerate(datetimes) if DAY[n][0] == 2024]
    both(column, leap, pa.timestamp("us"))
    both(column, datetimes, pa.timestamp("us"))
    wanted = ReadColumn(field=pa.field("c", pa.timestamp("us")), source="c")
    buffer = np.frombuffer(b"".join(leap) + bytes(16), np.uint8)
    starts = np.arange(len(leap), dtype=np.int64) * len(leap[0])
    lengths = np.full(len(leap), len(leap[0]), np.int64)
    assert values(buffer, starts, lengths, column, wanted).type == pa.timestamp("us")


@pytest.mark.parametrize(
    ("precision", "scale"), [(1, 0), (9, 9), (10, 2), (18, 5), (19, 5), (38, 9)]
)
def test_decimals_are_exact(precision: int, scale: int) -> None:
    """Negative ones, and more digits than a long number has."""
    column = binlog_column(
        "decimal", f"decimal({precision},{scale})", decimal_bytes(precision, scale),
        precision=precision, scale=scale,
    )  # fmt: skip
    numbers = [0, 1, -1, 10**precision - 1, 1 - 10**precision, 12345678901 % 10**precision]
    raw = [packed(number, precision, scale) for number in numbers]
    both(column, [*raw, None], pa.decimal128(precision, scale))
    both(column, raw, pa.decimal128(38, scale))
    both(column, raw, pa.string())


def packed(number: int, precision: int, scale: int) -> bytes:
    """Return a decimal as MySQL packs it."""
    text = f"{abs(number):0{precision}d}"
    whole, rest = text[: precision - scale], text[precision - scale :]
    first = len(whole) % 9
    groups = [whole[:first], *(whole[n : n + 9] for n in range(first, len(whole), 9))]
    groups += [rest[n : n + 9] for n in range(0, len(rest), 9)]
    sizes = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    found = bytearray(b"".join(int(g).to_bytes(sizes[len(g)], "big") for g in groups if g))
    found[0] ^= 0x80
    return bytes(found) if number >= 0 else bytes(byte ^ 255 for byte in found)


def test_bytes_that_a_text_column_takes_are_left_to_their_texts() -> None:
    """Whatever the encoding says."""
    wanted = ReadColumn(
        field=pa.field("c", pa.binary()), source="c", decoding=Decoding(encoding=Encoding.BASE64)
    )
    buffer = np.frombuffer(b"abc" + bytes(16), np.uint8)
    found = values(buffer, np.array([0]), np.array([3]), COLUMNS["binary"], wanted)
    assert found.to_pylist() == ["616263"]

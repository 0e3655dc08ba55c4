"""What a test says of partitions, against the partitions that rows are written to."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.transforms import parse_transform
from pyiceberg.types import NestedField

from arctic.iceberg.values.partition_values import PartitionValues, holds
from arctic.iceberg.values.transforms import partition_values
from arctic.mor.filters.evaluate_filter import comparison_type, matching_rows
from arctic.table.files import ColumnBounds
from arctic.table.filters.predicate import ColumnTest, Op, Predicate, may_match

HOUR, DAY = 3_600_000_000, 86_400_000_000
LAST_DAY, LAST_MICROS = 2_932_896, 253_402_300_799_999_999
INTS = [-(2**31), -(2**31) + 7, -11, -1, 0, 9, 10, 2**31 - 1]
LONGS = [-(2**63), -(2**63) + 9, -(2**31) - 1, *INTS, 2**32, 2**63 - 1]
DAYS = [-719_162, -366, -365, -1, 0, 30, 31, 364, 365, 19_782, LAST_DAY]
FAR_DAYS = [-(2**31), -719_163, LAST_DAY + 1, 2**31 - 1]
MICROS = [-DAY - 1, -DAY, -HOUR, -1, 0, HOUR - 1, HOUR, DAY, 1_709_164_800_000_000, LAST_MICROS]
FAR_MICROS = [-(2**63), -(2**63) + 1, LAST_MICROS + 1, 2**63 - 1]
TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "a\U0010ffff",
    "a\U0010ffffb",
    "\ud7ff",
    "\ue000",
    "\n",
    "\u00e4\u00f6",
]
BLOBS = [b"", b"\x00", b"a", b"ab", b"abc", b"\xff", b"\xff\xff", b"\xff\xff\xff"]
CENTS = [-99_999_999, -999, -51, -50, -1, 0, 1, 49, 50, 99_999_950, 99_999_999]
DECIMALS = [Decimal(number).scaleb(-2) for number in CENTS]


@dataclass(frozen=True)
class Case:
    """A column as it was written and as it is read, and the transforms it may have."""

    written: str
    read: str
    type: pa.DataType
    values: list[Any]
    transforms: str


CASES = [
    Case("int", "int", pa.int32(), INTS, "identity bucket[4] truncate[10] truncate[2147483647]"),
    Case("int", "long", pa.int32(), INTS, "identity bucket[4] truncate[10] truncate[3]"),
    Case("long", "long", pa.int64(), LONGS, "identity bucket[4] truncate[10] truncate[3]"),
    Case("date", "date", pa.date32(), DAYS, "identity day"),
    Case("date", "date", pa.date32(), DAYS + FAR_DAYS, "bucket[4] month year"),
    Case("timestamp", "timestamp", pa.timestamp("us"), MICROS, "identity day hour"),
    Case("timestamp", "timestamp", pa.timestamp("us"), MICROS + FAR_MICROS, "bucket[4] month year"),
    Case("string", "string", pa.string(), TEXTS, "identity bucket[4] truncate[1] truncate[2]"),
    Case("binary", "binary", pa.binary(), BLOBS, "identity bucket[4] truncate[1] truncate[2]"),
    Case(
        "decimal(10, 2)",
        "decimal(20, 2)",
        pa.decimal128(10, 2),
        DECIMALS,
        "identity bucket[4] truncate[50] truncate[3]",
    ),
]
STORED = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64()}


@pytest.mark.parametrize(
    ("case", "transform"),
    [(case, transform) for case in CASES for transform in case.transforms.split()],
    ids=lambda each: each if isinstance(each, str) else f"{each.written} as {each.read}",
)
def test_the_partition_of_a_row_that_matches_is_read(case: Case, transform: str) -> None:
    """Every operator, with every value and its neighbours: in the partition, and in a manifest."""
    stored = STORED.get(case.type, case.type)
    column = pa.array([None, *case.values], stored).view(case.type)
    partitions = partition_values(transform, case.written, column, name="x").to_pylist()
    compared = column if stored != case.type else column.cast(comparison_type(case.type))
    holder = NestedField(field_id=1, name="x", field_type=case.read)
    field = PartitionValues.of(1000, parse_transform(transform), holder.field_type)

    for test in _tests(case):
        projected = field.projected(test)
        matches = matching_rows(test, {1: compared}, len(column))
        for row in matches.nonzero()[0]:
            beside = partitions[(row * 7 + 3) % len(column)]
            assert holds(projected, {1000: partitions[row]}), (test, column[row])
            assert _opens(projected, [partitions[row], beside]), (test, column[row])


def _tests(case: Case) -> list[ColumnTest]:
    literals = sorted({near for value in case.values for near in _near(value, case)})
    pairs = list(itertools.pairwise(literals))[::3]
    of_all: list[tuple[Op, Any]] = [(Op.IS_NULL, None), (Op.NOT_NULL, None), (Op.NOT_IN, ())]
    of_all += itertools.product((Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE), literals)
    of_all += itertools.product((Op.IN, Op.NOT_IN), [literals[::3], *pairs])
    if case.read == "string":
        of_all += itertools.product((Op.STARTS_WITH, Op.NOT_STARTS_WITH), literals)
        patterns = [text + end for text in literals for end in ("", "%", "_", "%b")]
        of_all += itertools.product((Op.LIKE, Op.NOT_LIKE), patterns)
    return [
        ColumnTest(
            op=op,
            field_id=1,
            column="x",
            literal=tuple(literal) if isinstance(literal, list) else literal,
        )
        for op, literal in of_all
    ]


def _near(value: Any, case: Case) -> list[Any]:
    if isinstance(value, str | bytes):
        return [value]
    if isinstance(value, Decimal):
        return [value, value - Decimal("0.01"), value + Decimal("0.01")]
    half = 2**31 if case.read in ("int", "date") else 2**63
    return [near for near in (value - 1, value, value + 1) if -half <= near < half]


def _opens(projected: Predicate, values: list[Any]) -> bool:
    """Say whether a manifest of these partitions is read, by its summary."""
    known = [value for value in values if value is not None]
    nulls = 0 if len(known) == len(values) else None if known else 1
    bounds = ColumnBounds(
        lower=min(known, default=None), upper=max(known, default=None), null_count=nulls
    )
    return may_match(projected, {1000: bounds}, 1)

"""Sums in parts are made where bounds say that they stay exact."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from arctic.scan.exact_sums import SummedColumn, sums_stay_exact
from arctic.table.files import ColumnBounds, FileKind, TableFile
from arctic.table.table_description import Column
from arctic.tree.node import TreeNode


def file_of(rows: int, lower: Any, upper: Any, nulls: int | None = 0) -> TableFile:
    """Return a file with bounds of column 1."""
    return TableFile(
        path=f"{rows}-{upper}",
        kind=FileKind.BASE,
        node=TreeNode(mask=0, index=0),
        partition=(),
        transaction_id=1,
        sequence_number=1,
        size_bytes=1,
        record_count=rows,
        bounds={1: ColumnBounds(lower=lower, upper=upper, null_count=nulls)},
    )


def column_of(kind: str, digits: tuple[int, int] | None) -> SummedColumn:
    """Return the column that has bounds."""
    column = Column(field_id=1, name="n", type=kind, required=False)
    return SummedColumn(column=column, digits=digits)


LONG, PRICE = column_of("long", None), column_of("decimal(6, 2)", (6, 2))


@pytest.mark.parametrize(
    ("summed", "files", "exact"),
    [
        (LONG, [file_of(2**20, -5, 2**32)], True),
        (LONG, [file_of(2**21, -(2**32), 5)], False),
        (LONG, [file_of(2**20, 1, 2**32), file_of(2**20, 1, 2)], False),
        (LONG, [file_of(5, None, None, nulls=5)], True),
        (LONG, [file_of(5, None, None, nulls=4)], False),
        (LONG, [file_of(5, None, None, nulls=None)], False),
        (PRICE, [file_of(9, Decimal("-1.00"), Decimal("99.99"))], True),
        (PRICE, [file_of(9, Decimal("-100.00"), Decimal("1.00"))], False),
        (column_of("decimal(38, 0)", (38, 0)), [file_of(9, Decimal(0), Decimal(10**36 - 1))], True),
        (column_of("decimal(38, 0)", (38, 0)), [file_of(9, Decimal(0), Decimal(10**36))], False),
    ],
)
def test_bounds_tell_whether_sums_stay_exact(
    summed: SummedColumn, files: list[TableFile], exact: bool
) -> None:
    """To the last value; a hundred rows of decimals are added at once."""
    assert sums_stay_exact([summed], files, at_once=100) is exact


def test_a_file_without_bounds_tells_nothing() -> None:
    """Nor does one that is read beside others."""
    plain = TableFile.__reduce__(file_of(1, 1, 1))
    bare = plain[0](*plain[1])

    assert not sums_stay_exact([LONG], [bare], at_once=100)

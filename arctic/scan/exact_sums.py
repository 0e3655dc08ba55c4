"""Whether sums that are made in parts stay exact, told by the bounds of files.

An engine adds parts of decimals up that have the type of their column, and may compute averages of
whole numbers in doubles. Where the values are small enough for that, parts and rows give the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from typing import Any

from arctic.table.files import TableFile
from arctic.table.table_description import Column

_EXACT_AS_DOUBLE = 2**53
_MOST_DIGITS_AS_DOUBLE = 11
"""An average has four more behind the point, and a double has fifteen for certain."""
_DIGITS = 76
"""Python's own arithmetic of decimals rounds to 28."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedColumn:
    """A column whose values are summed up."""

    column: Column
    digits: tuple[int, int] | None
    """Of a decimal, all of them and those behind the point; None: it is of whole numbers."""


def is_divided_as_double(column_type: str) -> bool:
    """Say whether an engine that has the rows makes an average of decimals by dividing a double.

    Of parts it divides a decimal, and an average that ends in a 5 is rounded otherwise.

    >>> [is_divided_as_double(each) for each in ("decimal(11, 2)", "decimal(12, 2)", "long")]
    [True, False, False]
    """
    digits = column_type.removeprefix("decimal(").partition(",")[0]
    return digits.isdigit() and int(digits) <= _MOST_DIGITS_AS_DOUBLE


def sums_stay_exact(
    columns: Sequence[SummedColumn], files: Iterable[TableFile], *, at_once: int
) -> bool:
    """Say whether sums of some columns do.

    Args:
        columns: decimals, and whole numbers whose sum must be exact as a double.
        files: all that are read, with bounds of these columns.
        at_once: rows that are to fit a sum of decimals together.
    """
    read = list(files)
    rows = sum(file.record_count for file in read)
    for summed in columns:
        largest = _largest(summed.column, read)
        if largest is None:
            return False
        if summed.digits is None:
            if largest * rows >= _EXACT_AS_DOUBLE:
                return False
            continue
        precision, scale = summed.digits
        with localcontext(Context(prec=_DIGITS)):
            if largest * at_once >= Decimal(10) ** (precision - scale):
                return False
    return True


def _largest(column: Column, files: Sequence[TableFile]) -> Any:
    """Return what no value is farther from zero than; None: not known."""
    values: list[Any] = []
    for file in files:
        bounds = file.bounds.get(column.field_id)
        if bounds is None:
            return None
        if bounds.lower is not None and bounds.upper is not None:
            values += [bounds.lower, bounds.upper]
        elif bounds.null_count != file.record_count:
            return None
    sizes = [each.copy_abs() if isinstance(each, Decimal) else abs(each) for each in values]
    return max(sizes, default=0)

"""Rows of a table that have one of many values, read from as few of its files as can be.

Rules:
    - Values are looked up only where the table compares and orders them as SQL does: not across
      kinds of types, nor where numbers round or may be none.
    - Where they are not, more rows are read: the caller tests them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.columns.field_ids import child_fields
from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.filters.column_tests import ColumnTests
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import ScanJob, scan_opened
from arctic.mor.filters.among import Among
from arctic.table.filters.filter_tree import Filter, Join, predicate_of
from arctic.table.filters.predicate import Op, Predicate
from arctic.table.snapshot import TableSnapshot

Values = Mapping[str, pa.ChunkedArray]
"""Column -> values, row by row."""
_LISTED = 200
"""Values that planning is told; of more it knows the least and the greatest."""


def rows_among(
    opened: OpenTable,
    asked: AskedRead,
    columns: Sequence[str],
    among: Values | None,
    *,
    snapshot: TableSnapshot | None = None,
) -> ScanJob:
    """Plan a read of the rows that have one of some values; it may return others too.

    Args:
        opened: the table.
        asked: what the options say.
        columns: of the table.
        among: the values; None: all rows.
        snapshot: as for ``scan_opened``.
    """
    schema = opened.arrow_schema
    told = {
        name: fitted
        for name, values in (among or {}).items()
        if (fitted := _fitted(values, schema.field(name).type)) is not None
    }
    return scan_opened(
        opened,
        asked,
        columns=columns,
        row_filter=_filter(opened, told) if told else None,
        among=_looked_up(schema, told) if told else None,
        snapshot=snapshot,
    )


def _looked_up(schema: pa.Schema, among: Values) -> Among:
    """Return what finds the rows."""
    fields = [schema.field(name).with_nullable(True) for name in among]
    return Among(pa.table(list(among.values()), schema=pa.schema(fields)))


def _fitted(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """Return values as a column has them; None: they are not told apart there as by SQL."""
    if pat.is_floating(kind) or child_fields(kind) or pat.is_null(kind):
        return None
    if values.type == kind:
        return values
    if not any(of(values.type) and of(kind) for of in (pat.is_integer, _is_instant, _is_bytes)):
        return None
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        return None


def _is_instant(kind: pa.DataType) -> bool:
    """Say whether values are the same in whatever zone they are shown."""
    return pat.is_timestamp(kind) and kind.tz is not None


def _is_bytes(kind: pa.DataType) -> bool:
    """Say whether values are bytes; SQL knows none of a fixed length."""
    return bool(pat.is_binary(kind) or pat.is_fixed_size_binary(kind))


def _filter(opened: OpenTable, among: Values) -> Predicate | None:
    """Return a filter that such rows pass, for what leaves out files."""
    tests = ColumnTests(opened.table)
    parts = [_one_of(tests, name, values) for name, values in among.items()]
    known = tuple(each for each in parts if each is not None)
    return predicate_of(Join(True, known)) if known else None


def _one_of(tests: ColumnTests, name: str, values: pa.ChunkedArray) -> Filter | None:
    """Return the test of one column; None: no filter can test it, so every row is read."""
    try:
        return _test(tests, name, values)
    except (InvalidInputError, UnsupportedError, OverflowError, ValueError):
        # Python has no day after the year 9999, and no text that is not UTF-8.
        return None


def _test(tests: ColumnTests, name: str, values: pa.ChunkedArray) -> Filter:
    found = pc.unique(values)
    known = found.drop_null()
    if len(known) > _LISTED:
        ends = pc.min_max(known)
        is_among: Filter = Join(
            True,
            (
                tests.compare(name, Op.GE, ends["min"].as_py()),
                tests.compare(name, Op.LE, ends["max"].as_py()),
            ),
        )
    else:
        is_among = tests.within(name, known.to_pylist())
    return Join(False, (is_among, tests.is_null(name))) if found.null_count else is_among

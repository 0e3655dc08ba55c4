"""Leave out row groups whose statistics, or bloom filters, show that no row of them is wanted.

The same bounds of the key tell which row groups hold no deleted key.

Rules:
    - A filter of rows is for data files: a delete that is not read would let a row live. Deletes
      take the part of it that tests the key alone.
    - In doubt a row group is read: bounds are used only where the physical type, the logical
      type and the literal are all of a kind that orders alike everywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from arctic.columns.field_ids import known_field_id
from arctic.mor.files.file_columns import FileColumns
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.filters.blooms import that_may_hold
from arctic.mor.filters.key_span import has_span, is_text_or_bytes
from arctic.mor.request import ReadRequest
from arctic.mor.touched import Touched
from arctic.table.files import ColumnBounds, Value
from arctic.table.filters.predicate import Predicate, may_match, tests_of

_UNKNOWN: tuple[Value, Value] = (None, None)
_PER_MICROSECOND = {"milliseconds": (1000, 1), "microseconds": (1, 1), "nanoseconds": (1, 1000)}
"""Time unit of a Parquet column: multiply and divide by these for microseconds."""


def row_groups_to_read(
    parquet: ParquetInput, columns: FileColumns, request: ReadRequest, touched: Touched
) -> tuple[int, ...]:
    """Return the row groups of a file that can hold a matching row; the file counts as touched."""
    in_bounds = matching_row_groups(parquet, request, columns.names, columns.constants)
    groups = in_bounds
    if request.row_filter is not None:
        groups = that_may_hold(parquet, in_bounds, request.row_filter, columns.names)
    touched.files += 1
    touched.row_groups += len(parquet.row_groups)
    touched.outside_bounds += len(parquet.row_groups) - len(in_bounds)
    touched.outside_blooms += len(in_bounds) - len(groups)
    return groups


def matching_row_groups(
    parquet: ParquetInput,
    request: ReadRequest,
    names: Mapping[int, str],
    constants: Mapping[int, Value],
) -> tuple[int, ...]:
    """Return the row groups that can hold a matching row, ascending.

    Args:
        parquet: a data file, or one of change deletes.
        request: which rows match.
        names: field id to name of the top-level columns that the file has.
        constants: field id to the value that every row of the file has.
    """
    predicate, among = request.row_filter, request.among
    groups = [
        group
        for group in parquet.row_groups
        if among is None
        or among.may_hold([key_bounds(parquet, group, names, field) for field in among.fields])
    ]
    if predicate is None:
        return tuple(groups)
    literals = _literals(predicate)
    kept = []
    for number in groups:
        rows = parquet.metadata.row_group(number).num_rows
        bounds: dict[int, ColumnBounds] = {}
        for field_id, literal in literals.items():
            if field_id in names:
                known = _column_bounds(parquet, number, names[field_id], literal)
            else:
                known = _constant_bounds(constants.get(field_id), rows)
            if known is not None:
                bounds[field_id] = known
        if may_match(predicate, bounds, rows):
            kept.append(number)
    return tuple(kept)


def key_bounds(
    parquet: ParquetInput, row_group: int, names: Mapping[int, str], column: pa.Field
) -> ColumnBounds | None:
    """Return what a row group's statistics say of a key column, text as bytes; None: nothing.

    Args:
        parquet: a data file.
        row_group: the number of one of its row groups.
        names: field id to name of the top-level columns that the file has.
        column: the key column in the type in which keys are compared.
    """
    name = names.get(known_field_id(column))
    if name is None or not has_span(column.type):
        return None
    literal: Value = b"" if is_text_or_bytes(column.type) else 0
    return _column_bounds(parquet, row_group, name, literal)


def _literals(predicate: Predicate) -> dict[int, Value]:
    """Return one literal for each tested column: it tells what bounds must be compared with."""
    literals: dict[int, Value] = {}
    for test in tests_of(predicate):
        some = test.literal if isinstance(test.literal, tuple) else (test.literal,)
        if literals.get(test.field_id) is None:
            literals[test.field_id] = some[0] if some else None
    return literals


def _constant_bounds(value: Value, rows: int) -> ColumnBounds:
    return ColumnBounds(lower=value, upper=value, null_count=rows if value is None else 0)


def _column_bounds(
    parquet: ParquetInput, row_group: int, name: str, literal: Value
) -> ColumnBounds | None:
    leaf = parquet.leaf_column(name)
    if leaf is None:
        return None
    statistics = parquet.metadata.row_group(row_group).column(leaf).statistics
    if statistics is None:
        return None
    lower, upper = _UNKNOWN
    if statistics.has_min_max:
        column = parquet.metadata.schema.column(leaf)
        lower, upper = _range(column, statistics.min_raw, statistics.max_raw, literal)
    nulls = statistics.null_count if statistics.has_null_count else None
    return ColumnBounds(lower=lower, upper=upper, null_count=nulls)


def _range(column: Any, lower: Any, upper: Any, literal: Value) -> tuple[Value, Value]:
    if isinstance(literal, str):
        return _text(lower), _text(upper)
    if isinstance(literal, bytes):
        return (lower, upper) if isinstance(lower, bytes) else _UNKNOWN
    if literal is None or isinstance(literal, UUID):
        return _UNKNOWN
    logical = json.loads(column.logical_type.to_json())
    kind = logical["Type"]
    if kind == "Decimal":
        return _decimal(lower, logical["scale"]), _decimal(upper, logical["scale"])
    if kind in ("Time", "Timestamp"):
        times, parts = _PER_MICROSECOND[logical["timeUnit"]]
        return lower * times // parts, -(-upper * times // parts)
    if kind in ("None", "Date") or (kind == "Int" and logical["isSigned"]):
        return _plain(lower), _plain(upper)
    return _UNKNOWN


def _plain(bound: Any) -> Value:
    if isinstance(bound, bool | int):
        return bound
    return bound if isinstance(bound, float) and not math.isnan(bound) else None


def _text(bound: Any) -> str | None:
    try:
        return str(bound, "utf-8") if isinstance(bound, bytes) else None
    except UnicodeDecodeError:
        # A bound that was cut inside a character; as bytes it is right, as text it is nothing.
        return None


def _decimal(bound: Any, scale: int) -> Decimal:
    unscaled = int.from_bytes(bound, "big", signed=True) if isinstance(bound, bytes) else bound
    # From text, because arithmetic on decimals rounds to the digits of the current context.
    return Decimal(f"{unscaled}E-{scale}")

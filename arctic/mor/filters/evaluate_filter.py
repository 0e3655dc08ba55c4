"""Evaluate a row filter on the columns of a batch.

Strategy: every column is brought to the widest type of its kind, in which Iceberg's internal
literals are exact: dates and times become the integers that the literals are.

Rules:
    - A test is true or false for a row, never null: a null matches nothing but IS NULL. As a
      filter has no NOT, this is Kleene's logic with null read as false at the end.
    - NaN matches no comparison, neither ``!=`` nor NOT IN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, cast
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.columns.promotions import storage_type
from arctic.errors import InternalError
from arctic.table.files import Value
from arctic.table.filters.predicate import And, ColumnTest, Op, Or, Predicate

Mask = npt.NDArray[np.bool_]

_DECIMAL_DIGITS = 38
_QUOTED = re.compile(r"[^A-Za-z0-9]")

_COMPARISONS: Mapping[Op, Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}


def comparison_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which a column of a file is compared with literals.

    Args:
        kind: the type that the file declares, so that no table schema is needed here.
    """
    kind = storage_type(kind)
    if pat.is_integer(kind):
        return pa.int64()
    if pat.is_floating(kind):
        return pa.float64()
    if pat.is_decimal(kind):
        return pa.decimal128(_DECIMAL_DIGITS, kind.scale)
    if pat.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pat.is_time(kind):
        return pa.time64("us")
    if pat.is_date(kind):
        return pa.date32()
    if pat.is_string(kind) or pat.is_large_string(kind) or pat.is_string_view(kind):
        return pa.string()
    if pat.is_boolean(kind) or pat.is_null(kind):
        return kind
    # Nested columns come here too: they are only ever asked whether they are null.
    return pa.binary() if not pat.is_nested(kind) else kind


def matching_rows(predicate: Predicate, columns: Mapping[int, pa.Array], rows: int) -> Mask:
    """Say for each row whether it matches.

    Args:
        predicate: the filter.
        columns: the tested columns by field id, each of its ``comparison_type``.
        rows: how many rows they have.
    """
    if isinstance(predicate, ColumnTest):
        return _test(predicate, columns[predicate.field_id])
    masks = [matching_rows(child, columns, rows) for child in predicate.children]
    if isinstance(predicate, And):
        return cast(Mask, np.logical_and.reduce([np.ones(rows, bool), *masks]))
    if isinstance(predicate, Or):
        return cast(Mask, np.logical_or.reduce([np.zeros(rows, bool), *masks]))
    raise InternalError(f"row filter {predicate!r} is no column test, And or Or")


def _test(test: ColumnTest, column: pa.Array) -> Mask:
    if test.op is Op.IS_NULL:
        return _mask(pc.is_null(column))
    if test.op is Op.NOT_NULL:
        return _mask(pc.is_valid(column))
    if pat.is_null(column.type):
        return np.zeros(len(column), bool)
    try:
        if test.op in (Op.STARTS_WITH, Op.NOT_STARTS_WITH):
            return _starts_with(test, column)
        if test.op in (Op.LIKE, Op.NOT_LIKE):
            return _like(test, column)
        return _compare(test, _as_numbers(column))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InternalError(f"row filter {test}: column is {column.type}: {error}") from error


def _compare(test: ColumnTest, values: pa.Array) -> Mask:
    if test.op in (Op.IN, Op.NOT_IN):
        literals = [_plain(literal) for literal in cast(tuple[Value, ...], test.literal)]
        if pat.is_floating(values.type):
            literals = _every_zero(literals)
        matches = _mask(pc.is_in(values, value_set=pa.array(literals, values.type)))
        return matches if test.op is Op.IN else _comparable(values) & ~matches
    literal = pa.scalar(_plain(cast(Value, test.literal)), values.type)
    matches = _mask(_COMPARISONS[test.op](values, literal))
    # NaN differs from everything, but matches nothing.
    return matches & _comparable(values) if test.op is Op.NE else matches


def _starts_with(test: ColumnTest, column: pa.Array) -> Mask:
    if not isinstance(test.literal, str | bytes):
        raise InternalError(f"row filter {test}: expected a text or bytes")
    matches = pc.starts_with(column, pattern=test.literal)
    return _mask(matches if test.op is Op.STARTS_WITH else pc.invert(matches))


def _like(test: ColumnTest, column: pa.Array) -> Mask:
    if not isinstance(test.literal, str):
        raise InternalError(f"row filter {test}: expected a text")
    matches = pc.match_substring_regex(column, pattern=_regex(test.literal))
    return _mask(matches if test.op is Op.LIKE else pc.invert(matches))


def _regex(pattern: str) -> str:
    """Return a pattern of LIKE in RE2's syntax, for whole texts of any characters."""
    parts = re.findall(r"\\.|%|_|[^\\%_]+", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    plain = (wild.get(part) or _QUOTED.sub(_escaped, part.removeprefix("\\")) for part in parts)
    return f"(?s)\\A(?:{''.join(plain)})\\z"


def _escaped(match: re.Match[str]) -> str:
    return f"\\x{{{ord(match.group()):x}}}"


def _plain(literal: Value) -> Any:
    return literal.bytes if isinstance(literal, UUID) else literal


def _every_zero(literals: list[Any]) -> list[Any]:
    """Add the other zero: sets tell 0.0 from -0.0, comparisons do not. NaN matches nothing."""
    kept = [literal for literal in literals if not math.isnan(literal)]
    return [*kept, 0.0, -0.0] if 0.0 in kept else kept


def _as_numbers(column: pa.Array) -> pa.Array:
    if not pat.is_temporal(column.type):
        return column
    return column.view(pa.int32() if column.type.bit_width == 32 else pa.int64()).cast(pa.int64())


def _comparable(values: pa.Array) -> Mask:
    valid = _mask(pc.is_valid(values))
    if pat.is_floating(values.type):
        valid &= ~_mask(pc.is_nan(values))
    return valid


def _mask(truth: pa.Array) -> Mask:
    if truth.null_count:
        truth = truth.fill_null(False)
    return cast(Mask, truth.to_numpy(zero_copy_only=False))

"""Filters written as pyarrow expressions: ``(pc.field("id") > 2) & pc.field("city").is_valid()``.

An expression does not say what it consists of, but what it pickles to does: an Arrow file with one
row of literals, and beside its schema a list of calls, each with its operands and an end.

Rules:
    - What a call means here is what pyarrow would do, but as in every filter here NaN matches no
      comparison, 0.0 and -0.0 are one member of a set, and a number for a float column is rounded.
    - A call that is not in the list below is refused.

Source: Arrow's ``compute::Serialize``, which writes the list.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.filters.column_tests import EVERYTHING, NOTHING, ColumnTests
from arctic.iceberg.values.literals import Typed
from arctic.table.filters.filter_tree import Filter, Join, Negation
from arctic.table.filters.predicate import TURNED, Op

_COMPARISONS = {
    "equal": Op.EQ, "not_equal": Op.NE, "less": Op.LT, "less_equal": Op.LE, "greater": Op.GT,
    "greater_equal": Op.GE,
}  # fmt: skip
_JOINS = {"and": True, "and_kleene": True, "or": False, "or_kleene": False}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True)
class _Name:
    text: str


@dataclass(frozen=True, slots=True)
class _Options:
    values: Mapping[str, Any]


_Operand = Any
"""A filter, a name, options or a scalar."""


def parse_expression(expression: pc.Expression, tests: ColumnTests) -> Filter:
    """Return the filter that an expression says.

    Raises:
        InvalidInputError: an unknown column, or a literal that its type cannot hold exactly.
        UnsupportedError: a call that has no form here.
    """
    row, listed = words_of(expression)
    levels: list[tuple[str, list[_Operand]]] = [("", [])]
    words = iter(listed)
    for kind, text in words:
        operands = levels[-1][1]
        if kind == "field_ref":
            operands.append(_Name(text))
        elif kind == "nested_field_ref":
            operands.append(_Name(".".join(next(words)[1] for _ in range(int(text)))))
        elif kind == "literal":
            operands.append(row.column(int(text))[0])
        elif kind == "options":
            operands.append(_Options(dict(row.column(int(text))[0].items())))
        elif kind == "call":
            levels.append((text, []))
        elif kind == "end":
            name, given = levels.pop()
            levels[-1][1].append(_call(name, given, tests))
        else:
            raise _unknown(kind)
    return _condition(levels[0][1][0], tests)


def words_of(expression: pc.Expression) -> tuple[pa.RecordBatch, list[tuple[str, str]]]:
    """Return the row of an expression's literals, and the list of what it consists of.

    Raises:
        UnsupportedError: columns that are not named.
    """
    try:
        _, (data,) = expression.__reduce__()
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedError(f"filter: {error}; expected columns by their names") from error
    row = pa.ipc.open_file(data).get_batch(0)
    return row, _pairs(row.schema)


def _pairs(schema: pa.Schema) -> list[tuple[str, str]]:
    """Return the pairs of a schema's metadata: as a dict it keeps only the last of each key."""
    structure = (ctypes.c_byte * 72)()
    address = ctypes.addressof(structure)
    schema._export_to_c(address)
    try:
        place = ctypes.c_void_p.from_buffer(structure, 16).value or 0
        pairs = []
        (count,), place = _numbers(place), place + 4
        for _ in range(count):
            texts = []
            for _ in range(2):
                (length,), place = _numbers(place), place + 4
                texts.append(ctypes.string_at(place, length).decode())
                place += length
            pairs.append((texts[0], texts[1]))
    finally:
        pa.Schema._import_from_c(address)
    return pairs


def _numbers(place: int) -> tuple[int]:
    return (ctypes.c_int32.from_address(place).value,)


def _call(name: str, operands: Sequence[_Operand], tests: ColumnTests) -> Filter:
    if name in _JOINS:
        return Join(_JOINS[name], tuple(_condition(each, tests) for each in operands))
    if name == "invert":
        return Negation(_condition(operands[0], tests))
    options: Mapping[str, Any] = {}
    if operands and isinstance(operands[-1], _Options):
        options = operands[-1].values
    if name in _COMPARISONS and len(operands) == 2:
        op, (left, right) = _COMPARISONS[name], operands
        if isinstance(right, _Name):
            op, left, right = TURNED[op], right, left
        if isinstance(left, _Name) and isinstance(right, pa.Scalar):
            return tests.compare(left.text, op, _value(right))
        raise UnsupportedError(f"filter: {name} of two columns; expected a column and a value")
    make = _CALLS.get(name)
    if make is None:
        raise _unknown(name)
    if not operands or not isinstance(operands[0], _Name):
        raise UnsupportedError(f"filter: {name} of what is no column; expected a column")
    return make(operands[0].text, options, tests)


def _condition(operand: _Operand, tests: ColumnTests) -> Filter:
    if isinstance(operand, _Name):
        return tests.is_true(operand.text)
    if isinstance(operand, pa.Scalar):
        if pt.is_boolean(operand.type) and operand.is_valid:
            return EVERYTHING if operand.as_py() else NOTHING
        raise InvalidInputError(f"filter: {operand!r} is no condition; expected a comparison")
    if isinstance(operand, _Options):
        raise _unknown("options")
    return cast(Filter, operand)


def _is_null(name: str, options: Mapping[str, Any], tests: ColumnTests) -> Filter:
    if "nan_is_null" in options and options["nan_is_null"].as_py():
        raise tests.no_nan_test(name)
    return tests.is_null(name)


def _is_valid(name: str, _: Mapping[str, Any], tests: ColumnTests) -> Filter:
    return Negation(tests.is_null(name))


def _is_nan(name: str, _: Mapping[str, Any], tests: ColumnTests) -> Filter:
    raise tests.no_nan_test(name)


def _is_in(name: str, options: Mapping[str, Any], tests: ColumnTests) -> Filter:
    """Read a set: it takes null for a value, and is never unknown."""
    # MATCH and SKIP, of which the second leaves a null of the set out.
    behavior = options["null_matching_behavior"].as_py()
    if behavior not in (0, 1):
        raise _unknown("is_in with another meaning of null")
    members = list(options["value_set"].values)
    values = [_value(each) for each in members if each.is_valid]
    found = Join(True, (tests.within(name, values), Negation(tests.is_null(name))))
    if behavior == 0 and len(values) < len(members):
        return Join(False, (found, tests.is_null(name)))
    return found


def _starts_with(name: str, options: Mapping[str, Any], tests: ColumnTests) -> Filter:
    return tests.starts_with(name, _pattern(options))


def _like(name: str, options: Mapping[str, Any], tests: ColumnTests) -> Filter:
    return tests.like(name, _pattern(options))


def _pattern(options: Mapping[str, Any]) -> str:
    if options["ignore_case"].as_py():
        raise _unknown("ignore_case")
    return str(options["pattern"].as_py())


_CALLS: Mapping[str, Callable[[str, Mapping[str, Any], ColumnTests], Filter]] = {
    "is_null": _is_null,
    "is_valid": _is_valid,
    "is_nan": _is_nan,
    "is_in": _is_in,
    "starts_with": _starts_with,
    "match_like": _like,
}


def _value(scalar: pa.Scalar) -> Any:
    """Return a literal; dates and times by their numbers, which Python's may not hold."""
    kind = scalar.type
    if not scalar.is_valid:
        raise InvalidInputError(
            "filter: nothing compares with null; ask with is_null() or is_valid()"
        )
    if pt.is_dictionary(kind):
        return _value(scalar.value)
    if pt.is_date32(kind):
        return Typed("date", scalar.value)
    if pt.is_date64(kind):
        return Typed("timestamp", scalar.value * 1000)
    if pt.is_timestamp(kind) or pt.is_time(kind):
        per_second = _PER_SECOND[kind.unit]
        micros, rest = divmod(scalar.value * 10**6, per_second)
        if rest:
            raise InvalidInputError(f"filter: literal {scalar!r} is finer than microseconds")
        if pt.is_time(kind):
            return Typed("time", micros)
        return Typed("timestamp" if kind.tz is None else "timestamptz", micros)
    return scalar.as_py()


def _unknown(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"filter: {what!r} of a pyarrow expression is not offered; expected comparisons with "
        "values, isin, is_null, is_valid, starts_with, match_like, and &, |, ~ of them"
    )

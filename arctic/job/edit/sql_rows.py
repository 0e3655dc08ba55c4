"""Expressions of SQL over rows, by DuckDB: which rows match, and what new values are.

DuckDB, because it is there for change events already, evaluates whole columns of Arrow, and knows
SQL; what it is given it cannot leave: no file, no network, one expression at a time.

Rules:
    - The rows of the table are called ``target`` there, those of a merge's source ``source``.
    - One value for each row, in their order; anything else is refused.
    - Values are cast to the column's type exactly, or refused.
    - An edit has one time: what ``now()`` says of its first row, it says of all.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.cdc.engine import engine, expression_errors
from arctic.cdc.engine import name as quoted
from arctic.errors import InvalidInputError
from arctic.job.edit.expressions import TARGET, check_expressions

_OWN = uuid4().hex
"""Part of the names in our own statements, so that no expression can speak of them."""
_UNPUSHED = "SET disabled_optimizers = 'filter_pushdown,join_filter_pushdown'"
"""Arrow would evaluate what is pushed into its scan, and there NaN equals nothing."""
_NO_INFINITY = "SET ieee_floating_point_ops = false"
"""A division by zero is null, as in Spark: a condition on it is not true."""
_LIKES = [
    f"CREATE TEMP MACRO {quoted(plain)}(a, b) AS {escaped}(a, b, '\\')"
    for plain, escaped in (
        ("~~", "like_escape"),
        ("!~~", "not_like_escape"),
        ("~~*", "ilike_escape"),
        ("!~~*", "not_ilike_escape"),
    )
]
"""A backslash in the pattern of a ``like``, which DuckDB calls so, is as in filters of reads."""


def own(name: str) -> str:
    """Return a name for a column, or a table, that expressions cannot know."""
    return f"_{name}_{_OWN}"


ROW = own("row")
"""The number of a row, as a column beside those of a table."""
_PAIRS, _PAIR = own("pairs"), own("pair")

_moment: ContextVar[datetime.datetime | None] = ContextVar("moment", default=None)


@contextmanager
def one_moment() -> Iterator[None]:
    """Let all expressions be of the time at which this began."""
    token = _moment.set(datetime.datetime.now(datetime.timezone.utc))
    try:
        yield
    finally:
        _moment.reset(token)


def _clocks() -> list[str]:
    """Return statements after which every clock of DuckDB shows the moment."""
    now = _moment.get() or datetime.datetime.now(datetime.timezone.utc)
    plain = now.replace(tzinfo=None)
    shown = {
        "now": f"TIMESTAMPTZ '{now}'",
        "transaction_timestamp": f"TIMESTAMPTZ '{now}'",
        "get_current_timestamp": f"TIMESTAMPTZ '{now}'",
        "current_localtimestamp": f"TIMESTAMP '{plain}'",
        "today": f"DATE '{plain.date()}'",
        "current_date": f"DATE '{plain.date()}'",
        "get_current_time": f"TIMETZ '{plain.time()}+00'",
        "current_localtime": f"TIME '{plain.time()}'",
    }
    return [f"CREATE TEMP MACRO {name}() AS {value}" for name, value in shown.items()]


def mask(rows: pa.Table, condition: str) -> np.ndarray:
    """Say for each row whether a condition is true.

    Raises:
        InvalidInputError: it cannot be evaluated, or is no condition.
    """
    column = values(rows, {"condition": condition})["condition"]
    if not (pt.is_boolean(column.type) or pt.is_null(column.type)):
        raise InvalidInputError(f"condition {condition!r} is {column.type}; expected true or false")
    found = pc.fill_null(column.cast(pa.bool_()), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _listed(expressions: Mapping[str, str], tables: Iterable[pa.Table]) -> str:
    """Return the columns of a statement that evaluates expressions, in their order."""
    columns = [name for table in tables for name in table.column_names]
    check_expressions(expressions.values(), columns)
    return ", ".join(
        f"({text}\n) AS {own(f'e{place}')}" for place, text in enumerate(expressions.values())
    )


def values(rows: pa.Table, expressions: Mapping[str, str]) -> dict[str, pa.Array]:
    """Return the values of expressions for rows of the table, by name."""
    listed = _listed(expressions, [rows])
    # The number of the row stands beside them, which no aggregate takes.
    statement = f"SELECT {listed}, {ROW} FROM {TARGET} ORDER BY {ROW}"
    found = query(statement, {TARGET: numbered_rows(rows)}, subject=_said(expressions))
    _check_count(found, rows.num_rows, expressions)
    return dict(zip(expressions, _arrays(found)[:-1], strict=True))


def paired_values(
    tables: Mapping[str, pa.Table],
    places: Mapping[str, np.ndarray],
    expressions: Mapping[str, str],
) -> dict[str, pa.Array]:
    """Return the values of expressions for rows of several tables side by side.

    Args:
        tables: by the name that expressions call them.
        places: for each, the row of every pair.
        expressions: by name.
    """
    plain = {
        column_of(side, column): (side, column)
        for side, table in tables.items()
        for column in table.column_names
    }
    found = {
        name: tables[side].column(column).take(pa.array(places[side])).combine_chunks()
        for name, text in expressions.items()
        if text in plain
        for side, column in (plain[text],)
    }
    computed = {name: text for name, text in expressions.items() if text not in plain}
    return {**found, **_computed(tables, places, computed)}


def _computed(
    tables: Mapping[str, pa.Table],
    places: Mapping[str, np.ndarray],
    expressions: Mapping[str, str],
) -> dict[str, pa.Array]:
    if not expressions:
        return {}
    count = len(next(iter(places.values())))
    numbered = {name: numbered_rows(table) for name, table in tables.items()}
    pairs = pa.table({_PAIR: np.arange(count), **{own(name): at for name, at in places.items()}})
    joins = " ".join(f"JOIN {name} ON {name}.{ROW} = {_PAIRS}.{own(name)}" for name in tables)
    listed = _listed(expressions, tables.values())
    found = query(
        f"SELECT {listed}, {_PAIR} FROM {_PAIRS} {joins} ORDER BY {_PAIR}",
        {**numbered, _PAIRS: pairs},
        subject=_said(expressions),
    )
    _check_count(found, count, expressions)
    return dict(zip(expressions, _arrays(found)[:-1], strict=True))


def query(statement: str, tables: Mapping[str, pa.Table], *, subject: str) -> pa.Table:
    """Return what a statement selects from tables."""
    with engine() as connection, expression_errors(subject):
        connection.execute(_UNPUSHED)
        connection.execute(_NO_INFINITY)
        for each in (*_clocks(), *_LIKES):
            connection.execute(each)
        for name, table in tables.items():
            connection.register(name, table)
        found = connection.execute(statement).arrow()
        return found.read_all() if isinstance(found, pa.RecordBatchReader) else found


def numbered_rows(table: pa.Table) -> pa.Table:
    """Return a table with the number of each row as a column."""
    return table.append_column(ROW, pa.array(np.arange(table.num_rows)))


def clause_case(conditions: Sequence[str | None]) -> str:
    """Return SQL for the number of the first condition that is true; -1 where none is.

    Args:
        conditions: checked expressions; None: it is always true.
    """
    cases = " ".join(
        f"WHEN ({'true' if text is None else text}\n) THEN {place}"
        for place, text in enumerate(conditions)
    )
    return f"CASE {cases} ELSE -1 END" if cases else "-1"


def fitted(column: pa.Array | pa.ChunkedArray, field: pa.Field, *, what: str) -> pa.Array:
    """Return values in the type of a column of the table.

    Raises:
        InvalidInputError: a value that does not fit exactly, or null where it must not be.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.null_count == len(column):
        # What DuckDB has no type for, such as NULL alone, it says to be of whole numbers.
        column = pa.nulls(len(column), field.type)
    try:
        found = column if column.type == field.type else pc.cast(column, field.type, safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInputError(
            f"{what} of column {field.name!r} is {column.type}, which does not fit {field.type}: "
            f"{error}; cast it in the expression"
        ) from error
    if not _is_exact(column, found):
        raise InvalidInputError(
            f"{what} of column {field.name!r} is {column.type}, of which {field.type} cannot hold "
            "some value exactly; cast it in the expression"
        )
    if not field.nullable and found.null_count:
        raise InvalidInputError(f"{what} of column {field.name!r} is null; it must have a value")
    return found


def _is_exact(before: pa.Array, after: pa.Array) -> bool:
    """Say whether a cast lost nothing; Arrow's own check lets these pass."""
    if pt.is_floating(before.type) and pt.is_floating(after.type):
        return bool(pc.all(pc.equal(pc.is_inf(before), pc.is_inf(after)), min_count=0).as_py())
    is_number = pt.is_integer(before.type) or pt.is_decimal(before.type)
    is_number = is_number or pt.is_floating(before.type)
    if is_number and (pt.is_boolean(after.type) or pt.is_decimal(after.type)):
        return bool(
            pc.all(pc.equal(after.cast(before.type, safe=False), before), min_count=0).as_py()
        )
    if pt.is_timestamp(before.type) and pt.is_date(after.type):
        return bool(pc.all(pc.equal(after.cast(before.type), before), min_count=0).as_py())
    return not (pt.is_timestamp(before.type) and pt.is_time(after.type))


def literal(value: Any) -> str | None:
    """Return a Python value that is no text as SQL; None: it has no short form."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None


def column_of(side: str, name: str) -> str:
    """Return a column of one side as SQL.

    >>> column_of("source", "id")
    'source."id"'
    """
    return f"{side}.{quoted(name)}"


def _arrays(found: pa.Table) -> list[pa.Array]:
    return [column.combine_chunks() for column in found.columns]


def _check_count(found: pa.Table, count: int, expressions: Mapping[str, str]) -> None:
    if found.num_columns != len(expressions) + 1:  # and the number of the row
        raise InvalidInputError(
            f"{_said(expressions)}: {found.num_columns - 1} values in a row; expected one for each "
            "expression"
        )
    if not np.array_equal(found.column(found.num_columns - 1).to_numpy(), np.arange(count)):
        raise InvalidInputError(
            f"{_said(expressions)}: {found.num_rows} values for {count} rows; expected one for each"
        )


def _said(expressions: Mapping[str, str]) -> str:
    return "expression " + ", ".join(repr(text) for text in expressions.values())

"""Arrow rows as text for people, or as JSON for programs.

Rules:
    - Text goes to standard output only; it is plain when that is not a terminal.
    - JSON is one document for one command, and strict: decimals, times and NaN become text,
      bytes become base64.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Literal

import pyarrow as pa
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from arctic.columns.calendar import date_text, timestamp_text

PLAIN_WIDTH = 4_096
"""Columns of output that is not a terminal: wide enough that no value is cut."""


def console() -> Console:
    """Return a console on standard output that never invents markup from data."""
    plain = Console(markup=False, highlight=False, soft_wrap=False)
    if plain.is_terminal:
        return plain
    return Console(markup=False, highlight=False, soft_wrap=False, width=PLAIN_WIDTH)


def print_json(document: Any) -> None:
    """Print one JSON document."""
    text = json.dumps(json_value(document), indent=2, ensure_ascii=False, allow_nan=False)
    console().print(Text(text), soft_wrap=True)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line, the values in one column."""
    width = max(len(name) for name in facts)
    out = console()
    for name, value in facts.items():
        out.print(Text(name.ljust(width), style="bold"), Text(cell_text(value)), soft_wrap=True)


def print_rows(table: pa.Table, *, title: str | None = None) -> None:
    """Print rows as a grid; an empty table prints its column names."""
    rows = python_rows(table)
    out = console()
    if title is not None:
        out.print()
        out.print(Text(title, style="bold"))
    grid = Grid(box=None, pad_edge=False, header_style="dim", show_edge=False)
    for field in table.schema:
        grid.add_column(field.name, justify=_justify(field.type), overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell_text(value)) for value in row.values()))
    out.print(grid)


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as values of Python; days before its year 1 and after 9999 as text.

    >>> python_rows(pa.table({"day": pa.array([2_932_897], pa.date32())}))
    [{'day': '10000-01-01'}]
    """
    columns = {name: _values(table.column(name)) for name in table.column_names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(column: pa.ChunkedArray) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        if pa.types.is_date(column.type):
            return _texts(column.cast(pa.int32()), date_text)
        if pa.types.is_timestamp(column.type):
            return _texts(column.cast(pa.timestamp("us")).cast(pa.int64()), timestamp_text)
        raise
    return values


def _texts(numbers: pa.ChunkedArray, text: Callable[[int], str]) -> list[Any]:
    return [None if number is None else text(number) for number in numbers.to_pylist()]


def cell_text(value: Any) -> str:
    """Return what a grid shows for a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, list | tuple):
        return ", ".join(cell_text(item) for item in value)
    if isinstance(value, dict):
        return json.dumps(json_value(value), ensure_ascii=False)
    return str(value)


def json_value(value: Any) -> Any:
    """Return a value that JSON can carry.

    >>> json_value({"days": [dt.date(2024, 2, 29)], "raw": b"key", "ratio": math.nan})
    {'days': ['2024-02-29'], 'raw': 'a2V5', 'ratio': 'nan'}
    """
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, Enum):
        return json_value(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value)


def _justify(kind: pa.DataType) -> Literal["left", "right"]:
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return "right" if number else "left"
